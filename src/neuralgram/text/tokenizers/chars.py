"""`chars`: one token a character (a Unicode code point).

Also what it shares with `words`: which symbols a vocabulary keeps, and in which order, by frequency and then by code
point. Nothing depends on the order in which symbols were met, nor on hashing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.settings import check, setting
from neuralgram.text.pieces import Cut, anywhere, utf8
from neuralgram.text.tokenizers.base import UNKNOWN, UNSEEN, Tokenizer, tokenizer_json, word_level_symbols

EVERY_CHARACTER = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}

# Written in a text, these strings are no ordinary words: they are read as the unknown symbol.
RESERVED = ("<s>", "</s>", UNKNOWN)


@dataclass(frozen=True)
class Limits:
    """What a vocabulary leaves out.

    unknown    whether an unknown symbol exists; "auto": where the cut, a reserved string or held-out text needs it
    """

    min_count: int = setting(1, help="Symbols seen less often become the unknown symbol.")
    max_vocab: int | None = setting(
        None, option="vocab_size", help="At most so many symbols, the unknown symbol among them.", auto="no limit"
    )
    unknown: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        check(self)
        if self.unknown not in (True, False, "auto"):
            raise InputError(f"unknown {self.unknown!r}: expected True, False or 'auto'")
        if self.min_count < 1:
            raise InputError(f"minimum count {self.min_count}: expected 1 (keep everything) or more")
        if self.max_vocab is not None and self.max_vocab < 2:
            raise InputError(f"largest vocabulary {self.max_vocab}: expected at least 2 symbols")


def choose_vocabulary(
    counts: Mapping[str, int], held_out: Iterable[str], limits: Limits
) -> tuple[list[str], int | None]:
    """Symbols in id order, and the id of `<unk>` among them (or None).

    `counts`: how often each symbol occurs in training; `held_out`: the symbols of other text, met later.
    The unknown symbol stands where its own count (all that it replaces) puts it.
    """
    ranked = sorted((-n, s) for s, n in counts.items() if n >= limits.min_count and s not in RESERVED)
    if not ranked:
        raise TextError(f"no symbol occurs {limits.min_count} times: expected some text (or a smaller minimum count)")
    limit = len(ranked) if limits.max_vocab is None else limits.max_vocab
    is_cut = len(ranked) < len(counts) or len(ranked) > limit
    if is_cut and limits.unknown is False:
        raise InputError(
            f"{len(counts)} symbols, of which some are left out, and no unknown symbol to read them as: expected "
            f"unknown True or 'auto', or no cut and no {', '.join(RESERVED)} in the text"
        )
    if limits.unknown is True or (limits.unknown == "auto" and (is_cut or not counts.keys() >= set(held_out))):
        ranked = ranked[: limit - 1] if limits.max_vocab is not None else ranked
        kept = -sum(n for n, _ in ranked)
        ranked = sorted([*ranked, (kept - sum(counts.values()), UNKNOWN)])
    symbols = [s for _, s in ranked]
    return symbols, symbols.index(UNKNOWN) if UNKNOWN in symbols else None


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
