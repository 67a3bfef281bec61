"""`chars`: one token a character (a Unicode code point)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neuralgram.text.tokenizers.base import UNKNOWN, UNSEEN, Tokenizer, tokenizer_json, utf8
from neuralgram.text.tokenizers.vocabulary import Cut, choose_vocabulary

EVERY_CHARACTER = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of `text`, uint32 [N]."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


class CharAtoms:
    """Characters before there is a vocabulary: an atom is a code point, a boundary is `mark`."""

    mark = 0x110000

    def __call__(self, text: str) -> NDArray[np.uint32]:
        """The atoms of `text`."""
        return code_points(text)

    def lines(self, text: str) -> NDArray[np.uint32]:
        """The atoms of `text` with `mark` for every line end."""
        codes = code_points(text).copy()
        codes[codes == ord("\n")] = self.mark
        return codes

    @property
    def size(self) -> int:
        """One more than the largest atom."""
        return self.mark + 1

    def symbol(self, atom: int) -> str:
        """The character of an atom."""
        return chr(atom)


class Chars(Tokenizer):
    """Characters in order of frequency, then of code point. `symbols` are characters, or the string `<unk>` once."""

    name: ClassVar[str] = "chars"

    def __init__(self, symbols: list[str]) -> None:
        unknown = symbols.index(UNKNOWN) if UNKNOWN in symbols else None
        super().__init__(symbols, [utf8(s) for s in symbols], unknown=unknown)
        missing = UNSEEN if unknown is None else unknown
        codes = [UNSEEN if s == UNKNOWN else ord(s) for s in symbols]
        self._table = np.full(max(codes) + 2, missing, np.int64)  # the last entry is for all larger code points
        self._table[[c for c in codes if c >= 0]] = [i for i, c in enumerate(codes) if c >= 0]

    @classmethod
    def train(
        cls,
        pieces: Iterable[str],
        *,
        held_out: Iterable[str] = (),
        min_count: int = 1,
        max_vocab: int | None = None,
        unknown: bool | Literal["auto"] = "auto",
    ) -> Chars:
        """Learns the characters of the text `pieces`; `held_out` is text that will be read later (see `Cut`)."""
        counts: Counter[str] = Counter()
        for piece in pieces:
            counts.update(piece)
        return cls.from_counts(
            counts, set().union(*held_out), min_count=min_count, max_vocab=max_vocab, unknown=unknown
        )

    @classmethod
    def from_counts(cls, counts: dict[str, int], held_out: Iterable[str] = (), **options: Any) -> Chars:
        """From how often each character occurs; `options` of `Cut`."""
        return cls(choose_vocabulary(counts, held_out, Cut(**options))[0])

    @staticmethod
    def atoms(**options: Any) -> CharAtoms:
        """What text is read as before there is a vocabulary."""
        return CharAtoms()

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

    @cached_property
    def _json(self) -> str:
        vocab = {symbol: i for i, symbol in enumerate(self._symbols)}
        model = {"type": "WordLevel", "vocab": vocab, "unk_token": UNKNOWN}
        return tokenizer_json(model, pre_tokenizer=EVERY_CHARACTER, decoder={"type": "Fuse"})


def _singles(count: int) -> NDArray[np.int64]:
    at = np.arange(count, dtype=np.int64)
    return np.stack([at, at + 1], axis=1)
