"""Surprisal word by word, as reading-time studies want it: −log₂ P(word | what stands before it), a row a word.

A word of several tokens has their sum. Where tokens carry the space before a word (" cat"), the sum of a word's own
tokens is no probability of the word: it pays for the space before it and says nothing of the space that ends it. As
Oh & Schuler (2024) and Pimentel & Meister (2024) show, the word's probability is

    P(w_i | before) = Π P(its tokens) · P(a word ends here | up to w_i) / P(a word ends here | up to w_{i−1})

with P(a word ends here) the mass of all tokens that begin with white space and of the end of the unit. What one word
gains the next one loses, so the words of a line, with its end, sum to the line whatever the tokens are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import TextError
from neuralgram.scoring.parquet import read_blocks
from neuralgram.scoring.units import Broken, Form, body, sources
from neuralgram.textmodel import END, TextModel, TokenScore

_WORD = re.compile(r"\S+")
_ROWS = 256  # distributions over V held at once
_NATS = 1 / math.log(2)  # bits of one nat


class Word(NamedTuple):
    """One word of a line.

    item, position   the line and the word's place in it, both from 1
    start, end       characters of the line
    bits             surprisal, corrected for where the space stands; of the end of the line, what is left of it
    log_frequency    natural log of how often the training text held it; None where that is not known
    unknown          whether the model knew no more than that it is an unknown word
    """

    item: int
    position: int
    word: str
    start: int
    end: int
    bits: float
    log_frequency: float | None
    length: int
    unknown: bool


COLUMNS = (*Word._fields, "previous_bits", "previous_log_frequency", "previous_length")


class Reader:
    """Reads lines with a model.

    frequencies   how often each word occurs; by default the training text's counts, for words that are one token
    """

    def __init__(self, model: TextModel, frequencies: Mapping[str, int] | None = None) -> None:
        self.model, self.frequencies = model, frequencies
        pieces = model.tokenizer.pieces
        begins = [piece[:1].isspace() for piece in pieces]
        alone = [piece.isspace() for piece in pieces]
        self.leading = np.array([a and not b for a, b in zip(begins, alone, strict=True)] + [False] * self._ends)
        self.ending = np.array(begins + [True] * self._ends)

    @property
    def _ends(self) -> int:
        return int(self.model.boundary_id is not None)

    def words(self, line: str, item: int = 1) -> list[Word]:
        """The words of a line, and its end where the model predicts it; their bits sum to the line's."""
        tokens = self.model.score(line)
        spans = [match.span() for match in _WORD.finditer(line)]
        if tokens:  # in a stream the first tokens of a line are not predicted: words that hold one are left out
            spans = [span for span in spans if span[0] >= tokens[0].start]
            tokens = [token for token in tokens if not spans or token.end > spans[0][0] or token.start == token.end]
        if not tokens or not spans:
            return []
        owner = _owners(tokens, spans, self.model.boundary_id)
        bits = np.zeros(len(spans) + 1)
        np.add.at(bits, owner, [token.nats * _NATS for token in tokens])
        bits += self._moved(line, tokens, owner, len(spans)) * _NATS
        unknown = {
            place for place, token in zip(owner, tokens, strict=True) if token.id == self.model.tokenizer.unknown
        }
        found = [
            Word(item, place + 1, text, start, end, bit, self._log_frequency(text), len(text), place in unknown)
            for place, ((start, end), bit) in enumerate(zip(spans, bits.tolist(), strict=False))
            for text in [line[start:end]]
        ]
        if tokens[-1].id == self.model.boundary_id:
            whole = len(line)
            found.append(Word(item, len(spans) + 1, END, whole, whole, float(bits[-1]), None, 0, False))
        return found

    def _log_frequency(self, word: str) -> float | None:
        if self.frequencies is not None:
            count = self.frequencies.get(word, 0)
        elif self.model.frequencies is None or (token := self.model.tokenizer.id_of(word)) is None:
            return None
        else:
            count = int(self.model.frequencies[token])
        return math.log(count) if count else None

    def _moved(self, line: str, tokens: list[TokenScore], owner: list[int], words: int) -> NDArray[np.float64]:
        """What the space before the next word adds to each word, and takes from the next one; nats, [words + 1]."""
        moved = np.zeros(words + 1)
        end = self.model.boundary_id
        first = [
            place
            for place in range(1, len(tokens))
            if owner[place] != owner[place - 1] and (self.leading[tokens[place].id] or tokens[place].id == end)
        ]
        if not self.leading.any() or not first:
            return moved
        corpus = self.model.corpus(line)
        windows = corpus.windows(self.model.model.context)
        for start in range(0, len(first), _ROWS):
            places = np.array(first[start : start + _ROWS])
            contexts, _ = windows.gather(places)
            log_p = self.model.model.log_probs(contexts)
            mass = -np.log(np.exp(log_p[:, self.ending]).sum(axis=1))
            for place, nats in zip(places.tolist(), mass.tolist(), strict=True):
                moved[owner[place - 1]] += nats
                moved[owner[place]] -= nats
        return moved


def _owners(tokens: list[TokenScore], spans: list[tuple[int, int]], end: int | None) -> list[int]:
    """The word each token belongs to: the one its last letter is in; space by itself ends the word before it."""
    owners, place = [], 0
    for token in tokens:
        if token.id == end:
            owners.append(len(spans))
            continue
        while place + 1 < len(spans) and token.end > spans[place + 1][0]:
            place += 1
        owners.append(place)
    return owners


def rows(words: Iterator[list[Word]]) -> Iterator[list[str]]:
    """The cells of each word, with those of the word before it in its line; "NA" where there is nothing to say."""
    for line in words:
        before: Word | None = None
        for word in line:
            told = [*word, *((before.bits, before.log_frequency, before.length) if before else (None, None, None))]
            yield [_cell(value) for value in told]
            before = word


def _cell(value: object) -> str:
    if value is None:
        return "NA"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def read_lines(
    path: str, *, unit: str | None = None, field: str | None = None, encoding: str = "utf-8", errors: str = "strict"
) -> Iterator[str]:
    """The texts of a file ("-" for standard input), line by line; what cannot be read is refused by its place."""
    for source in sources([path], unit=unit, field=field):
        form = Form(source.form, field or "text", encoding, errors)
        for block in read_blocks(source, 0):
            for number, line in enumerate(block.units, block.number):
                own = body(line)[0].removeprefix(b"\xef\xbb\xbf" if number == 1 else b"")
                try:
                    yield form.text(own)
                except Broken as error:
                    raise TextError(f"{source.name}, line {number}: {error}") from None


def read_frequencies(path: Path) -> dict[str, int]:
    """Counts of words from lines `word TAB count`."""
    found: dict[str, int] = {}
    for number, line in enumerate(read_lines(str(path), unit="line"), 1):
        word, _, count = line.partition("\t")
        if not count.strip().isdigit():
            raise TextError(f"{path}, line {number}: {line!r}: expected a word, a tab and its count")
        found[word] = found.get(word, 0) + int(count)
    return found
