"""A fit with an encoder: the same as on its vectors, saved, resumed, exported and shown with its pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from torch import nn

from neuid3 import Encoder, Examples, NeuID3Classifier, NeuID3Regressor, Tensor, TrainingConfig, evidence_page, load
from neuid3.cli.main import main
from neuid3.encoders import FrozenEncoder, freeze, self_supervised
from neuid3.errors import DataError, EncoderError, ModelFileError

RULES = "nn(red_net, [P]) :: red(P).\nsame(A, B) :- red(A), red(B).\nsame(A, B) :- \\+ red(A), \\+ red(B)."
TRAINING = TrainingConfig(epochs=40, restarts=2, joint_epochs=5)


class Colours(nn.Module):
    """The mean of each channel, and a projection of it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.mean((2, 3)))


def pictures(n: int = 120, size: tuple[int, int] = (42, 40)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    red = rng.integers(0, 2, n).astype(bool)
    images = rng.integers(0, 90, (n, 3, *size)).astype(np.uint8)
    images[red, 0, 8:24] = 220
    images[~red, 2, 8:24] = 220
    return images, red


def problem() -> tuple[Examples, np.ndarray]:
    images, red = pictures()
    return Examples({"left": images[:60], "right": images[60:]}), red[:60] == red[60:]


@pytest.fixture(scope="module")
def module() -> Colours:
    torch.manual_seed(0)
    return Colours()


@pytest.fixture(scope="module")
def fitted(module: Colours) -> NeuID3Classifier:
    X, y = problem()
    return classifier(module).fit(X, y)


def classifier(encoder, **more) -> NeuID3Classifier:
    settings = {
        "background": RULES,
        "tests": ["same(left,right)"],
        "training": TRAINING,
        "random_state": 0,
        "n_jobs": 1,
    }
    return NeuID3Classifier(encoder=encoder, **settings, **more)


def test_a_fit_with_an_encoder_is_a_fit_on_its_vectors(fitted: NeuID3Classifier, module: Colours):
    X, y = problem()
    encoded = FrozenEncoder("test", module).encoded(X)
    vectors = Examples(
        {name: encoded.column(name).vectors for name in X.names}, kinds=dict.fromkeys(X.names, Tensor((6,)))
    )
    plain = classifier(None).fit(vectors, y)
    assert np.array_equal(fitted.predict_proba(X), plain.predict_proba(vectors))
    assert fitted.score(X, y) > 0.9


def test_given_networks_read_vectors_too(module: Colours):
    X, y = problem()

    def head() -> nn.Sequential:
        return nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    clf = classifier(module, networks={"red_net": head}, pruning=0).set_params(training__epochs=150).fit(X, y)
    assert {type(network) for network in clf.networks_.values()} == {nn.Sequential}
    assert clf.score(X, y) > 0.9


def test_validation_rows_are_encoded_too(module: Colours):
    X, y = problem()
    clf = classifier(module).fit(X[:40], y[:40], validation=(X[40:], y[40:]))
    assert clf.score(X, y) > 0.9


def test_a_saved_model_predicts_the_same(fitted: NeuID3Classifier, tmp_path: Path):
    X, _ = problem()
    path = fitted.save(tmp_path / "m.neuid3")
    with pytest.raises(ModelFileError, match=r"'encoder'.*Colours.*networks="):
        load(path)
    again = load(path, networks={"encoder": Colours})
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.model_.encoder.key == fitted.model_.encoder.key


def test_pictures_of_another_shape_are_refused_in_prediction(fitted: NeuID3Classifier):
    X, _ = problem()
    small = Examples({name: X.column(name).values[:, :, :20] for name in X.names})
    with pytest.raises(DataError, match=r"\(3, 42, 40\) is needed"):
        fitted.predict(small)


def test_onnx_takes_pictures_and_gives_the_same(fitted: NeuID3Classifier, tmp_path: Path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    X, _ = problem()
    session = runtime.InferenceSession(str(fitted.export_onnx(tmp_path / "m.onnx")))
    inputs = {name: X.column(name).values.astype(np.float32) / 255 for name in X.names}
    names = [output.name for output in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, inputs), strict=True))
    probabilities = next(value for value in outputs.values() if value.ndim == 2)
    assert np.allclose(probabilities, fitted.predict_proba(X), atol=1e-5)


def test_pictures_on_the_page_remain_pictures(fitted: NeuID3Classifier):
    X, y = problem()
    page = evidence_page(fitted, X, y)
    assert "data:image/png" in page


def test_an_explanation_names_the_columns_of_the_pictures(fitted: NeuID3Classifier):
    X, _ = problem()
    assert "same(left,right)" in str(fitted.explain(X)).replace(" ", "")


