"""Windows: the c tokens before a token, gathered from ids that are stored once.

A `Corpus` is the ids of a text. With a boundary symbol its units (lines or documents) are
stored one after another, each closed by that symbol; what lies before a unit's first token is
read as the symbol when a window is gathered, so no stored array depends on c and nothing is
padded. Without one the whole text is a single stream whose first c tokens are not predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError
from neuralgram.settings import whole

Ids = NDArray[np.integer[Any]]


def smallest_dtype(vocab_size: int) -> np.dtype[Any]:
    """The smallest unsigned dtype that holds the ids 0 … vocab_size − 1."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if vocab_size - 1 <= np.iinfo(dtype).max:
            return np.dtype(dtype)
    raise InputError(f"vocabulary of {vocab_size}: expected at most 2**32 symbols")


def as_ids(ids: ArrayLike, vocab_size: int | None = None, least: int = 0) -> NDArray[np.int64]:
    """`ids` as int64 [N]; refuses fractions, other shapes and ids outside `least` … vocab_size − 1."""
    if hasattr(ids, "detach"):
        ids = ids.detach().cpu().numpy()
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"ids of type {array.dtype}: expected whole numbers")
    if vocab_size is not None and array.size:
        low, high = int(array.min()), int(array.max())
        if low < least or high >= vocab_size:
            wrong = low if low < least else high
            raise InputError(f"id {wrong} is outside the vocabulary: expected 0 … {vocab_size - 1}")
    return array.astype(np.int64, copy=False)


@dataclass(frozen=True)
class Corpus:
    """The ids of a text, in memory or memory-mapped.

    ids         [T], any integer dtype; with a boundary every unit ends with `boundary`
    vocab_size  V, the boundary symbol included
    boundary    its id, or None where the whole text is one stream
    """

    ids: Ids
    vocab_size: int
    boundary: int | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def windows(self, context: int, first: int | None = None) -> Windows:
        """Every predictable token with the `context` tokens before it.

        In a stream prediction starts at token `first` (default: `context`), so that models of
        different widths can be compared on the same tokens; units are always predicted whole.
        """
        return Windows(self, context, first)


class Windows:
    """A view of a corpus as (context, target) pairs; window i predicts token `i + start`."""

    def __init__(self, corpus: Corpus, context: int, first: int | None = None) -> None:
        if whole("context", context) < 0:
            raise InputError(f"context of {context} tokens: expected 0 or more")
        if first is not None and first < context:
            raise InputError(f"first scored token {first}: expected at least the context, {context}")
        self.corpus = corpus
        self.context = context
        self.start = (context if first is None else first) if corpus.boundary is None else 0
        self._steps = np.arange(-context, 1, dtype=np.int64)

    def __len__(self) -> int:
        return max(0, len(self.corpus) - self.start)

    def gather(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Contexts [B, c], oldest first, and targets [B] of the windows `index` [B]; int64."""
        at = (index + self.start)[:, None] + self._steps
        boundary = self.corpus.boundary
        if boundary is None:
            tokens = self.corpus.ids[at].astype(np.int64)
            return tokens[:, :-1], tokens[:, -1]
        tokens = self.corpus.ids[np.maximum(at, 0)].astype(np.int64)
        contexts = np.where(at[:, :-1] < 0, boundary, tokens[:, :-1])
        return close_units(contexts, boundary), tokens[:, -1]

    def slice(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Windows start … stop − 1, as `gather` gives them."""
        return self.gather(np.arange(start, min(stop, len(self)), dtype=np.int64))


def close_units(contexts: NDArray[np.int64], boundary: int) -> NDArray[np.int64]:
    """Contexts [B, c] in which everything before a boundary symbol is read as that symbol too."""
    if contexts.shape[1] == 0:
        return contexts
    before = np.logical_or.accumulate((contexts == boundary)[:, ::-1], axis=1)[:, ::-1]
    return np.where(before, boundary, contexts)


def windows(ids: ArrayLike, context: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every window of a stream: contexts [N, c], oldest first, and targets [N]; N = len(ids) − c.

    >>> windows([5, 6, 7, 8], 2)
    (array([[5, 6],
           [6, 7]]), array([7, 8]))
    """
    if whole("context", context) < 1:
        raise InputError(f"context of {context} tokens: expected at least 1")
    flat = as_ids(ids)
    if flat.ndim != 1:
        raise InputError(f"ids of shape {flat.shape}: expected one sequence, [T]")
    if len(flat) <= context:
        return np.empty((0, context), np.int64), np.empty(0, np.int64)
    view = np.lib.stride_tricks.sliding_window_view(flat, context + 1)
    return view[:, :-1].copy(), view[:, -1].copy()


def check_ids(corpus: Corpus, vocab_size: int, block: int = 1 << 22) -> None:
    """Refuse a corpus with ids outside 0 … vocab_size − 1, with an `InputError`; it is read once, block by block."""
    for start in range(0, len(corpus), block):
        as_ids(corpus.ids[start : start + block], vocab_size)


def token_frequencies(corpus: Corpus, block: int = 1 << 22) -> NDArray[np.int64]:
    """How often each symbol occurs in a corpus, the boundary symbol among them, [V]."""
    counts = np.zeros(corpus.vocab_size, np.int64)
    for start in range(0, len(corpus), block):  # block by block: the ids may be memory-mapped
        counts += np.bincount(corpus.ids[start : start + block], minlength=corpus.vocab_size)
    return counts
