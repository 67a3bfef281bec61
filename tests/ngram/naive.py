"""The counting models' textbook definitions over dictionaries: slow, obvious, and sharing no code with the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Gram = tuple[int, ...]


def units(ids: Sequence[int], boundary: int | None) -> list[list[int]]:
    """The sequences to read: the stream, or each unit between its start and end symbols."""
    if boundary is None:
        return [list(ids)]
    out, unit = [], [boundary]
    for token in ids:
        unit.append(token)
        if token == boundary:
            out.append(unit)
            unit = [boundary]
    return out


def counts(ids: Sequence[int], order: int, boundary: int | None) -> Counter[Gram]:
    """How often each n-gram of orders 1 … order occurs; the start symbol alone is not one."""
    found: Counter[Gram] = Counter()
    for unit in units(ids, boundary):
        for k in range(1, order + 1):
            for i in range(k, len(unit) + 1):
                found[tuple(unit[i - k : i])] += 1
        if boundary is not None:
            found[(boundary,)] -= 1
    return found


def cut(context: Sequence[int], boundary: int | None) -> Gram:
    """A context back to its last boundary symbol."""
    for i in range(len(context) - 1, -1, -1):
        if context[i] == boundary:
            return tuple(context[i:])
    return tuple(context)


def followers(found: Counter[Gram], context: Gram, V: int, boundary: int | None) -> list[int]:
    """c(hw) for every w, h a context already cut."""
    if len(context) > 1 and context[-1] == boundary:
        return [0] * V
    return [found.get((*context, w), 0) for w in range(V)]
