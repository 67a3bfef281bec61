"""`words`: what stands between white space, optionally with punctuation split off and in lower case.

White space is Unicode's White_Space, as the `tokenizers` library has it (`str.split` also splits at four control
characters). Each distinct chunk between white space is worked out once and remembered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from neuralgram.settings import setting
from neuralgram.text.pieces import Cut, last_cut, utf8
from neuralgram.text.tokenizers.base import UNKNOWN, UNSEEN, Tokenizer, tokenizer_json, word_level_symbols
from neuralgram.text.tokenizers.chars import Limits, choose_vocabulary

CHUNK = re.compile("[^\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
NOT_WHITE_SPACE = re.compile("[\x1c-\x1f]")  # str.split takes these for white space

# A punctuation mark or symbol is split off unless letters, marks or digits stand on both sides (don't, 3.5, re-read).
PUNCTUATION = r"(?<![\p{L}\p{M}\p{N}])[\p{P}\p{S}]|[\p{P}\p{S}](?![\p{L}\p{M}\p{N}])"
_ASCII_PUNCTUATION = re.compile(r"(?<![0-9A-Za-z])[!-/:-@\[-`{-~]|[!-/:-@\[-`{-~](?![0-9A-Za-z])")

_LINE_END = "\ud800"  # stands for a line end among chunks; no text holds it
_CACHE_LIMIT = 1 << 20


def chunks(text: str) -> list[str]:
    """What stands between white space."""
    return text.split() if NOT_WHITE_SPACE.search(text) is None else CHUNK.findall(text)


class Splitter:
    """From a chunk between white space to its words and where they stand."""

    def __init__(self, lowercase: bool = False, split_punctuation: bool = False) -> None:
        self.lowercase = lowercase
        self.split_punctuation = split_punctuation

    def words(self, chunk: str) -> list[str]:
        """The words of a chunk."""
        return [word for word, _ in self.placed(chunk)] if self.split_punctuation else [self.lower(chunk)]

    def lower(self, word: str) -> str:
        """Lower case, character by character as the library has it (Python's depends on the place of a sigma)."""
        if not self.lowercase:
            return word
        return word.lower() if word.isascii() else str(self._library_lower.normalize_str(word))

    def placed(self, chunk: str) -> list[tuple[str, tuple[int, int]]]:
        """The words of a chunk, each with its first character and the one after its last."""
        if not self.split_punctuation:
            return [(self.lower(chunk), (0, len(chunk)))]
        if chunk.isascii():
            edges = sorted({0, len(chunk)}.union(*(m.span() for m in _ASCII_PUNCTUATION.finditer(chunk))))
            spans = list(pairwise(edges))
        else:
            spans = [span for _, span in self._library_split.pre_tokenize_str(chunk)]
        return [(self.lower(chunk[i:j]), (i, j)) for i, j in spans]

    @cached_property
    def _library_lower(self) -> Any:
        from tokenizers import normalizers

        return normalizers.Lowercase()

    @cached_property
    def _library_split(self) -> Any:
        from tokenizers import Regex, pre_tokenizers

        return pre_tokenizers.Split(Regex(PUNCTUATION), "isolated")


class _Remembered(dict[str, tuple[int, ...]]):
    """chunk → ids, each worked out once; `ids` runs over a whole text in C."""

    def __init__(self, find: Callable[[str], tuple[int, ...]]) -> None:
        self._find = find

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        ids = self[chunk] = self._find(chunk)
        return ids

    def ids(self, text: str, dtype: type[np.integer[Any]], lines: bool) -> NDArray[Any]:
        if _LINE_END in text:
            utf8(text)  # refuses it
        parts = chunks(text.replace("\n", f" {_LINE_END} ") if lines else text)
        return np.fromiter(chain.from_iterable(map(self.__getitem__, parts)), dtype)


class WordNumbering:
    """Words before there is a vocabulary, numbered as they are met; a boundary is 0."""

    mark = 0
    line_ends: tuple[int, ...] = ()
    cut = staticmethod(last_cut)

    def __init__(self, splitter: Splitter) -> None:
        self._splitter = splitter
        self._numbers = {_LINE_END: self.mark}
        self._symbols = [_LINE_END]
        self._remembered = _Remembered(self._find)

    def _find(self, chunk: str) -> tuple[int, ...]:
        if chunk == _LINE_END:
            return (self.mark,)
        return tuple(self._number(word) for word in self._splitter.words(chunk))

    def _number(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self._numbers))
        if number == len(self._symbols):
            self._symbols.append(word)
        return number

    def __call__(self, text: str) -> NDArray[np.uint32]:
        """The numbers of the words of `text`."""
        return self._remembered.ids(text, np.uint32, lines=False)

    def lines(self, text: str) -> NDArray[np.uint32]:
        """The same with `mark` for every line end."""
        return self._remembered.ids(text, np.uint32, lines=True)

    @property
    def size(self) -> int:
        """One more than the largest number so far."""
        return len(self._symbols)

    def symbol(self, number: int) -> str:
        """The word of a number."""
        return self._symbols[number]


