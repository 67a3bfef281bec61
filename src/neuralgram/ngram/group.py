"""Counting keys: which positions end an n-gram, and equal keys joined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralgram.ngram.trie import Ints


class Group(NamedTuple):
    """Sorted distinct keys [N], how often each occurs [N], where one occurrence is [N]; each asked key's place [M]."""

    keys: Ints
    counts: Ints
    first: Ints
    place: Ints


def group(keys: Ints) -> Group:
    """Sort `keys` [M] and join equal ones."""
    turn = np.argsort(keys)
    ordered = keys[turn]
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    place = np.empty(len(keys), np.int64)
    place[turn] = np.cumsum(new) - 1
    return Group(ordered[first], np.diff(first, append=len(keys)), turn[first], place)


def ends(nodes: Ints, tokens: Ints, order: int, boundary: int | None) -> Ints:
    """Where the n-grams of an order end, given each token's node in the order below, [M].

    The (k − 1)-gram one token earlier is there and, if longer than `<s>`, does not end in `</s>`.
    """
    known = nodes[:-1] >= 0
    if boundary is not None and order > 2:
        known &= tokens[:-1] != boundary
    return np.flatnonzero(known) + 1