def test_a_checkpoint_continues_with_the_same_encoder_and_refuses_another(module: Colours, tmp_path: Path):
    X, y = problem()
    first = classifier(module).fit(X, y, checkpoint=tmp_path / "c")
    again = classifier(module).fit(X, y, checkpoint=tmp_path / "c")
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    with pytest.raises(Exception, match="encoder"):
        classifier(Colours()).fit(X, y, checkpoint=tmp_path / "c")


def test_numbers_are_predicted_from_vectors(module: Colours):
    images, red = pictures()
    X, y = Examples({"photo": images}), red * 3.0 + np.linspace(0, 0.1, len(red))
    reg = NeuID3Regressor(
        background="nn(red_net, [P]) :: red(P).", encoder=module, training=TRAINING, random_state=0, n_jobs=1
    )
    assert reg.fit(X, y).score(X, y) > 0.9


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_supervised, "STEPS", 4)
    monkeypatch.setattr(self_supervised, "BATCH", 32)


@pytest.mark.usefixtures("few_steps")
def test_self_is_the_same_for_the_same_pictures_and_kept_in_its_folder(tmp_path: Path):
    X, _ = problem()
    first, second = (freeze(Encoder("self"), X) for _ in range(2))
    assert first.key == second.key
    kept = freeze(Encoder("self", cache=tmp_path), X)
    assert kept.key == first.key
    before = sorted(path.name for path in tmp_path.iterdir())
    assert freeze(Encoder("self", cache=tmp_path), X[::-1]).key == first.key  # read: learning takes the order in
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert freeze(Encoder("self"), X[:30]).key != first.key


@pytest.mark.usefixtures("few_steps")
def test_self_learns_a_tree_that_is_restored_from_its_file(tmp_path: Path):
    X, y = problem()
    clf = classifier("self").fit(X, y)
    again = load(clf.save(tmp_path / "m.neuid3"))
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.get_params()["encoder"] == "self"


def test_self_brings_views_of_a_picture_together(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(self_supervised, "STEPS", 60)
    patches = np.random.default_rng(0).integers(0, 256, (48, 3, 7, 8)).astype(np.uint8)
    images = patches.repeat(6, axis=2).repeat(5, axis=3)  # what noise of single pixels shows, no view of it would
    X = Examples({"photo": images})
    encoder = self_supervised.learn_encoder(X)
    torch.manual_seed(1)
    whole = torch.from_numpy(images).float() / 255
    with torch.no_grad():
        one, other = (encoder(self_supervised._view(whole)) for _ in range(2))
    one, other = (vectors - vectors.mean(0) for vectors in (one, other))
    similarity = torch.nn.functional.normalize(one, dim=1) @ torch.nn.functional.normalize(other, dim=1).T
    assert float((similarity.argmax(1) == torch.arange(48)).float().mean()) > 0.3  # 1/48 by chance


def test_self_needs_pictures_of_one_shape():
    X = Examples({"a": np.zeros((3, 20, 20), dtype=np.uint8), "b": np.zeros((3, 3, 20, 20), dtype=np.uint8)})
    with pytest.raises(EncoderError, match=r"shapes .* resize them"):
        freeze(Encoder("self"), X)


@pytest.mark.usefixtures("few_steps")
def test_the_command_line_keeps_vectors_beside_the_table(tmp_path: Path):
    images, red = pictures(80)
    (tmp_path / "img").mkdir()
    lines = ["photo,red"]
    for i, (image, is_red) in enumerate(zip(images, red, strict=True)):
        Image.fromarray(np.moveaxis(image, 0, -1)).save(tmp_path / "img" / f"{i}.png")
        lines.append(f"img/{i}.png,{'yes' if is_red else 'no'}")
    (tmp_path / "t.csv").write_text("\n".join(lines))
    (tmp_path / "rules.pl").write_text("nn(red_net, [P]) :: red(P).")
    model = tmp_path / "t.neuid3"
    command = [
        "fit",
        str(tmp_path / "t.csv"),
        "--target",
        "red",
        "--background",
        str(tmp_path / "rules.pl"),
        "--jobs",
        "1",
    ]
    command += ["--encoder", "self", "--epochs", "40", "--out", str(model), "--json"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert {path.suffix for path in (tmp_path / "t.encoded").iterdir()} == {".safetensors", ".vectors"}
    done = CliRunner().invoke(main, ["predict", str(model), str(tmp_path / "t.csv")])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("encoder", [[], ["--encoder", "self"]])
def test_options_of_encoders_need_an_architecture(tmp_path: Path, encoder: list[str]):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n" * 10)
    command = ["fit", str(tmp_path / "t.csv"), "--target", "b", "--encoder-size", "224", *encoder]
    done = CliRunner().invoke(main, command)
    assert done.exit_code != 0
    assert "--encoder-size is for an architecture by name" in done.output
    assert "Learning" not in done.output, "before anything is read"
