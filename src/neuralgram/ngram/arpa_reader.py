"""Parsing ARPA files, line by line; see `arpa` for what the format is and what is read as meant.

The table finds an n-gram through what it begins and what it ends with. Estimators other than KenLM's may list an
n-gram without these (entropy pruning does); the missing ones are added with the value they have anyway, that of
backing off, so no probability changes.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from neuralgram.errors import TextError
from neuralgram.ngram.backoff import BackoffTable
from neuralgram.ngram.backoff_model import BackoffModel
from neuralgram.ngram.trie import Floats, Ints, Trie

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
LN10 = math.log(10)
_WHITE = re.compile(r"[ \t\r]+")  # no other white space: a word may hold a no-break space
_COUNT = re.compile(r"ngram[ \t]+(\d+)[ \t]*=[ \t]*(\d+)")
_SECTION = re.compile(r"\\(\d+)-grams:")


class Arpa(NamedTuple):
    """A file's symbols by id (a boundary is the last, and reads `</s>`), its model, and the unknown symbol's id."""

    symbols: list[str]
    model: BackoffModel
    unknown: int | None


class _Section(NamedTuple):
    """The n-grams of one order as they stand: ids [N·k], log10 P [N], log10 weight [N], line number [N]."""

    ids: array[int]
    log_p: array[float]
    log_bow: array[float]
    lines: array[int]


class Reader:
    """Reads one file; every refusal names the file and the line."""

    def __init__(self, path: Path, lines: Iterable[str]) -> None:
        self._path = path
        self._lines = enumerate(lines, 1)
        self._number = 0
        self._line = ""
        self._symbols: list[str] = []
        self._ids: dict[str, int] = {}
        self._boundary = -1
        self._places: dict[str, int] = {}  # where `<s>` and `</s>` stand among the 1-grams

    def read(self) -> Arpa:
        """The whole file."""
        while self._next() != "\\data\\":
            if not self._line:
                self._fail("no line that reads \\data\\: is this an ARPA file?")
        sizes = self._sizes()
        sections = [self._section(k, size, len(sizes)) for k, size in enumerate(sizes, 1)]
        if self._stripped() != "\\end\\":
            self._fail(f"expected \\end\\, found {self._shown()}")
        return self._made(sections)

    def _next(self) -> str:
        """The next line that is not blank, stripped; "" at the end of the file (where `_line` is "" too)."""
        for number, line in self._lines:
            stripped = line.strip(" \t\r\n")
            if stripped:
                self._number, self._line = number, line
                return stripped
        self._line = ""
        return ""

    def _stripped(self) -> str:
        return self._line.strip(" \t\r\n")

    def _shown(self) -> str:
        return repr(self._stripped()[:60]) if self._line else "the end of the file"

    def _fail(self, said: str, line: int | None = None) -> NoReturn:
        raise TextError(f"{self._path}, line {self._number if line is None else line}: {said}")

    def _sizes(self) -> list[int]:
        """The `ngram k=N` lines, and on to the first section."""
        sizes: list[int] = []
        while not _SECTION.fullmatch(self._next()):
            found = _COUNT.fullmatch(self._stripped())
            if found is None or int(found[1]) != len(sizes) + 1:
                self._fail(f"expected 'ngram {len(sizes) + 1}=…' or \\1-grams:, found {self._shown()}")
            sizes.append(int(found[2]))
        if not 1 <= len(sizes) <= 20:
            self._fail(f"{len(sizes)} orders announced: expected 1 to 20")
        return sizes

    def _section(self, k: int, size: int, order: int) -> _Section:
        found = _SECTION.fullmatch(self._stripped())
        if found is None or int(found[1]) != k:
            self._fail(f"expected \\{k}-grams:, found {self._shown()}")
        section, count = _Section(array("q"), array("d"), array("d"), array("q")), 0
        while True:
            line = self._next()
            if not line or (line[0] == "\\" and (line == "\\end\\" or _SECTION.fullmatch(line))):
                break
            count += 1
            fields = line.replace("\t", " ").split(" ")
            if "" in fields or "\r" in line:
                fields = _WHITE.split(line)
            if not k + 1 <= len(fields) <= k + 2:
                self._fail(f"{len(fields)} fields: expected a probability, {k} words and at most a back-off weight")
            bow = self._log10(fields[-1]) if len(fields) == k + 2 and k < order else 0.0
            if k == 1:
                self._unigram(fields[1], fields[0], bow, section)
            else:
                self._ngram(fields[1 : k + 1], fields[0], bow, section)
        if count != size:
            self._fail(f"{count} {k}-grams stand here, {size} were announced: the file is cut off or was edited")
        if k == 1:
            self._number_symbols(section)
        return section

    def _unigram(self, word: str, p: str, bow: float, section: _Section) -> None:
        word = UNKNOWN if word == UNKNOWN.upper() else word
        if word in self._ids:
            self._fail(f"{word!r} is listed twice")
        self._ids[word] = len(section.log_p)
        section.log_p.append(0.0 if word == START else self._log_p(p))
        section.log_bow.append(bow)
        section.lines.append(self._number)

    def _number_symbols(self, section: _Section) -> None:
        """Ids in the order of the file; `<s>` and `</s>` share the last one."""
        places = self._ids
        self._symbols = [word for word in places if word not in (START, END)]
        self._ids = {word: i for i, word in enumerate(self._symbols)}
        self._places = {word: places[word] for word in (START, END) if word in places}
        if self._places:
            self._boundary = len(self._symbols)
            self._ids |= dict.fromkeys((START, END), self._boundary)

    def _ngram(self, words: list[str], p: str, bow: float, section: _Section) -> None:
        try:
            ids = [self._ids[word] for word in words]
        except KeyError:
            ids = [self._id(word) for word in words]
        if self._boundary in ids and (START in words[1:] or END in words[:-1]):
            return
        section.ids.extend(ids)
        section.log_p.append(self._log_p(p))
        section.log_bow.append(bow)
        section.lines.append(self._number)

    def _id(self, word: str) -> int:
        known = UNKNOWN if word == UNKNOWN.upper() else word
        if known not in self._ids:
            self._fail(f"the word {word!r} is not among the 1-grams")
        return self._ids[known]

    def _log10(self, field: str) -> float:
        plain = field if "." in field or field.count(",") != 1 else field.replace(",", ".")
        try:
            value = float(plain)
        except ValueError:
            value = math.nan
        if not value < math.inf or "_" in field:
            self._fail(f"{field!r} is no logarithm")
        return value

    def _log_p(self, field: str) -> float:
        value = self._log10(field)
        if value > 0:
            self._fail(f"log10 P = {field}: a probability above 1")
        return value

    def _made(self, sections: list[_Section]) -> Arpa:
        first = sections[0]
        symbols, boundary = list(self._symbols), None
        log_p, log_bow = np.array(first.log_p), np.array(first.log_bow)
        words = np.ones(len(log_p), np.bool_)
        words[list(self._places.values())] = False
        values: list[tuple[Floats, Floats]] = [(log_p[words], log_bow[words])]
        if self._bounded(sections):
            boundary = self._boundary
            symbols.append(END)
            end = log_p[self._places[END]] if END in self._places else -np.inf
            start = log_bow[self._places[START]] if START in self._places else 0.0
            values = [(np.append(log_p[words], end), np.append(log_bow[words], start))]
        if not symbols:
            self._fail("no words among the 1-grams")
        values += [(np.array(section.log_p), np.array(section.log_bow)) for section in sections[1:]]
        listed = [
            Listed(np.array(section.ids, np.int64).reshape(-1, k), p * LN10, bow * LN10)
            for k, (section, (p, bow)) in enumerate(zip(sections, values, strict=True), 1)
        ]
        listed[0] = listed[0]._replace(tokens=np.arange(len(symbols))[:, None])
        try:
            table = table_of(len(symbols), boundary, listed)
        except Twice as twice:
            self._fail(f"this {twice.order}-gram is listed twice", sections[twice.order - 1].lines[twice.row])
        return Arpa(symbols, BackoffModel(table), self._ids.get(UNKNOWN))

    def _bounded(self, sections: list[_Section]) -> bool:
        """Whether `<s>` and `</s>` mean anything: a stream's file has both, never used, at −99."""
        if not self._places:
            return False
        end = sections[0].log_p[self._places[END]] if END in self._places else -99.0
        start = sections[0].log_bow[self._places[START]] if START in self._places else 0.0
        return end > -99 or start != 0 or any(self._boundary in section.ids for section in sections[1:])


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
