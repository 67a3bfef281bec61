"""The passes over a text in which it becomes a tokenizer and the parts in its ids.

One pass where the tokenizer is finished, or its vocabulary can be chosen from counts: text is staged as numbers, which
the choice then turns into ids. Two where it is learned from the text itself: that is staged as bytes, to be read again.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.text.pieces import Cut, anywhere, cut_pieces, unify_line_ends
from neuralgram.text.sources import Document, Reading, Source, read_documents
from neuralgram.text.splits import Split
from neuralgram.text.staging import Part, Staged, TokenReader, parts_of, stage
from neuralgram.text.store import IdWriter, blocks, positions
from neuralgram.text.tokenizers.base import Numbering, Tokenizer
from neuralgram.text.tokenizers.bytelevel import NEWLINE, Bytes
from neuralgram.text.windows import Ids, smallest_dtype

Texts = Mapping[str, Iterable[Source]]  # part → its sources
Parts = dict[str, Part]


@dataclass(frozen=True)
class Made:
    """A tokenizer, what was found of each text while it was staged, and the parts in its ids."""

    tokenizer: Tokenizer
    texts: dict[str, Staged]
    parts: Parts


@dataclass(frozen=True)
class Passes:
    """How text is read and divided.

    learn_all  whether a tokenizer is learned from all parts, not the training part alone
    scratch    a folder for what is staged; None: in memory
    """

    boundary: str
    split: Split | None
    seed: int
    learn_all: bool
    reading: Reading
    scratch: Path | None

    def with_tokenizer(self, texts: Texts, tokenizer: Tokenizer) -> Made:
        """The parts in the ids of a finished tokenizer."""
        raw, cut = tokenizer.raw, tokenizer.cut(self.boundary)
        return self._encode(self._documents(texts, cut, raw=raw), tokenizer)

    def learning(self, texts: Texts, kind: type[Tokenizer], options: Mapping[str, Any]) -> Made:
        """The parts in the ids of a tokenizer that is learned from them."""
        settings = kind.settings(options)
        ready = kind.ready()
        if ready is not None:
            return self.with_tokenizer(texts, ready)
        numbering = kind.numbering(settings)
        if numbering is None:
            return self._twice(texts, kind, options)
        staged = self._stage(self._documents(texts, numbering.cut), numbering, np.dtype(np.uint32))
        parts = self._parts(staged, line_ends=numbering.line_ends)
        made, table = choose_tokenizer(kind, settings, numbering, self._learned_from(parts), parts)
        return Made(made, staged, {name: part.mapped(table) for name, part in parts.items()})

    def _twice(self, texts: Texts, kind: type[Tokenizer], options: Mapping[str, Any]) -> Made:
        """Where the training part is a count of tokens it has at least as many bytes, so that no others are learned
        from."""
        spools = self._stage(self._documents(texts, anywhere), TokenReader(Bytes()), np.dtype(np.uint16))
        parts = self._parts(spools, line_ends=[NEWLINE])
        made = kind.train(texts_of(self._learned_from(parts)), **options)
        again = {name: respool(spool, made.cut(self.boundary)) for name, spool in spools.items()}
        return Made(made, spools, self._encode(again, made).parts)

    def _encode(self, documents: Mapping[str, Iterable[Document]], tokenizer: Tokenizer) -> Made:
        texts = self._stage(documents, TokenReader(tokenizer), smallest_dtype(tokenizer.vocab_size + 1))
        line_ends = [i for i, piece in enumerate(tokenizer.pieces) if piece.endswith(b"\n")]
        lengths = tokenizer.lengths if tokenizer.by_bytes else None
        return Made(tokenizer, texts, self._parts(texts, lengths=lengths, line_ends=line_ends))

    def _documents(self, texts: Texts, cut: Cut, *, raw: bool = False) -> dict[str, Iterable[Document]]:
        reading = replace(self.reading, raw=raw, cut=cut)
        found: dict[str, Iterable[Document]] = {}
        for name, sources in texts.items():
            documents = read_documents(sources, reading)
            found[name] = unified(documents) if raw and self.boundary == "line" else documents
        return found

    def _learned_from(self, parts: Parts) -> list[Part]:
        return list(parts.values()) if self.learn_all else [parts["train"]]

    def _stage(
        self, texts: Mapping[str, Iterable[Document]], reader: TokenReader | Numbering, dtype: np.dtype[Any]
    ) -> dict[str, Staged]:
        staged = {}
        for name, documents in texts.items():
            path = None if self.scratch is None else self.scratch / f"{name}-{type(reader).__name__}-{reader.mark}"
            with IdWriter(path, dtype) as writer:
                staged[name] = stage(documents, reader, self.boundary, writer)
            if staged[name].tokens == 0:
                called = "the text" if len(texts) == 1 else f"the {name} text"
                raise TextError(f"{called} holds no token: expected at least one; is it the right file, and not empty?")
        return staged

    def _parts(self, texts: dict[str, Staged], **how: Any) -> Parts:
        if self.split is None:
            return {name: Part(text.ids, mark=text.mark, documents=text.places) for name, text in texts.items()}
        return parts_of(texts["train"], self.split, self.seed, **how)


def unified(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents that were read raw, in which lines end as everywhere."""
    return (Document(name, unify_line_ends(pieces)) for name, pieces in documents)


