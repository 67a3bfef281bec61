"""What a text is made of: tokens, units, unknown symbols, and the bytes it takes to be honest about bits per byte."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralgram.text.store import blocks
from neuralgram.text.tokenizers import Tokenizer
from neuralgram.text.windows import Corpus


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
    lengths = np.append(tokenizer.lengths, 1 if boundary == "line" else 0)
    for block in blocks(corpus.ids[first:]):
        tokens += len(block)
        units += 0 if corpus.boundary is None else int((block == corpus.boundary).sum())
        unknown += 0 if tokenizer.unknown is None else int((block == tokenizer.unknown).sum())
        size += int(lengths[block].sum())
    lost = tokenizer.loses or (f"{unknown} unknown symbols" if unknown else None)
    return TextStats(tokens, units, unknown, None if lost else size, lost)
