"""From documents to one array of numbers, units closed, in one pass over the text; and the parts a split makes of it.

The numbers are the ids of a finished tokenizer, or a numbering (words as they are met, code points) of one whose
vocabulary is yet to be chosen: the text is not read twice, and standard input can be read at all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import TextError
from neuralgram.text.pieces import utf8
from neuralgram.text.sources import Document
from neuralgram.text.splits import PARTS, Split, assign_units
from neuralgram.text.store import IdWriter, blocks
from neuralgram.text.tokenizers.base import Numbering, Tokenizer
from neuralgram.text.windows import Ids

BOUNDARIES = ("stream", "line", "document")
UNITS = {"stream": "tokens", "line": "lines", "document": "documents"}
TOLD = {
    "stream": "the whole text is one stream, of which the first tokens are not predicted",
    "line": "each line is a unit, and that it ends is predicted too",
    "document": "each document (a file, a JSON line) is a unit, and that it ends is predicted too",
}
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]* *\n")
_BEGIN = 1 << 18  # characters at the beginning of a text by which its lines are judged
REMEMBERED = 10_000  # documents; more are not: a text of that many documents has groups enough without


class Documents(NamedTuple):
    """The documents of a part, in their order: `names` [D], and `starts` [D], the place of each one's first token."""

    names: tuple[str, ...]
    starts: NDArray[np.int64]

    def within(self, start: int, stop: int) -> Documents:
        """Those with tokens in start … stop − 1, counted from `start`; the first one's beginning may be cut off."""
        ends = np.append(self.starts[1:], np.iinfo(np.int64).max)
        kept = np.flatnonzero((self.starts < stop) & (ends > start) & (ends > self.starts))
        return Documents(tuple(self.names[i] for i in kept), np.maximum(self.starts[kept] - start, 0))


class DocumentLog:
    """Collects where documents begin while a text is read; `documents` is None beyond `REMEMBERED` of them."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._starts: list[int] = []
        self._count = 0

    def begin(self, name: str, place: int) -> None:
        """The document `name` begins with token `place`."""
        self._count += 1
        if self._count <= REMEMBERED:
            self._names.append(name)
            self._starts.append(place)

    def documents(self) -> Documents | None:
        """All that began, or None where there were too many."""
        return Documents(tuple(self._names), np.array(self._starts, np.int64)) if self._count <= REMEMBERED else None


class TokenReader:
    """Text as the ids of a finished tokenizer; what it cannot read is refused by name, document and character."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.mark = tokenizer.vocab_size

    def __call__(self, text: str) -> NDArray[np.int64]:
        """Ids, −1 for the unseen."""
        return self.tokenizer.look_up(text)

    def lines(self, text: str) -> NDArray[np.int64]:
        """Ids, −1 for the unseen, with the boundary id for line ends."""
        return self.tokenizer.look_up_lines(text)

    def refuse(self, text: str, boundary: str, where: str, before: int) -> None:
        """Raises the error for the first unseen symbol of `text`, which starts at character `before` of `where`."""
        for part in text.split("\n") if boundary == "line" else [text]:
            if self.tokenizer.look_up(part).min(initial=0) < 0:
                self.tokenizer.refuse(part, where, before)
            before += len(part) + 1


@dataclass(frozen=True)
class Staged:
    """Numbers [T] of a text, each unit closed by `mark` (not in a stream), and what is known of the text.

    bytes, lines  UTF-8 bytes and line ends of the text
    sentences     of its first lines, the share that ends as sentences do: with a full stop, an exclamation or a
                  question mark
    sha256        of its documents in UTF-8, each followed by the byte FF
    places        where its documents begin; None where they are too many to remember
    """

    ids: Ids
    boundary: str
    mark: int
    documents: int
    units: int
    bytes: int
    lines: int
    sentences: float
    sha256: str
    places: Documents | None = None

    @property
    def tokens(self) -> int:
        """Numbers that are text."""
        return len(self.ids) - (0 if self.boundary == "stream" else self.units)


def stage(documents: Iterable[Document], reader: TokenReader | Numbering, boundary: str, writer: IdWriter) -> Staged:
    """Reads all documents, piece by piece.

    A line ends at its line end or at the end of its document; an empty line is a unit that holds nothing but its end,
    as KenLM counts it, and so is an empty document. In a stream a document that another follows ends with a line end,
    put there if need be, so that nothing is glued together.
    """
    digest, count, size, lines, ends, last, begin = hashlib.sha256(), 0, 0, 0, 0, "", ""
    read, places = reader.lines if boundary == "line" else reader, DocumentLog()
    for document in documents:
        count += 1
        places.begin(document.name, writer.count)
        before, glue = 0, boundary == "stream" and last not in ("", "\n")
        last = "" if boundary != "stream" else last
        for piece in document.pieces:
            if not piece:
                continue
            text = f"\n{piece}" if glue else piece
            ids = read(text)
            if isinstance(reader, TokenReader) and ids.min(initial=0) < 0:
                reader.refuse(text, boundary, document.name, before - glue)
            writer.append(ids)
            lines += text.count("\n")
            begin += text[: _BEGIN - len(begin)]
            data = utf8(text, "surrogateescape")
            digest.update(data)
            size += len(data)
            before, glue, last = before + len(piece), False, piece[-1]
        if boundary == "document" or (boundary == "line" and last not in ("", "\n")):
            writer.append(np.array([reader.mark]))
            ends += 1
        digest.update(b"\xff")
    units = {"stream": 1, "line": lines + ends, "document": ends}[boundary]
    facts = (count, units, size, lines, _sentences(begin), digest.hexdigest(), places.documents())
    return Staged(writer.close(), boundary, reader.mark, *facts)