@dataclass(frozen=True)
class WordSettings(Limits):
    """How words are split, and what the vocabulary leaves out."""

    lowercase: bool = setting(False, help="Words in lower case.")
    split_punctuation: bool = setting(False, help="Punctuation is split off words.")


class Words(Tokenizer):
    """Words in order of frequency, then of code points.

    The strings `<s>`, `</s>` and `<unk>` in a text are never words of the vocabulary: they are read as the unknown
    symbol where there is one and refused where there is none.
    """

    name: ClassVar[str] = "words"
    Settings: ClassVar[type[Any]] = WordSettings
    joiner: ClassVar[str] = " "

    def __init__(self, symbols: list[str], *, lowercase: bool = False, split_punctuation: bool = False) -> None:
        loses = "white space is collapsed" + (", letters are lower-cased" if lowercase else "")
        unknown = symbols.index(UNKNOWN) if UNKNOWN in symbols else None
        super().__init__(symbols, [utf8(s) for s in symbols], unknown=unknown, loses=loses)
        self.splitter = Splitter(lowercase, split_punctuation)
        self._missing = UNSEEN if unknown is None else unknown
        self._remembered = _Remembered(self._find)

    def _find(self, chunk: str) -> tuple[int, ...]:
        if chunk == _LINE_END:
            return (self.vocab_size,)
        return tuple(self._ids.get(word, self._missing) for word in self.splitter.words(chunk))

    @classmethod
    def train(cls, pieces: Iterable[str], *, held_out: Iterable[str] = (), **options: Any) -> Self:
        """Learns the words of the text `pieces`; `held_out` is text that will be read later (see `Limits`)."""
        settings = cls.settings(options)
        splitter = Splitter(settings.lowercase, settings.split_punctuation)
        counts, later = (_count(texts, splitter) for texts in (pieces, held_out))
        return cls.from_counts(counts, later, settings)

    @classmethod
    def numbering(cls, settings: WordSettings) -> WordNumbering:
        """Words as they are met."""
        return WordNumbering(Splitter(settings.lowercase, settings.split_punctuation))

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], held_out: Iterable[str], settings: WordSettings) -> Self:
        """From how often each word occurs."""
        symbols, _ = choose_vocabulary(counts, held_out, settings)
        return cls(symbols, lowercase=settings.lowercase, split_punctuation=settings.split_punctuation)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], text: str) -> Self | None:
        """Of a file as `to_json` writes it."""
        symbols = word_level_symbols(spec)
        if symbols is None:
            return None
        splits = (spec.get("pre_tokenizer") or {}).get("type") == "Sequence"
        made = cls(symbols, lowercase=spec.get("normalizer") is not None, split_punctuation=splits)
        return made if made.to_spec() == spec else None

    def cut(self, boundary: str) -> Cut:
        """Between words."""
        return last_cut

    def look_up(self, text: str) -> NDArray[np.int64]:
        """Ids int64 [N]."""
        return self._remembered.ids(text, np.int64, lines=False)

    def look_up_lines(self, text: str) -> NDArray[np.int64]:
        """Ids with vocab_size for every line end."""
        return self._remembered.ids(text, np.int64, lines=True)

    def encode_with_offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids [N] and the characters [N, 2] each word stands at."""
        self.encode(text)
        return self.encode_unseen(text)

    def encode_unseen(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `encode_with_offsets`, with −1 for unseen words."""
        ids, offsets = [], []
        for match in CHUNK.finditer(text):
            for word, (start, stop) in self.splitter.placed(match.group()):
                ids.append(self._ids.get(word, self._missing))
                offsets.append((match.start() + start, match.start() + stop))
        return np.array(ids, np.int64), np.array(offsets, np.int64).reshape(-1, 2)

    def to_json(self) -> str:
        """A word-level model."""
        return self._json

    def for_page(self) -> dict[str, Any]:
        """Whether words are in lower case, and punctuation is split off."""
        return {"lowercase": self.splitter.lowercase, "punctuation": self.splitter.split_punctuation}

    @cached_property
    def _json(self) -> str:
        vocab = {symbol: i for i, symbol in enumerate(self._symbols)}
        split: dict[str, Any] = {"type": "WhitespaceSplit"}
        if self.splitter.split_punctuation:
            marks = {"type": "Split", "pattern": {"Regex": PUNCTUATION}, "behavior": "Isolated", "invert": False}
            split = {"type": "Sequence", "pretokenizers": [split, marks]}
        model = {"type": "WordLevel", "vocab": vocab, "unk_token": UNKNOWN}
        lower = {"type": "Lowercase"} if self.splitter.lowercase else None
        return tokenizer_json(model, normalizer=lower, pre_tokenizer=split)


def _count(texts: Iterable[str], splitter: Splitter) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update(chunks(text))
    words: Counter[str] = Counter()
    for chunk, n in counted.items():
        for word in splitter.words(chunk):
            words[word] += n
    return words
