"""A back-off table from n-grams listed in any order, as files list them.

A table finds an n-gram through what it begins and what it ends with. Estimators other than KenLM's may list an
n-gram without these (entropy pruning does); the missing ones are added with the value they have anyway, that of
backing off, so no probability changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralgram.ngram.backoff import BackoffTable
from neuralgram.ngram.trie import Floats, Ints, Trie


class Listed(NamedTuple):
    """n-grams of one order k: tokens [N, k], natural log_p [N] and log_bow [N]; a log_p of NaN is to be worked out."""

    tokens: Ints
    log_p: Floats
    log_bow: Floats


class Twice(Exception):
    """An n-gram is listed twice: its order, and where in that order's list the second one stands."""

    def __init__(self, order: int, row: int) -> None:
        super().__init__(order, row)
        self.order, self.row = order, row


def table_of(vocab_size: int, boundary: int | None, listed: list[Listed]) -> BackoffTable:
    """The table of these n-grams; `listed[0]` has token i as row i. Raises `Twice`."""
    listed = list(listed)
    for k in range(len(listed), 2, -1):  # from the longest down: what they need may need more
        tokens = listed[k - 1].tokens
        listed[k - 2] = _with(listed[k - 2], np.concatenate([tokens[:, :-1], tokens[:, 1:]]), vocab_size)
    keys: list[Ints] = []
    turns = [np.arange(vocab_size)]
    trie = Trie.of(vocab_size, keys)
    for k, level in enumerate(listed[1:], 2):
        key = _nodes(trie, level.tokens[:, :-1]) * vocab_size + level.tokens[:, -1]
        turn = np.argsort(key, kind="stable")
        key = key[turn]
        again = np.flatnonzero(key[1:] == key[:-1])
        if len(again):
            raise Twice(k, int(turn[again + 1].min()))
        keys.append(key)
        turns.append(turn)
        trie = Trie.of(vocab_size, keys)
    log_p = [listed[0].log_p]
    log_bow = [level.log_bow[turn] for level, turn in zip(listed, turns, strict=True)]
    for k, (level, turn) in enumerate(zip(listed[1:], turns[1:], strict=True), 2):
        p = level.log_p[turn]
        added = np.flatnonzero(np.isnan(p))
        if len(added):
            suffix = _nodes(trie, level.tokens[turn][added][:, 1:])
            p[added] = log_bow[k - 2][trie.parents(k)[added]] + log_p[-1][suffix]
        log_p.append(p)
    return BackoffTable(trie, boundary, tuple(log_p), tuple(log_bow[:-1]))


def _nodes(trie: Trie, tokens: Ints) -> Ints:
    """The node of each k-gram, tokens [N, k]; −1 where it is not in the set."""
    return trie.contexts(tokens)[:, -1]


def _with(level: Listed, needed: Ints, vocab_size: int) -> Listed:
    """`level` and what of `needed` [M, k] it lacks, without values."""
    have, want = _packed(level.tokens, needed, vocab_size)
    missing = np.unique(want[~np.isin(want, have)], return_index=True)[1]
    if not len(missing):
        return level
    rows = needed[~np.isin(want, have)][missing]
    nothing = np.full(len(rows), np.nan)
    return Listed(
        np.concatenate([level.tokens, rows]),
        np.concatenate([level.log_p, nothing]),
        np.concatenate([level.log_bow, np.zeros(len(rows))]),
    )


def _packed(first: Ints, second: Ints, vocab_size: int) -> tuple[Ints, Ints]:
    """One integer for each row of two arrays [N, k] and [M, k], equal where the rows are."""
    both = np.concatenate([first, second])
    code = both[:, 0]
    for column in both.T[1:]:
        code = np.unique(code, return_inverse=True)[1] * vocab_size + column
    return code[: len(first)], code[len(first) :]
