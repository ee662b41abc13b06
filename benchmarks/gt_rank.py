"""Overhead of logic in training: `gt_rank` over 1,000 pairs, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from benchmarks.small_networks import RANKS, images, lenet
from benchmarks.timing import Row, faster, interleaved, no_slower, rounded
from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.tree.criteria import FLOOR
from neuid3.tree.loss import negative_log_likelihood

PAIRS = 1000
# DeepProbLog evaluates queries one by one, so its time is linear in the pairs and a part of them is enough.
DEEPPROBLOG_PAIRS = 100

DECLARATION = f"nn(rank_net, [X], Y, [{', '.join(map(str, range(RANKS)))}])::rank(X, Y).\n"
PROGRAM = DECLARATION + "gt_rank(A, B) :- rank(A, X), rank(B, Y), X < Y.\n"
LEAVES = (0.9, 0.2)


class Task:
    """The network, images and labels, the same for all compared programs."""

    def __init__(self, pairs: int) -> None:
        self.network = lenet()
        self.images = images("ab", pairs)
        self.labels = torch.randint(0, 2, (pairs,), generator=torch.Generator().manual_seed(2))

    def ours(self) -> Callable[[], torch.Tensor]:
        """One training step without its optimizer, through a tree of one test; returns the loss."""
        X = Examples(self.images)
        tree = Tree(Branch("gt_rank(a, b)", Leaf(LEAVES[0]), Leaf(LEAVES[1])))
        model = NeurosymbolicTree(
            tree, X.schema, background=PROGRAM, networks={"rank_net": self.network}, dtype=torch.float32
        )
        return lambda: self._step(lambda: negative_log_likelihood(model.class_probabilities(X), self.labels).mean())

    def by_hand(self, together: bool) -> Callable[[], torch.Tensor]:
        """The same step, written by hand for this one rule; `together`: one call of the network."""
        above = torch.triu(torch.ones(RANKS, RANKS), diagonal=1)
        yes, no = LEAVES
        a, b = self.images["a"], self.images["b"]
        positive = self.labels == 1

        def loss() -> torch.Tensor:
            left, right = self.network(torch.cat((a, b))).chunk(2) if together else (self.network(a), self.network(b))
            greater = (left @ above * right).sum(1)
            probability = greater * yes + (1.0 - greater) * no
            return -torch.where(positive, probability, 1.0 - probability).clamp_min(FLOOR).log().mean()

        return lambda: self._step(loss)

    def _step(self, loss: Callable[[], torch.Tensor]) -> torch.Tensor:
        self.network.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        return value.detach()


def against_torch(quick: bool) -> Iterator[Row]:
    """A tree of one rule against the loop that has the rule written into it."""
    pairs = 50 if quick else PAIRS
    task = Task(pairs)
    steps = {"ours": task.ours(), "separate": task.by_hand(False), "together": task.by_hand(True)}
    losses = {name: float(run()) for name, run in steps.items()}
    assert max(losses.values()) - min(losses.values()) < 1e-5, losses
    medians = interleaved(steps, rounds=1 if quick else 25)
    other = min(medians["separate"], medians["together"])
    more = {"two_calls_seconds": rounded(medians["separate"]), "one_call_seconds": rounded(medians["together"])}
    note = "other: masked sum by hand, the faster of one network call for both images and of two calls"
    yield no_slower("gt_rank_vs_torch", medians["ours"], other, 1.15, pairs=pairs, **more, note=note)


def against_deepproblog(quick: bool) -> Iterator[Row]:
    """The same step in DeepProbLog 2.1, a tenth of the pairs, scaled up."""
    from benchmarks.deepproblog_rows import deepproblog_probabilities, deepproblog_step

    pairs, few = (20, 10) if quick else (PAIRS, DEEPPROBLOG_PAIRS)
    task = Task(pairs)
    part = {name: column[:few] for name, column in task.images.items()}
    labels = task.labels[:few]
    with torch.no_grad():
        left, right = task.network(part["a"]), task.network(part["b"])
    expected = (left @ torch.triu(torch.ones(RANKS, RANKS), 1) * right).sum(1)
    steps = {
        cache: deepproblog_step(PROGRAM, "gt_rank", "rank_net", task.network, part, labels, cache=cache)
        for cache in (True, False)
    }
    difference = (deepproblog_probabilities(PROGRAM, "gt_rank", "rank_net", task.network, part) - expected).abs().max()
    assert difference < 1e-5, difference
    medians = interleaved(
        {"ours": task.ours(), "cached": steps[True], "uncached": steps[False]}, rounds=1 if quick else 3, warmup=1
    )
    scale = pairs / few
    other = min(medians["cached"], medians["uncached"]) * scale
    more = {
        "cache_on_seconds": rounded(medians["cached"] * scale),
        "cache_off_seconds": rounded(medians["uncached"] * scale),
    }
    note = f"other: measured on {few} pairs and multiplied by {scale:g}; batching on, the better of cache on and off"
    yield faster("gt_rank_vs_deepproblog", medians["ours"], other, 60, pairs=pairs, **more, note=note)
