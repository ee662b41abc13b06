"""Choice between equivalent forms of a learned tree by the labels of a fit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from neuid3.identifiability.rereading import SECONDS, most_likely_rereading
from neuid3.identifiability.symmetries import Deadline
from neuid3.learning.candidates import shapes_of
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.sample import architecture_of
from neuid3.networks.reordering import reordered
from neuid3.tree.concept_accuracy import label_likelihoods
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node, branches


def reread(
    root: Node,
    inference: ExactInference,
    initializer: NetworkInitializer,
    candidates: Sequence[NodeTest],
    first_form: bool = False,
) -> Node:
    """The tree in the form under which the labels are most likely; it predicts the same.

    Tests are replaced by equivalent candidates, and the outputs of networks are reordered or given to another network.
    Networks that are not trained keep their values.

    Parameters
    ----------
    root : the root of the tree.
    inference : exact inference with the trained networks; new and reordered ones are added to it.
    initializer : names new instances, and knows the architecture of networks that the tree does not call.
    candidates : the tests that the tree could have been made of.
    first_form : whether, of forms that labels do not tell apart, the one is chosen whose tests stand first.

    Returns
    -------
    The root of the tree; the given one where there is no better form.
    """
    sample, instances, semantics = inference.sample, inference.instances, inference.semantics
    calls = {call.network: call for branch in branches(root) for call in semantics.calls(branch.test)}
    modules = {name: instances[name].module.eval() for name in calls}
    likelihoods = label_likelihoods(inference.core, modules, sample.examples, sample.anchors, calls.values())
    if not calls or not (likelihoods or first_form):
        return root
    kinds: dict[str, Hashable] = {name: architecture_of(module) for name, module in modules.items()}
    for call in {call.network: call for test in candidates for call in semantics.calls(test.bind({}))}.values():
        if call.network not in kinds and call.network not in instances:
            kinds[call.network] = architecture_of(initializer.template(call))
    reading = most_likely_rereading(
        root,
        semantics.program,
        likelihoods,
        candidates=candidates,
        kinds=kinds,
        fixed=[name for name in calls if instances[name].frozen],
        name=lambda network: f"{network}#{initializer.next_number()}",
        first_form=first_form,
        deadline=Deadline.after(SECONDS),
    )
    changed = {}
    for name, source in reading.changed.items():
        before, module = instances[source.instance], modules[source.instance]
        if source.is_reordered:
            shapes = shapes_of(calls[source.instance].inputs, semantics.program.schema)
            module = reordered(module, source.order, shapes)
        changed[name] = replace(before, module=module, network=reading.declared[name])
    inference.replace_instances(changed)
    return reading.root
