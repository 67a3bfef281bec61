"""`chars`: one token a character (a Unicode code point)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from neuralgram.text.pieces import Cut, anywhere
from neuralgram.text.tokenizers.base import UNKNOWN, UNSEEN, Tokenizer, tokenizer_json, utf8, word_level_symbols
from neuralgram.text.tokenizers.vocabulary import Limits, choose_vocabulary

EVERY_CHARACTER = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of `text`, uint32 [N]."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


class CodePoints:
    """Characters before there is a vocabulary, by their code points; a boundary is `mark`."""

    mark = 0x110000
    line_ends = (ord("\n"),)
    cut = staticmethod(anywhere)

    def __call__(self, text: str) -> NDArray[np.uint32]:
        """The code points of `text`."""
        return code_points(text)

    def lines(self, text: str) -> NDArray[np.uint32]:
        """The code points of `text` with `mark` for every line end."""
        codes = code_points(text).copy()
        codes[codes == ord("\n")] = self.mark
        return codes

    @property
    def size(self) -> int:
        """One more than the largest number."""
        return self.mark + 1

    def symbol(self, number: int) -> str:
        """The character of a code point."""
        return chr(number)


class Chars(Tokenizer):
    """Characters in order of frequency, then of code point. `symbols` are characters, or the string `<unk>` once."""

    name: ClassVar[str] = "chars"
    Settings: ClassVar[type[Any]] = Limits
    characters: ClassVar[bool] = True

    def __init__(self, symbols: list[str]) -> None:
        unknown = symbols.index(UNKNOWN) if UNKNOWN in symbols else None
        super().__init__(symbols, [utf8(s) for s in symbols], unknown=unknown)
        missing = UNSEEN if unknown is None else unknown
        codes = [UNSEEN if s == UNKNOWN else ord(s) for s in symbols]
        self._table = np.full(max(codes) + 2, missing, np.int64)  # the last entry is for all larger code points
        self._table[[c for c in codes if c >= 0]] = [i for i, c in enumerate(codes) if c >= 0]

    @classmethod
    def train(cls, pieces: Iterable[str], *, held_out: Iterable[str] = (), **options: Any) -> Self:
        """Learns the characters of the text `pieces`; `held_out` is text that will be read later (see `Limits`)."""
        counts: Counter[str] = Counter()
        for piece in pieces:
            counts.update(piece)
        return cls.from_counts(counts, set().union(*held_out), cls.settings(options))

    @classmethod
    def numbering(cls, settings: Limits) -> CodePoints:
        """Code points."""
        return CodePoints()

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], held_out: Iterable[str], settings: Limits) -> Self:
        """From how often each character occurs."""
        return cls(choose_vocabulary(counts, held_out, settings)[0])

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], text: str) -> Self | None:
        """Of a file as `to_json` writes it."""
        symbols = word_level_symbols(spec)
        if symbols is None or any(len(symbol) != 1 and symbol != UNKNOWN for symbol in symbols):
            return None
        made = cls(symbols)
        return made if made.to_spec() == spec else None

    def cut(self, boundary: str) -> Cut:
        """A character is read by itself."""
        return anywhere

    def look_up(self, text: str) -> NDArray[np.int64]:
        """Ids int64 [N], by one table of code points."""
        return self._table[np.minimum(code_points(text), len(self._table) - 1)]

    def look_up_lines(self, text: str) -> NDArray[np.int64]:
        """Ids with vocab_size for every line end."""
        codes = code_points(text)
        ids = self._table[np.minimum(codes, len(self._table) - 1)]
        ids[codes == ord("\n")] = self.vocab_size
        return ids

    def encode_with_offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids [N] and offsets [N, 2]: (0, 1), (1, 2), …"""
        ids = self.encode(text)
        return ids, _singles(len(ids))

    def encode_unseen(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `encode_with_offsets`, with −1 for unseen characters."""
        return self.look_up(text), _singles(len(text))

    def to_json(self) -> str:
        """A word-level model whose words are the single characters."""
        return self._json

    def for_page(self) -> dict[str, Any]:
        """Every character by itself: nothing to say."""
        return {}

    @cached_property
    def _json(self) -> str:
        vocab = {symbol: i for i, symbol in enumerate(self._symbols)}
        model = {"type": "WordLevel", "vocab": vocab, "unk_token": UNKNOWN}
        return tokenizer_json(model, pre_tokenizer=EVERY_CHARACTER, decoder={"type": "Fuse"})


def _singles(count: int) -> NDArray[np.int64]:
    at = np.arange(count, dtype=np.int64)
    return np.stack([at, at + 1], axis=1)
