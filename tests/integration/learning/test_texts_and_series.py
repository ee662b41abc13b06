"""Networks that read texts and series: trained by rules, saved, grouped and exact in ProbLog."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from neuid3 import (
    Examples,
    NeuID3BoostingClassifier,
    NeuID3Classifier,
    NeuID3ForestClassifier,
    TrainingConfig,
    load,
)
from neuid3.export.problog import verify
from neuid3.networks import Dense, SeriesNet
from neuid3.networks.groups import LayerGroup, network_group

QUICK = TrainingConfig(epochs=8, restarts=2, rounds=1)
CALM = ["calm", "quiet", "fine", "relaxed", "well"]
URGENT = ["urgent", "severe", "acute", "critical", "sudden"]
OTHER = ["patient", "came", "with", "the", "nurse", "on", "monday", "before", "noon", "and", "left"]


def notes(n: int = 200) -> tuple[Examples, Any]:
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.5
    texts = [
        " ".join(rng.permutation([*rng.choice(URGENT if urgent else CALM, 2), *rng.choice(OTHER, 6)])) for urgent in y
    ]
    return Examples({"note": texts, "age": rng.integers(20, 90, n)}, kinds={"note": "text"}), y


def beats(n: int = 200) -> tuple[Examples, Any]:
    """Series with a swing up and down, or down and up, at any step: no mean, slope or peak tells them apart."""
    rng = np.random.default_rng(0)
    y, steps = rng.random(n) < 0.5, np.arange(48)
    swings = []
    for upward in y:
        bump = 3 * np.exp(-0.5 * ((steps - rng.integers(8, 40)) / 2) ** 2)
        swings.append(100 + 0.3 * rng.normal(size=48) + bump - np.roll(bump, 6 if upward else -6))
    return Examples({"pulse": np.array(swings)}, kinds={"pulse": "series"}), y


@pytest.mark.parametrize(
    ("table", "rules", "network"),
    [
        (notes, "nn(tone_net, [note], T, [calm, urgent]) :: tone(note, T). first :- tone(note, urgent).", Dense),
        (beats, "nn(beat_net, [pulse], B, [up, down]) :: beat(pulse, B). first :- beat(pulse, up).", SeriesNet),
    ],
)
def test_a_rule_trains_the_default_network_of_a_text_or_a_series(
    table: Any, rules: str, network: type[torch.nn.Module], tmp_path: Any
) -> None:
    X, y = table()
    clf = NeuID3Classifier(background=rules, tests=["first"], training=QUICK, random_state=0).fit(X[:150], y[:150])
    assert isinstance(next(iter(clf.networks_.values())), network)
    assert clf.score(X[150:], y[150:]) >= 0.9
    assert verify(clf.model_, X, rows=2) < 1e-6
    loaded = load(clf.save(tmp_path / "model"))
    assert np.allclose(loaded.predict_proba(X), clf.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize(("channels", "steps"), [(1, 5), (3, 40), (2, 300)])
def test_a_group_of_series_networks_computes_what_each_does(channels: int, steps: int, inputs: int) -> None:
    networks = [SeriesNet(3, channels=channels, steps=steps, inputs=inputs) for _ in range(3)]
    series = [torch.randn(3, 5, channels, steps) for _ in range(inputs)]
    group = network_group(networks, series)
    assert isinstance(group, LayerGroup)
    with torch.no_grad():
        expected = torch.stack([network(*(x[i] for x in series)) for i, network in enumerate(networks)])
        assert torch.allclose(group(*series), expected, atol=1e-6)


def test_a_series_has_a_network_by_default() -> None:
    rng = np.random.default_rng(0)
    y, steps = rng.random(200) < 0.5, np.arange(48)
    saws = (steps + rng.integers(0, 8, 200)[:, None]) % 8  # rising slowly and falling fast, or the reverse
    numbers = np.where(y[:, None], saws, 7 - saws) + 0.3 * rng.normal(size=(200, 48))
    X = Examples({"pulse": numbers}, kinds={"pulse": "series"})
    clf = NeuID3Classifier(training=QUICK, random_state=0).fit(X[:150], y[:150])
    assert str(clf.tree_.root.test) == "pulse_net(pulse)"
    assert clf.score(X[150:], y[150:]) >= 0.9


def test_what_describes_a_series_is_preferred_to_a_network_that_tells_no_more() -> None:
    rng = np.random.default_rng(0)
    fast = rng.random(200) < 0.5
    X = Examples({"pulse": 70 + 25 * fast[:, None] + 3 * rng.normal(size=(200, 20))}, kinds={"pulse": "series"})
    clf = NeuID3Classifier(training=QUICK, random_state=0).fit(X, fast)
    assert [str(test).split("(")[1][:5] for test in clf.tree_.tests] == ["pulse"]
    assert not clf.networks_
    assert clf.score(X, fast) == 1.0
    assert clf.feature_importances_.tolist() == [1.0]
    assert verify(clf.model_, X, rows=7) < 1e-6


@pytest.mark.parametrize("estimator", [NeuID3ForestClassifier(n_estimators=5), NeuID3BoostingClassifier(max_trees=5)])
def test_ensembles_read_series(estimator: Any, tmp_path: Any) -> None:
    X, y = beats()
    estimator.set_params(training=QUICK, random_state=0).fit(X[:150], y[:150])
    assert estimator.score(X[150:], y[150:]) > 0.85
    loaded = load(estimator.save(tmp_path / "model"))
    assert np.allclose(loaded.predict_proba(X), estimator.predict_proba(X), atol=1e-6)
