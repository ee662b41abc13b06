"""Re-readings in words: reversal, shifts, exchanges of values, and trees of other tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neuid3.identifiability.rewriting_search import Rewriting
from neuid3.identifiability.structure import Structure
from neuid3.identifiability.symmetries import Images, Reading, moves
from neuid3.tree.node_tests import NodeTest

# The most elements of a group that are listed to describe it; dihedral groups of 20 values have 40.
MAX_ELEMENTS = 1000


def description(name: str, structure: Structure, texts: Sequence[str], names: Mapping[str, str]) -> str:
    """What the values of a network are fixed up to.

    Parameters
    ----------
    name : the network instance.
    structure : the symmetries and rewritings of its tree.
    texts : its values as text.
    names : what text calls each instance.

    Returns
    -------
    Words such as "reversal", "nothing" or "unknown".
    """
    if structure.group is None:
        return "unknown"
    if name not in structure.group.sizes:
        return "any permutation"  # no result depends on the network
    size = len(texts)
    own = [generator[name] for generator in structure.group.generators]
    swaps = [r.equivalence.reading[name] for r in structure.rewritings if name in r.equivalence.reading]
    maps = [images for images in dict.fromkeys([*own, *swaps]) if moves(images)]
    if not maps:
        return "nothing"
    together = [structure.companions.get((name, images), ()) for images in maps]
    others = sorted(set().union(*together)) if all(together) else []
    suffix = f", together with {' and '.join(names.get(other, other) for other in others)}" if others else ""
    if size == 2:
        exchanged = "yes and no" if tuple(texts) == ("no", "yes") else f"{texts[0]} and {texts[1]}"
        return f"{exchanged} exchanged{suffix}"
    classes = structure.classes.get(name, ())
    kinds = [
        "any permutation" if len(members) == size else f"any permutation within {_set(members, texts)}"
        for members in classes
        if len(members) > 1
    ]
    class_of = {value: members for members in classes for value in members}
    rest = [m for m in maps if any(class_of[v] != class_of[m[v]] for v in range(size))]
    return " and ".join([*kinds, *_kinds_of_maps(rest, texts)]) + suffix


def _kinds_of_maps(maps: Sequence[Images], texts: Sequence[str]) -> list[str]:
    """Words for the permutations that these generate: reversal, shifts, and others in cycle notation."""
    size = len(texts)
    elements = _generated(maps, size)
    backwards = tuple(reversed(range(size)))
    shifts = [images for images in sorted(elements) if _shift(images) is not None]
    named = [*([backwards] if backwards in elements else []), *shifts]
    kinds = ["reversal"] * (backwards in elements)
    if shifts:
        step = min(_shift(images) or size for images in shifts)
        kinds.append("a shift" if step == 1 else f"a shift by {step}")
    explained = _generated(named, size)
    others = [images for images in maps if images not in explained]
    kinds.extend(f"the exchange {_cycles(images, texts)}" for images in others[:2])
    return [*kinds, "more exchanges"] if len(others) > 2 else kinds


def _generated(maps: Sequence[Images], size: int) -> set[Images]:
    """The elements of the group that maps generate, or at most about `MAX_ELEMENTS` of them."""
    elements = {tuple(range(size))}
    waiting = list(elements)
    while waiting and len(elements) < MAX_ELEMENTS:
        current = waiting.pop()
        for images in maps:
            product = tuple(images[value] for value in current)
            if product not in elements:
                elements.add(product)
                waiting.append(product)
    return elements | set(maps)


def _shift(images: Images) -> int | None:
    """The step of a cyclic shift; None for other maps."""
    n, step = len(images), images[0]
    return step if step and all(image == (v + step) % n for v, image in enumerate(images)) else None


def _set(values: Iterable[int], texts: Sequence[str]) -> str:
    return "{" + ", ".join(texts[v] for v in sorted(values)) + "}"


def _cycles(images: Images, texts: Sequence[str]) -> str:
    """A permutation in cycle notation."""
    visited: set[int] = set()
    cycles = []
    for start in range(len(images)):
        cycle = []
        value = start
        while value not in visited:
            visited.add(value)
            cycle.append(texts[value])
            value = images[value]
        if len(cycle) > 1:
            cycles.append("(" + " ".join(cycle) + ")")
    return "".join(cycles)


def reading_text(reading: Reading, texts: Mapping[str, Sequence[str]], names: Mapping[str, str] | None = None) -> str:
    """A reading as text: the values that are read as others.

    Parameters
    ----------
    reading : the image of every value of each network.
    texts : the values of each network as text.
    names : what text calls each network; by default its name.

    Returns
    -------
    The text; empty for the identity.

    >>> reading_text({"digit": (1, 0, 2)}, {"digit": ("0", "1", "2")})
    'digit: 0 read as 1, 1 read as 0'
    """
    parts = []
    for name, images in reading.items():
        changed = [f"{texts[name][v]} read as {texts[name][image]}" for v, image in enumerate(images) if v != image]
        if changed:
            parts.append(f"{(names or {}).get(name, name)}: {', '.join(changed)}")
    return "; ".join(parts)


def rewriting_text(
    rewriting: Rewriting,
    texts: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
    test_names: Mapping[NodeTest, str],
) -> str:
    """A sentence about a tree of other candidates that says the same.

    Parameters
    ----------
    rewriting : the replaced tests, and how networks and values are renamed.
    texts : the values of each network as text.
    names : what text calls each network.
    test_names : what text calls each test of the tree.

    Returns
    -------
    The sentence.
    """
    tests = ", ".join(f"{test_names.get(old, str(old))} could be {new}" for old, new in rewriting.tests.items())
    renamed = [
        f"{names.get(new, new)} in the place of {names.get(old, old)}"
        for old, new in rewriting.equivalence.networks.items()
        if old != new
    ]
    changed = []
    for name, images in rewriting.equivalence.reading.items():
        if moves(images):
            is_reversal = len(images) > 2 and images == tuple(reversed(range(len(images))))
            what = "reversed" if is_reversal else "renamed as " + _cycles(images, texts[name])
            changed.append(f"the values of {names.get(name, name)} {what}")
    return f"{tests}, with {' and '.join([*renamed, *changed])}."
