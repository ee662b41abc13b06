"""Growth of a tree over coded columns in numpy: what the compiled kernel computes, for machines without it and as its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.columns import BinKind, BinnedColumn, BinnedTable
from neuid3.binned.cuts import middle_of, shortest_cut
from neuid3.binned.trees import BinnedCriterion, BinnedLimits, BinnedTarget, BinnedTree

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Constants of the kernel: relative difference of equal gains, and the fraction of the mass below which a class is absent.
TOLERANCE = 1e-12
PURE = 1e-9
SIDES = (0x1B873593, 0x5BD1E995)
WORD = 2**64 - 1


def mixed(x: int) -> int:
    """The next number of splitmix64."""
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def drawn_columns(columns: npt.NDArray[np.int32], count: int, node_id: int) -> Iterator[int]:
    """The columns in the order in which a node draws them, all of them where `count` columns are fewer.

    Parameters
    ----------
    columns : the columns that may be drawn.
    count : the number that is drawn at least; all in the given order, if there are no more.
    node_id : the number of the node, which depends on the seed and the path.
    """
    order, state = columns.tolist(), node_id
    for i in range(len(order)):
        pick = i
        if count < len(order):
            state = mixed(state)
            pick += ((state >> 32) * (len(order) - i)) >> 32
        order[i], order[pick] = order[pick], order[i]
        yield order[i]


@dataclass(slots=True)
class _Split:
    column: int = -1
    code: int = 0
    threshold: float = 0.0
    gain: float = 0.0
    fraction: float = 0.0


@dataclass(slots=True, eq=False)
class _Open:
    node: int
    rows: npt.NDArray[np.int64]
    weights: Floats
    depth: int
    node_id: int
    split: _Split = field(default_factory=_Split)


class _Grower:
    def __init__(
        self, table: BinnedTable, target: BinnedTarget, limits: BinnedLimits, columns: npt.NDArray[np.int32]
    ) -> None:
        self.table, self.target, self.limits, self.columns = table, target, limits, columns
        self.nodes: list[dict[str, Any]] = []
        self.is_class = target.criterion < BinnedCriterion.SQUARED_ERROR

    # What is counted

    def statistics(self, rows: npt.NDArray[np.int64], weights: Floats) -> Floats:
        """`(row, statistic)`."""
        if self.is_class:
            counted = np.zeros((len(rows), self.target.width))
            counted[np.arange(len(rows)), self.target.classes[rows]] = weights
            return counted
        targets = np.column_stack((self.target.first[rows], self.target.second[rows]))
        return np.column_stack((weights, weights[:, None] * targets))

    def mass(self, statistics: Floats) -> Floats:
        return np.asarray(statistics.sum(-1) if self.is_class else statistics[..., 0])

    def purity(self, statistics: Floats) -> Floats:
        mass = self.mass(statistics)
        safe = np.where(mass > 0, mass, 1.0)
        match self.target.criterion:
            case BinnedCriterion.ENTROPY:
                return np.asarray(_x_log_x(statistics).sum(-1) - _x_log_x(mass))
            case BinnedCriterion.GINI:
                return np.asarray(np.where(mass > 0, (statistics**2).sum(-1) / safe, 0.0))
            case BinnedCriterion.SQUARED_ERROR:
                return np.asarray(np.where(mass > 0, statistics[..., 1] ** 2 / safe, 0.0))
            case BinnedCriterion.NEWTON:
                hessian = statistics[..., 1 + self.target.scores :] + self.limits.l2
                squares = statistics[..., 1 : 1 + self.target.scores] ** 2
                return np.asarray(np.where(hessian > 0, squares / np.where(hessian > 0, hessian, 1.0), 0.0).sum(-1))

    def is_pure(self, statistics: Floats) -> bool:
        mass = float(self.mass(statistics))
        match self.target.criterion:
            case BinnedCriterion.NEWTON:
                return False
            case BinnedCriterion.SQUARED_ERROR:
                _, first, second = statistics
                return bool(second - first**2 / (mass if mass > 0 else 1.0) <= PURE * PURE * second)
            case _:
                return int((statistics > PURE * mass).sum()) <= 1

    def is_large(self, statistics: Floats) -> Mask:
        large = self.mass(statistics) >= self.limits.min_mass / 2
        if self.target.criterion is BinnedCriterion.NEWTON:
            large = large & (statistics[..., 1 + self.target.scores :].sum(-1) >= self.limits.min_hessian)
        return np.asarray(large)

    # Splits

    def path(self, node: int, column: int) -> Iterator[tuple[int, bool]]:
        """The codes that the path compares a column with, and the responses."""
        child, node = node, self.nodes[node]["parent"]
        while node >= 0:
            if self.nodes[node]["column"] == column:
                yield self.nodes[node]["code"], self.nodes[node]["yes"] == child
            child, node = node, self.nodes[node]["parent"]

    def interval(self, node: int, column: int) -> tuple[float, float]:
        below, low, high = self.table.columns[column].below, 0.0, 1.0
        for code, is_yes in self.path(node, column):
            low, high = (low, min(high, float(below[code]))) if is_yes else (max(low, float(below[code])), high)
        return low, high

    def possible(self, node: int, column: int) -> Mask:
        codes = np.arange(self.table.columns[column].size)
        mask = np.ones(len(codes), dtype=bool)
        for code, is_yes in self.path(node, column):
            mask &= (codes == code) == is_yes
        return mask

    def best_split(self, open_node: _Open) -> _Split:
        total = self.nodes[open_node.node]["statistics"]
        statistics = self.statistics(open_node.rows, open_node.weights)
        before, best = float(self.purity(total)), _Split()
        count = len(self.columns) if self.limits.max_features is None else self.limits.max_features
        for number, column in enumerate(drawn_columns(self.columns, count, open_node.node_id)):
            if number >= count and best.column >= 0:
                break
            self.score(open_node, column, statistics, total, before, best)
        return best

    def score(self, node: _Open, number: int, statistics: Floats, total: Floats, before: float, best: _Split) -> None:
        column = self.table.columns[number]
        if column.kind is BinKind.DISTRIBUTION:
            possible = self.possible(node.node, number)
            if possible.sum() > 1:
                values = [v for v in np.flatnonzero(possible).tolist() if len(possible) > 2 or v == 1]
                yes = np.stack([_responses(column, v, node.rows, possible) @ statistics for v in values])
                chosen = self.best_of(yes, total, before, best)
                if chosen is not None:
                    code = int(values[chosen])
                    best.column, best.code, best.threshold, best.fraction = number, code, float(code), 0.0
            return
        codes = column.codes[node.rows]
        sums: Floats = np.stack(
            [np.bincount(codes, part, column.size + 1).astype(np.float64) for part in statistics.T], axis=1
        )
        counts = np.bincount(codes, minlength=column.size + 1)
        present = np.flatnonzero(counts[: column.size])
        if counts[column.size] and column.kind is not BinKind.NUMBER:
            present = np.arange(column.size)  # missing entries may have any value
        score = self.score_number if column.kind is BinKind.NUMBER else self.score_values
        score(node.node, number, sums, present, total, before, best)

    def score_number(
        self, node: int, number: int, sums: Floats, present: Any, total: Floats, before: float, best: _Split
    ) -> None:
        column = self.table.columns[number]
        low, high = present[:-1], present[1:]
        if not len(low):
            return
        reach = self.interval(node, number)
        middles = [middle_of(column.highs[a], column.lows[b]) for a, b in zip(low, high, strict=True)]
        at = np.clip(np.searchsorted(column.highs, middles, side="right") - 1, low, high - 1)
        absent = sums[column.size] if column.has_missing else np.zeros_like(total)
        fractions = _part_below(column.below[at], *reach)
        below, previous = np.cumsum(sums[low], axis=0), best.gain
        chosen = self.best_of(below + fractions[:, None] * absent, total, before, best)
        if chosen is None:
            return
        a, b = int(low[chosen]), int(high[chosen])
        if column.is_exact:
            threshold = shortest_cut(float(column.highs[a]), float(column.lows[b]))
            code = int(np.clip(np.searchsorted(column.highs, threshold, side="right") - 1, a, b - 1))
        else:
            code = int(at[chosen])
            threshold = shortest_cut(float(column.highs[code]), float(column.lows[code + 1]))
        fraction = float(_part_below(column.below[code], *reach))
        if column.has_missing:  # numbers that do not reach this node may lie between the middle and the threshold
            best.gain = previous
            if self.best_of(below[chosen : chosen + 1] + fraction * absent, total, before, best) is None:
                return
        best.column, best.code, best.threshold, best.fraction = number, code, threshold, fraction

    def score_values(
        self, node: int, number: int, sums: Floats, present: Any, total: Floats, before: float, best: _Split
    ) -> None:
        column = self.table.columns[number]
        values = present[present == 1] if column.kind is BinKind.FACT else present
        if not len(values):
            return
        prior = np.where(self.possible(node, number), column.prior, 0.0)
        fractions = np.clip(prior[values] / max(float(prior.sum()), 1e-300), 0.0, 1.0)
        absent = sums[column.size] if column.has_missing else np.zeros_like(total)
        chosen = self.best_of(sums[values] + fractions[:, None] * absent, total, before, best)
        if chosen is not None:
            code = int(values[chosen])
            best.column, best.code, best.threshold, best.fraction = number, code, float(code), float(fractions[chosen])

    def best_of(self, yes: Floats, total: Floats, before: float, best: _Split) -> int | None:
        """The first of the best candidates, if it is better than the best so far, whose gain is then changed."""
        no = total - yes
        if self.is_class:
            no = np.maximum(no, 0.0)
        gains = np.where(self.is_large(yes) & self.is_large(no), self.purity(yes) + self.purity(no) - before, -np.inf)
        chosen = None
        for i, gain in enumerate(gains.tolist()):
            if gain > best.gain + TOLERANCE * abs(before):
                best.gain, chosen = gain, i
        return chosen

    # Growth

    def add(self, parent: int, statistics: Floats) -> int:
        node = {"column": -1, "code": 0, "yes": -1, "no": -1, "parent": parent}
        self.nodes.append({**node, "threshold": 0.0, "gain": 0.0, "fraction": 0.0, "statistics": statistics})
        return len(self.nodes) - 1

    def is_leaf(self, statistics: Floats, depth: int) -> bool:
        is_deep = self.limits.max_depth is not None and depth >= self.limits.max_depth
        return is_deep or self.is_pure(statistics) or float(self.mass(statistics)) < self.limits.min_mass

    def per_mass(self, node: int, gain: float) -> float:
        mass = float(self.mass(self.nodes[node]["statistics"]))
        return gain if self.target.criterion is BinnedCriterion.NEWTON else gain / mass if mass > 0 else 0.0

    def opened(self, node: _Open) -> Iterator[_Open]:
        """The node, if it has a split."""
        node.split = self.best_split(node)
        gain = self.per_mass(node.node, node.split.gain)
        if node.split.column >= 0 and gain > 0 and gain >= self.limits.min_gain:
            yield node

    def responses(self, node: _Open) -> Floats:
        column, split = self.table.columns[node.split.column], node.split
        if column.kind is BinKind.DISTRIBUTION:
            return _responses(column, split.code, node.rows, self.possible(node.node, split.column))
        codes = column.codes[node.rows]
        yes = codes <= split.code if column.kind is BinKind.NUMBER else codes == split.code
        return np.where(codes == column.size, split.fraction, yes.astype(np.float64))

    def split(self, node: _Open) -> list[_Open]:
        """The children that are split further."""
        yes, sides = self.responses(node), []
        for responses in (yes, 1.0 - yes):
            weights = node.weights * responses
            least = np.where(responses < 1, self.limits.min_reach * self.target.weights[node.rows], 0.0)
            kept = (responses > 0) & (weights >= least)
            sides.append((node.rows[kept], weights[kept]))
        sums = [self.statistics(*side).sum(0) for side in sides]
        if not all(self.is_large(side) for side in sums):
            return []
        children = [self.add(node.node, side) for side in sums]
        split = node.split
        self.nodes[node.node] |= {
            "column": split.column,
            "code": split.code,
            "threshold": split.threshold,
            "fraction": split.fraction,
            "gain": self.per_mass(node.node, split.gain),
            "yes": children[0],
            "no": children[1],
        }
        opened: list[_Open] = []
        for side in (1, 0):
            if not self.is_leaf(sums[side], node.depth + 1):
                child_id = mixed(node.node_id ^ SIDES[side])
                opened += self.opened(_Open(children[side], *sides[side], node.depth + 1, child_id))
        return opened

    def grow(self, seed: int) -> None:
        rows = np.flatnonzero(self.target.weights > 0)
        weights = self.target.weights[rows]
        statistics = self.statistics(rows, weights).sum(0)
        self.add(-1, statistics)
        open_nodes: list[_Open] = []
        if not self.is_leaf(statistics, 0):
            open_nodes += self.opened(_Open(0, rows, weights, 0, mixed(seed % 2**64)))
        splits = 0
        while open_nodes and (self.limits.max_splits is None or splits < self.limits.max_splits):
            best = len(open_nodes) - 1
            if self.limits.max_splits is not None:
                best = min(range(len(open_nodes)), key=lambda i: (-open_nodes[i].split.gain, open_nodes[i].node))
            open_nodes[best], open_nodes[-1] = open_nodes[-1], open_nodes[best]
            node = open_nodes.pop()
            open_nodes += self.split(node)
            splits += self.nodes[node.node]["column"] >= 0

    def tree(self) -> BinnedTree:
        """The nodes in preorder."""
        order, stack = [], [0]
        while stack:
            node = stack.pop()
            order.append(node)
            if self.nodes[node]["column"] >= 0:
                stack += [self.nodes[node]["no"], self.nodes[node]["yes"]]
        number = {-1: -1, **{node: i for i, node in enumerate(order)}}

        def array(name: str, dtype: Any, read: Callable[[Any], Any] = lambda value: value) -> npt.NDArray[Any]:
            return np.array([read(self.nodes[node][name]) for node in order], dtype=dtype)

        return BinnedTree(
            array("column", np.int32),
            array("code", np.int32),
            array("yes", np.int32, number.__getitem__),
            array("no", np.int32, number.__getitem__),
            array("parent", np.int32, number.__getitem__),
            array("threshold", np.float64),
            array("gain", np.float64),
            array("fraction", np.float64),
            np.stack([self.nodes[node]["statistics"] for node in order]),
        )


def grow_in_numpy(
    table: BinnedTable, target: BinnedTarget, limits: BinnedLimits, columns: npt.NDArray[np.int32], seed: int
) -> BinnedTree:
    """The tree that the kernel would grow.

    Parameters
    ----------
    table : the coded columns.
    target : the targets.
    limits : limits of growth.
    columns : the numbers of the columns that may be tested.
    seed : seed of the draws.
    """
    grower = _Grower(table, target, limits, columns)
    grower.grow(seed)
    return grower.tree()


def _responses(column: BinnedColumn, value: int, rows: npt.NDArray[np.int64], possible: Mask) -> Floats:
    """P(value | row, path) of a distribution."""
    probabilities = column.codes[:, rows]
    if possible.all():
        return np.asarray(probabilities[value])
    whole = probabilities[possible].sum(0)
    known = whole > 1e-300
    return np.where(known, np.clip(probabilities[value] / np.where(known, whole, 1.0), 0.0, 1.0), 0.5)


def _part_below(below: Any, low: float, high: float) -> Any:
    return np.clip((below - low) / max(high - low, 1e-300), 0.0, 1.0)


def _x_log_x(x: Floats) -> Floats:
    return np.asarray(x * np.log2(x, out=np.zeros_like(x), where=x > 0))
