"""Choosing a vocabulary from staged text, and reading staged bytes as text again."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.text.pieces import cut_pieces
from neuralgram.text.sources import Document
from neuralgram.text.staging import Part, Staged
from neuralgram.text.store import blocks, positions
from neuralgram.text.tokenizers import Chars, Words
from neuralgram.text.tokenizers.chars import CharAtoms
from neuralgram.text.tokenizers.words import WordAtoms
from neuralgram.text.windows import Ids


def choose_tokenizer(
    kind: type[Chars] | type[Words],
    atoms: CharAtoms | WordAtoms,
    learned_from: list[Part],
    parts: dict[str, Part],
    options: dict[str, Any],
) -> tuple[Chars | Words, NDArray[np.int64]]:
    """The tokenizer of the atoms counted in `learned_from`, and the id [atoms.size] of every atom."""
    counts = _count(learned_from, atoms)
    met = _count(parts.values(), atoms)
    symbols = {int(atom): atoms.symbol(int(atom)) for atom in np.flatnonzero(met)}
    counted = {symbol: int(counts[atom]) for atom, symbol in symbols.items() if counts[atom]}
    tokenizer = kind.from_counts(counted, symbols.values(), **options)
    missing = -1 if tokenizer.unknown is None else tokenizer.unknown
    table = np.full(atoms.size, missing, np.int64)
    for atom, symbol in symbols.items():
        found = tokenizer.id_of(symbol)
        table[atom] = missing if found is None else found
    unread = next((symbol for atom, symbol in symbols.items() if table[atom] < 0), None)
    if unread is not None:
        raise InputError(
            f"{unread!r} is in the text but not in the vocabulary, and there is no unknown symbol: expected unknown "
            f"'auto' or True, or a vocabulary from all parts"
        )
    table[atoms.mark] = tokenizer.vocab_size
    return tokenizer, table


def _count(parts: Iterable[Part], atoms: CharAtoms | WordAtoms) -> NDArray[np.int64]:
    """How often each atom occurs, int64 [atoms.size], the boundary not counted."""
    counts = np.zeros(atoms.size, np.int64)
    for part in parts:
        for block in part.blocks():
            counts += np.bincount(block, minlength=atoms.size)
    counts[atoms.mark] = 0
    return counts


def texts_of(parts: Iterable[Part]) -> Iterator[str]:
    """The text of parts staged as bytes; a unit ends with a line end."""
    for part in parts:
        yield from cut_pieces(_decode(part.blocks()))


def respool(spool: Staged) -> Iterator[Document]:
    """The documents of a text that was staged as bytes, to be staged again with the same boundaries."""
    if spool.boundary != "document":
        yield Document("the text", cut_pieces(_decode(blocks(spool.ids))))
        return
    start = 0
    for stop in positions(spool.ids, spool.mark).tolist():
        yield Document("the text", cut_pieces(_decode(blocks(spool.ids[start:stop]))))
        start = stop + 1


def _decode(numbers: Iterable[Ids]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")  # only the cut at the end of a part can halve a character
    for block in numbers:
        yield decoder.decode(np.where(block == 256, ord("\n"), block).astype(np.uint8).tobytes())
    yield decoder.decode(b"", final=True)
