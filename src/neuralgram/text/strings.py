"""Strings as ids, their units closed: each string is read as a file of that text would be.

A string that comes from a caller has no bytes of its own: lines end in it as they do in files, and a byte order mark
is no letter, except for a tokenizer that reads raw bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import TextError
from neuralgram.text.passes import unified
from neuralgram.text.pieces import PIECE, cut_pieces
from neuralgram.text.sources import Reading, read_documents, text_document
from neuralgram.text.staging import TokenReader, stage
from neuralgram.text.store import IdWriter, positions
from neuralgram.text.tokenizers.base import UNSEEN, Tokenizer
from neuralgram.text.windows import Corpus, Ids, smallest_dtype

_MARK = "\ufeff"  # the byte order mark


class Encoded(NamedTuple):
    """M texts as `ids` [T], one after another; text i is ids[starts[i] : starts[i + 1]], `starts` [M + 1]."""

    ids: Ids
    starts: NDArray[np.int64]


def encode_texts(tokenizer: Tokenizer, boundary: str, texts: Sequence[str]) -> Encoded:
    """The ids of each text by itself; with a boundary its id, the tokenizer's vocab_size, ends each unit.

    Short texts are looked up together. Raises the tokenizer's `TextError` for what it cannot read.
    """
    texts = [as_read(tokenizer, boundary, text) for text in texts]
    if len(texts) > 1 and (boundary == "line" or not any("\n" in text for text in texts)):
        found = _together(tokenizer, boundary, texts)
    else:
        each = [_alone(tokenizer, boundary, text) for text in texts]
        lengths = np.array([0, *(len(ids) for ids in each)], np.int64)
        found = Encoded(np.concatenate([np.empty(0, _dtype(tokenizer)), *each]), np.cumsum(lengths))
    return _without(tokenizer.vocab_size, found) if boundary == "stream" else found


def _together(tokenizer: Tokenizer, boundary: str, texts: list[str]) -> Encoded:
    """Texts that are lines, or lines themselves, looked up as one: what parts them becomes the boundary."""
    filled = [text.removesuffix("\n") for text in texts if text or boundary != "line"]
    units = [0 if not text and boundary == "line" else text.removesuffix("\n").count("\n") + 1 for text in texts]
    try:
        ids = tokenizer.look_up_lines("\n".join(filled))
    except TextError:  # of the whole: of which text is said below
        ids = np.array([UNSEEN])
    if ids.min(initial=0) < 0:
        _refuse(tokenizer, boundary, texts)
    if filled:
        ids = np.append(ids, tokenizer.vocab_size)
    ends = np.append(0, positions(ids, tokenizer.vocab_size) + 1)
    return Encoded(ids.astype(_dtype(tokenizer)), ends[np.cumsum([0, *units])])


def _alone(tokenizer: Tokenizer, boundary: str, text: str) -> Ids:
    by_line = boundary == "line"
    read = tokenizer.look_up_lines if by_line else tokenizer.look_up
    body = text.removesuffix("\n") if by_line else text
    writer = IdWriter(None, _dtype(tokenizer))
    for piece in [body] if len(body) <= PIECE else cut_pieces([body], cut=tokenizer.cut(boundary)):
        ids = read(piece)
        if ids.min(initial=0) < 0:
            _refuse(tokenizer, boundary, [text])
        writer.append(ids)
    if text or not by_line:
        writer.append(np.array([tokenizer.vocab_size]))
    return writer.close()


def _without(mark: int, found: Encoded) -> Encoded:
    kept = found.ids != mark
    return Encoded(found.ids[kept], np.append(0, np.cumsum(kept))[found.starts])


def _dtype(tokenizer: Tokenizer) -> np.dtype[Any]:
    return smallest_dtype(tokenizer.vocab_size + 1)


def _refuse(tokenizer: Tokenizer, boundary: str, texts: Sequence[str]) -> None:
    """Raises the error for the first unseen symbol of `texts`, with its place."""
    for i, text in enumerate(texts):
        TokenReader(tokenizer).refuse(text, boundary, "the text" if len(texts) == 1 else f"texts[{i}]", 0)


def place_text(tokenizer: Tokenizer, boundary: str, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ids [T] of `encode_texts` for one text, and the characters [T, 2] each stands for in the text as given.

    The end of a unit stands for no character.
    """
    read, places = _as_read(tokenizer, boundary, text)
    pieces = read.removesuffix("\n").split("\n") if boundary == "line" and read else [read] * (boundary != "line")
    closing = np.array([] if boundary == "stream" else [tokenizer.vocab_size], np.int64)
    ids, spans, offset = [np.empty(0, np.int64)], [np.empty((0, 2), np.int64)], 0
    for piece in pieces:
        found, at = tokenizer.encode_with_offsets(piece)
        end = offset + len(piece)
        ids += [found, closing]
        spans += [np.asarray(at, np.int64).reshape(-1, 2) + offset, np.full((len(closing), 2), end)]
        offset = end + 1  # after the line end
    all_spans = np.concatenate(spans)
    return np.concatenate(ids), all_spans if places is None else places[all_spans]


def as_read(tokenizer: Tokenizer, boundary: str, text: str) -> str:
    """The text as the tokenizer is given it."""
    return _as_read(tokenizer, boundary, text)[0]


def _as_read(tokenizer: Tokenizer, boundary: str, text: str) -> tuple[str, NDArray[np.int64] | None]:
    """The same, and where each place of it is in the text given (None: in the same place)."""
    if tokenizer.raw and boundary != "line":
        return text, None
    mark = len(_MARK) if text.startswith(_MARK) and not tokenizer.raw else 0
    if "\r" not in text:
        return (text[mark:], np.arange(mark, len(text) + 1)) if mark else (text, None)
    places, unified_text, start = [], [], mark
    for end in re.finditer(r"\r\n?", text):
        unified_text.append(text[start : end.start()] + "\n")
        places.append(np.arange(start, end.start() + 1))
        start = end.end()
    places.append(np.arange(start, len(text) + 1))
    return "".join([*unified_text, text[start:]]), np.concatenate(places)


def encode_units(tokenizer: Tokenizer, boundary: str, texts: Iterable[str]) -> Corpus:
    """Strings as one corpus in memory, as `build_corpora` makes it of files: in a stream one text follows another."""
    documents = read_documents(map(text_document, texts), Reading(raw=tokenizer.raw, cut=tokenizer.cut(boundary)))
    V = tokenizer.vocab_size + (boundary != "stream")
    writer = IdWriter(None, _dtype(tokenizer))
    read = unified(documents) if tokenizer.raw and boundary == "line" else documents
    staged = stage(read, TokenReader(tokenizer), boundary, writer)
    return Corpus(staged.ids, V, None if boundary == "stream" else tokenizer.vocab_size)