def choose_tokenizer(
    kind: type[Tokenizer], settings: Any, numbering: Numbering, learned_from: list[Part], parts: Parts
) -> tuple[Tokenizer, NDArray[np.int64]]:
    """The tokenizer of the numbers counted in `learned_from`, and the id [numbering.size] of every number."""
    counts = _count(learned_from, numbering)
    met = _count(parts.values(), numbering)
    symbols = {int(number): numbering.symbol(int(number)) for number in np.flatnonzero(met)}
    counted = {symbol: int(counts[number]) for number, symbol in symbols.items() if counts[number]}
    tokenizer = kind.from_counts(counted, symbols.values(), settings)
    missing = -1 if tokenizer.unknown is None else tokenizer.unknown
    table = np.full(numbering.size, missing, np.int64)
    for number, symbol in symbols.items():
        found = tokenizer.id_of(symbol)
        table[number] = missing if found is None else found
    unread = next((symbol for number, symbol in symbols.items() if table[number] < 0), None)
    if unread is not None:
        raise InputError(
            f"{unread!r} is in the text but not in the vocabulary, and there is no unknown symbol: expected unknown "
            f"'auto' or True, or a vocabulary from all parts"
        )
    table[numbering.mark] = tokenizer.vocab_size
    return tokenizer, table


def _count(parts: Iterable[Part], numbering: Numbering) -> NDArray[np.int64]:
    """How often each number occurs, int64 [numbering.size], the boundary not counted."""
    counts = np.zeros(numbering.size, np.int64)
    for part in parts:
        for block in part.blocks():
            counts += np.bincount(block, minlength=numbering.size)
    counts[numbering.mark] = 0
    return counts


def texts_of(parts: Iterable[Part]) -> Iterator[str]:
    """The text of parts staged as bytes; a unit ends with a line end."""
    for part in parts:
        yield from cut_pieces(_decode(part.blocks()))


def respool(spool: Staged, cut: Cut) -> Iterator[Document]:
    """The documents of a text that was staged as bytes, to be staged again with the same boundaries."""
    if spool.boundary != "document":
        yield Document("the text", cut_pieces(_decode(blocks(spool.ids)), cut=cut))
        return
    start = 0
    for stop in positions(spool.ids, spool.mark).tolist():
        yield Document("the text", cut_pieces(_decode(blocks(spool.ids[start:stop])), cut=cut))
        start = stop + 1


def _decode(numbers: Iterable[Ids]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")  # only the cut at the end of a part can halve a character
    for block in numbers:
        yield decoder.decode(np.where(block == 256, ord("\n"), block).astype(np.uint8).tobytes())
    yield decoder.decode(b"", final=True)
