"""The public model of a tree: exact inference, with methods that explain, export and save it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from neuid3.estimators.saved_model import SavedModel
from neuid3.explain import Explanation, explain
from neuid3.export.notebook import tree_html, tree_svg
from neuid3.export.onnx import OPSET, export_onnx
from neuid3.export.problog import to_problog, verify
from neuid3.identifiability.audit import audit_model, short_forms
from neuid3.identifiability.reread import reread_model
from neuid3.identifiability.suggest import suggest_labels
from neuid3.identifiability.suggestions import LabelSuggestions
from neuid3.io.models import save_model
from neuid3.tree.concept_accuracy import score_concepts
from neuid3.tree.model import TreeModel
from neuid3.tree.record import ConceptScore

if TYPE_CHECKING:
    from neuid3.export.deepproblog import DeepProbLogProgram
    from neuid3.identifiability.certificate import Certificate


class NeurosymbolicTree(SavedModel, TreeModel):
    """A tree that gives exact class probabilities or numbers for batches of examples, with gradients into its networks.

    Parameters and attributes are those of `TreeModel`. The paper's worked example:

    Parameters
    ----------
    backend : what runs the networks: "auto", "torch", the name of a registered backend, or a backend.
    tree : the tree.
    schema : the kinds of the columns, `X.schema`.
    background : rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : the network of every name, or instance, that the tests use.
    priors : the distributions that stand for missing entries.
    limits : the time, memory and circuit size that the background knowledge may take.
    dtype : the precision of inference.
    device : where networks and circuits run.

    >>> from neuid3 import Branch, Examples, Leaf, Tree
    >>> tree = Tree(
    ...     Branch("burglary",
    ...            Branch("alarm", Leaf(0.95), Leaf(0.0)),
    ...            Branch("earthquake", Branch("alarm", Leaf(0.7), Leaf(0.2)), Leaf(0.01))))
    >>> X = Examples({"burglary": [0.7], "earthquake": [0.1], "alarm": [0.9]},
    ...              kinds=dict.fromkeys(("burglary", "earthquake", "alarm"), "probability"))
    >>> model = NeurosymbolicTree(tree, X.schema)
    >>> print(f"P(pos) = {model.predict_proba(X)[0, 1]:.4f}")
    P(pos) = 0.6207
    """

    file_kind: ClassVar[str] = "tree"

    def _repr_svg_(self) -> str:
        return tree_svg(self.tree)

    def _repr_html_(self) -> str:
        rules = self.program.text.strip()
        return tree_html(self.tree, "Background knowledge", f"<pre>{escape(rules)}</pre>" if rules else "")

    def explain(
        self, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3, threshold: float | None = None
    ) -> Explanation:
        """The explanation of a prediction: the paths to its leaves, proofs of their tests, and counterfactual changes.

        Parameters
        ----------
        X : the examples.
        row : the example to explain.
        proofs : the most proofs of a test.
        changes : the most changes in a counterfactual.
        threshold : the number that the changes move a predicted number across; by default the mean of the training
            examples.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        return explain(self, X, row, proofs=proofs, changes=changes, threshold=threshold)

    def audit(
        self, X: Any, y: Any = None, *, concepts: Mapping[str, Any] | None = None, time_limit: float = 60.0
    ) -> Certificate:
        """The certificate of the tree: what the values of its networks are fixed up to, by its structure and by examples.

        Text, pictures and pages of the model show its short form from then on.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema; columns with names such as `rank(first)`
            hold labels.
        y : their classes; with labels, examples whose labels contradict their class are reported.
        concepts : labels, as in `NeuID3Classifier.fit`: for a network or neural predicate with its columns, as in
            `"rank(first)"`, the true value of each example, None or NaN where it is unknown. The columns may be left out
            where the tree calls it on one image only. The most probable value of a network stands for a label that is not
            given.
        time_limit : seconds after which counts are bounds; 0 gives bounds only.

        Returns
        -------
        The certificate; `print` shows it as text.

        Raises
        ------
        DataError : where columns are missing, or classes or labels do not fit.
        ParameterError : where `time_limit` is no number, or negative.
        """
        return audit_model(self, X, y, concepts=concepts, time_limit=time_limit)

    def suggest_labels(
        self, X: Any, n: int = 5, *, concepts: Mapping[str, Any] | None = None, time_limit: float = 60.0
    ) -> LabelSuggestions:
        """The images of a table whose labels settle most of what the values of the tree's networks mean.

        First come the images of a smallest set of labels that leaves one reading (see `audit`), then one of every other
        value, and then images of which networks are unsure and on which the predicted class depends.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        n : the most images.
        concepts : labels that are known already, as in `audit`.
        time_limit : seconds for the search of a smallest set; the notes of the result say where it did not suffice.

        Returns
        -------
        The suggestions: `print` shows them as text, `to_frame` and `to_csv` give a table to fill in.

        Raises
        ------
        DataError : where columns are missing, or labels do not fit.
        ParameterError : where `n` is no positive integer, or `time_limit` is no number or negative.
        """
        return suggest_labels(self, X, n, concepts=concepts, time_limit=time_limit)

    def score_concepts(self, X: Any, concepts: Mapping[str, Any] | None = None) -> tuple[ConceptScore, ...]:
        """The concept accuracy of each network of the tree on labelled examples.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema; columns with names such as `rank(first)`
            hold labels.
        concepts : further labels, as in `NeuID3Classifier.fit`.

        Returns
        -------
        One score for each network that the tree calls and that has labels.

        Raises
        ------
        DataError : where there are no labels, or labels are not as they should be.
        """
        return score_concepts(self, X, concepts)

    def reread(self, X: Any, concepts: Mapping[str, Any] | None = None) -> Self:
        """The model in the form under which labels are most likely: it predicts the same, and nothing is trained.

        A network that counts backwards behind `higher(second, first)` becomes one that counts forwards behind
        `higher(first, second)`, where that is a candidate.

        Parameters
        ----------
        X : labelled examples; columns with names such as `rank(first)` hold labels.
        concepts : further labels, as in `NeuID3Classifier.fit`.

        Returns
        -------
        A new model; the same one where no other form makes the labels more likely.

        Raises
        ------
        DataError : where there are no labels, or labels are not as they should be.
        """
        return reread_model(self, X, concepts)

    def network_meanings(self) -> dict[str, str]:
        """What the values of each network in the tree's rules are fixed up to, in a few words, as exports show it.

        Returns
        -------
        Words such as "fixed up to reversal" by network instance, from the last audit, or else from the tree alone within
        two seconds; empty where no rule mentions a network.
        """
        return short_forms(self) if self.network_calls else {}

    def to_problog(self, X: Any, row: int = 0) -> str:
        """The tree as a ProbLog program for one example, with the outputs of the networks as probabilities.

        Parameters
        ----------
        X : the examples.
        row : the example.

        Returns
        -------
        The text of the program.
        """
        return to_problog(self, X, row)

    def to_deepproblog(self, X: Any, row: int = 0) -> DeepProbLogProgram:
        """The tree as a DeepProbLog program with its networks, for one example's symbolic columns.

        Parameters
        ----------
        X : the examples.
        row : the example.

        Returns
        -------
        The program with its networks and tensors.
        """
        from neuid3.export.deepproblog import to_deepproblog

        return to_deepproblog(self, X, row)

    def export_onnx(self, path: Path | str, *, opset: int = OPSET) -> Path:
        """Write the tree with its networks to one ONNX file, which runs without Python; see `neuid3.export_onnx`.

        Parameters
        ----------
        path : the file.
        opset : the version of the ONNX operators.

        Returns
        -------
        The path of the file.
        """
        return export_onnx(self, path, opset=opset)

    def verify(self, X: Any, *, rows: int = 10) -> float:
        """The largest difference between these probabilities and ProbLog's, for the programs of the first `rows` examples.

        Parameters
        ----------
        X : the examples.
        rows : the number of examples, from the first, whose programs are run in ProbLog.

        Returns
        -------
        The largest absolute difference of a probability.
        """
        return verify(self, X, rows=rows)

    def write(self, path: Path | str, fields: Mapping[str, Any], *, remember_rows: bool = True) -> Path:
        """Write the model with further fields to one file, as the estimators do.

        Parameters
        ----------
        path : the file; an ending is added where there is none.
        fields : further fields of the file, among them its `kind`.
        remember_rows : whether digests of the training rows are stored.

        Returns
        -------
        The path of the file.
        """
        return save_model(self, path, fields, remember_rows=remember_rows)
