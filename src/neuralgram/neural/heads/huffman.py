"""A binary tree over the vocabulary in which frequent tokens hang high (Huffman 1952), as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def huffman(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """`above` [2V − 1] of the tree with the shortest mean path Σ weight·depth; V ≥ 2.

    Inner nodes are numbered 0 … V − 2 from the root down, level by level; token w is number V − 1 + w.
    above[i] is 2·parent + side, with side 0 or 1; of the root it is −1.
    """
    made = _merge(weights)
    return _number(made, len(weights))


def _merge(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The two children of inner nodes as they are made, [V − 1, 2]; tokens are 0 … V − 1, the n-th made V + n.

    The lightest two are always at the head of one of two queues: tokens by weight, and nodes in the order they are
    made. Of equal weights tokens go first, by id, which also keeps the tree low.
    """
    order = np.argsort(weights, kind="stable").tolist()
    light = [*weights[order].tolist(), np.inf]
    nodes: list[float] = []  # their weights
    made = np.empty((len(order) - 1, 2), np.int64)
    token = node = 0
    for number in range(len(made)):
        weight = 0.0
        for side in (0, 1):
            if node == len(nodes) or light[token] <= nodes[node]:
                made[number, side] = order[token]
                weight += light[token]
                token += 1
            else:
                made[number, side] = len(order) + node
                weight += nodes[node]
                node += 1
        nodes.append(weight)
    return made


def _number(made: NDArray[np.int64], vocab_size: int) -> NDArray[np.int64]:
    """`above`, from the root (the last node made) down."""
    above = np.full(2 * vocab_size - 1, -1, np.int64)
    level = np.array([len(made) - 1])  # by order of making
    first = 0  # the number of the level's first node
    while len(level):
        children = made[level].reshape(-1)
        link = 2 * first + np.arange(len(children))  # 2·parent + side, as siblings stand side by side
        inner = children >= vocab_size
        first += len(level)
        above[vocab_size - 1 + children[~inner]] = link[~inner]
        above[first : first + inner.sum()] = link[inner]
        level = children[inner] - vocab_size
    return above


def levels(above: NDArray[np.int64]) -> list[slice]:
    """The inner nodes of each level, root first: parents are in order, so a level's children are one run."""
    parent = above[: len(above) // 2] >> 1
    found = [slice(0, 1)]
    while found[-1].stop < len(parent):
        start = found[-1].stop
        found.append(slice(start, int(np.searchsorted(parent, start, side="left"))))
    return found
