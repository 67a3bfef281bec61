"""What a scored text is made of: losses, tokens, ends of units, unknown symbols, and the bytes it takes to be honest
about bits per byte."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.text.store import blocks
from neuralgram.text.tokenizers import Tokenizer
from neuralgram.text.windows import Corpus


@dataclass(frozen=True, eq=False)
class Scores:
    """The scored tokens of M texts, one text after another.

    ids, nats   each token and its −log P, [N]
    starts      [M + 1]: the tokens of text i are those from starts[i] to starts[i + 1] − 1
    ends        of each text, how many tokens are ends of units, [M]
    unknown     how many are the unknown symbol, [M]
    bytes       UTF-8 bytes of what was scored, [M]; −1 where tokenizing lost some
    """

    ids: NDArray[np.int64]
    nats: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    unknown: NDArray[np.int64]
    bytes: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        boundary: str,
        ids: NDArray[np.int64],
        nats: NDArray[np.float64],
        starts: NDArray[np.int64],
    ) -> Scores:
        """With the counts that belong to these tokens."""
        unknown = _sums(ids == (-1 if tokenizer.unknown is None else tokenizer.unknown), starts)
        size = _sums(_lengths(tokenizer, boundary)[ids], starts)
        size[(unknown > 0) | (not tokenizer.lossless)] = -1
        return cls(ids, nats, starts, _sums(ids == tokenizer.vocab_size, starts), unknown, size)

    @classmethod
    def join(cls, parts: Iterable[Scores]) -> Scores:
        """The texts of all `parts`, in their order."""
        parts = [_NOTHING, *parts]
        firsts = np.cumsum([len(part.ids) for part in parts])
        starts = [part.starts[1:] + first for part, first in zip(parts[1:], firsts[:-1], strict=True)]
        fields = ("ids", "nats", "ends", "unknown", "bytes")
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in fields}
        return cls(starts=np.concatenate([_NOTHING.starts, *starts]), **arrays)

    def __len__(self) -> int:
        """How many texts."""
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> Scores:
        """Those of one text."""
        i = range(len(self))[i]
        place, one = slice(self.starts[i], self.starts[i + 1]), slice(i, i + 1)
        starts = np.array([0, place.stop - place.start])
        return Scores(self.ids[place], self.nats[place], starts, self.ends[one], self.unknown[one], self.bytes[one])

    def __iter__(self) -> Iterator[Scores]:
        return (self[i] for i in range(len(self)))

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Scored tokens of each text, [M]."""
        return np.diff(self.starts)

    @property
    def totals(self) -> NDArray[np.float64]:
        """Nats of each text, [M]."""
        return _sums(self.nats, self.starts)

    @property
    def perplexity(self) -> NDArray[np.float64]:
        """exp(nats / tokens) of each text, [M]; inf where that overflows, nan where nothing was scored."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.exp(self.totals / self.tokens)

    @property
    def bits_per_byte(self) -> NDArray[np.float64]:
        """nats / ln 2 / bytes of each text, [M]; nan where tokenizing lost bytes or there are none."""
        return self.totals / math.log(2) / np.where(self.bytes > 0, self.bytes, np.nan)


def _sums(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """The sum of each stretch of `values`, [M]; 0 of an empty one."""
    kind = values.dtype if values.dtype.kind == "f" else np.int64
    out, filled = np.zeros(len(starts) - 1, kind), np.flatnonzero(np.diff(starts))
    if len(filled):
        out[filled] = np.add.reduceat(values, starts[filled], dtype=kind)
    return out


_NONE = np.empty(0, np.int64)
_NOTHING = Scores(_NONE, np.empty(0), np.zeros(1, np.int64), _NONE, _NONE, _NONE)


class TextStats(NamedTuple):
    """Counts of the tokens of a corpus from `first` on.

    tokens   predicted ones, the boundary symbols among them
    units    boundary symbols (0 in a stream)
    unknown  unknown symbols
    bytes    UTF-8 bytes of the text they stand for, or None where tokenizing lost some
    lost     why `bytes` is None, else None
    """

    tokens: int
    units: int
    unknown: int
    bytes: int | None
    lost: str | None


def text_stats(tokenizer: Tokenizer, boundary: str, corpus: Corpus, first: int = 0) -> TextStats:
    """The `TextStats` of a corpus; `first` is the first scored token (the context, for a stream).

    A line's boundary symbol stands for its line end and is one byte; a document's is none.
    """
    tokens, units, unknown, size = 0, 0, 0, 0
    lengths = _lengths(tokenizer, boundary)
    for block in blocks(corpus.ids[first:]):
        tokens += len(block)
        units += 0 if corpus.boundary is None else int((block == corpus.boundary).sum())
        unknown += 0 if tokenizer.unknown is None else int((block == tokenizer.unknown).sum())
        size += int(lengths[block].sum())
    lost = tokenizer.loses or (f"{unknown} unknown symbols" if unknown else None)
    return TextStats(tokens, units, unknown, None if lost else size, lost)


def _lengths(tokenizer: Tokenizer, boundary: str) -> NDArray[np.int64]:
    """The bytes each token stands for, that of a line its line end, [vocab_size + 1]."""
    return np.append(tokenizer.lengths, 1 if boundary == "line" else 0)