def _sentences(text: str) -> float:
    return len(_SENTENCE_END.findall(text)) / max(1, text.count("\n"))


@dataclass(frozen=True)
class Part:
    """A part of staged numbers: a stretch, perhaps closed by `closing`, or the units that are `chosen`.

    `table`, where given, turns each number into another. `documents` says where those of a stretch begin.
    """

    ids: Ids
    closing: int | None = None
    mark: int | None = None
    chosen: NDArray[np.bool_] | None = None
    table: NDArray[np.int64] | None = None
    documents: Documents | None = None

    def mapped(self, table: NDArray[np.int64]) -> Part:
        """The same part with table[i] for every number i."""
        return replace(self, table=table)

    def blocks(self) -> Iterator[Ids]:
        """The numbers of the part, block by block."""
        for block in self._numbers():
            yield block if self.table is None else self.table[block]

    def _numbers(self) -> Iterator[Ids]:
        unit = 0
        for block in blocks(self.ids):
            if self.chosen is None:
                yield block
                continue
            ends = block == self.mark
            yield block[self.chosen[unit + np.cumsum(ends) - ends]]
            unit += int(ends.sum())
        if self.closing is not None:
            yield np.array([self.closing])


def parts_of(
    staged: Staged, split: Split, seed: int, *, lengths: NDArray[np.int64] | None = None, line_ends: Sequence[int]
) -> dict[str, Part]:
    """The parts that `split` makes of a staged text.

    A stream is cut contiguously, and so is a single document by fractions: after the last line end (a number of
    `line_ends`) before the place. Otherwise whole units are assigned. `lengths`: bytes of each number, where it is
    these that fractions are of: those of byte-pair tokens, since how many tokens there are depends on what was learned.
    """
    single = staged.boundary == "document" and staged.units == 1 and split.fractions
    if staged.boundary != "stream" and not single:
        parts = assign_units(staged.units, split, seed, UNITS[staged.boundary])
        names = [name for i, name in enumerate(PARTS) if (parts == i).any()]
        return {name: Part(staged.ids, mark=staged.mark, chosen=parts == PARTS.index(name)) for name in names}
    text = staged.ids[: staged.tokens]
    if lengths is not None and split.fractions:
        bounds = split.bounds(sum(int(lengths[block].sum()) for block in blocks(text)), "bytes")
        stops = {name: _token_at(text, lengths, stop) for name, (_, stop) in bounds.items()}
    else:
        stops = {name: stop for name, (_, stop) in split.bounds(len(text), "tokens").items()}
    found = _stretches(text, stops, staged.mark if single else None, line_ends)
    if single or staged.places is None:
        return found
    starts = np.cumsum([0, *(len(part.ids) for part in found.values())])
    stretches = zip(found.items(), starts[:-1], starts[1:], strict=True)
    return {n: replace(p, documents=staged.places.within(int(a), int(b))) for (n, p), a, b in stretches}


def _stretches(text: Ids, stops: dict[str, int], closing: int | None, line_ends: Sequence[int]) -> dict[str, Part]:
    found, start = {}, 0
    for name, place in stops.items():
        inside = closing is not None and place < len(text)
        stop = _last_line_end(text, start, place, line_ends) if inside else place
        if start == stop:
            raise TextError(f"{len(text)} tokens leave the {name} part of this split empty: expected more text")
        found[name] = Part(text[start:stop], closing)
        start = stop
    return found


def _token_at(text: Ids, lengths: NDArray[np.int64], byte: int) -> int:
    """The first token that starts at or after a byte of the text."""
    passed = 0
    for i, block in enumerate(blocks(text)):
        ends = passed + np.cumsum(lengths[block])
        if ends[-1] >= byte:
            return int(np.searchsorted(ends, byte)) + 1 + i * (1 << 20)
        passed = int(ends[-1])
    return len(text)


def _last_line_end(text: Ids, start: int, stop: int, line_ends: Sequence[int]) -> int:
    """Where the last line that is whole ends in text[start:stop]; `stop` where there is none."""
    for end in range(stop, start, -(1 << 20)):
        begin = max(start, end - (1 << 20))
        hits = np.flatnonzero(np.isin(text[begin:end], line_ends))
        if len(hits):
            return begin + int(hits[-1]) + 1
    return stop
