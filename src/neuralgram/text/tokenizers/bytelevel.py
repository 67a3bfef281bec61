"""`bytes`: the bytes of the UTF-8 text (or of a raw file), id = byte value; any input is valid.

Also what it shares with `bpe`: the library writes a byte as a printable character, and tokens are byte strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from neuralgram.text.pieces import Cut, anywhere, utf8
from neuralgram.text.tokenizers.base import Tokenizer, tokenizer_json

NEWLINE = 10


def byte_letters() -> list[str]:
    """The letter by which the library's byte-level tokenizers write each byte, [256].

    Printable Latin-1 characters stand for themselves, the other bytes for U+0100 onwards in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(printable)]
    letters = {b: chr(b) for b in printable} | {b: chr(0x100 + i) for i, b in enumerate(others)}
    return [letters[b] for b in range(256)]


def shown(piece: bytes) -> str:
    """A token's bytes as text, each byte that is no part of a whole character as `<0xE2>`."""
    text = piece.decode("utf-8", "surrogateescape")
    return "".join(f"<0x{ord(ch) - 0xDC00:02X}>" if 0xDC80 <= ord(ch) <= 0xDCFF else ch for ch in text)


def byte_offsets(text: str, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Character offsets [N, 2] of tokens that are the consecutive byte strings of `text`, of `lengths` [N] bytes."""
    data = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
    starts = np.ones(len(data), bool) if len(data) == len(text) else _character_starts(text)
    character = np.cumsum(starts) - 1  # the character each byte belongs to
    stops = np.cumsum(lengths)
    return np.stack([character[stops - lengths], character[stops - 1] + 1], axis=1)


def _character_starts(text: str) -> NDArray[np.bool_]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1  # an escaped raw byte
    starts = np.zeros(int(sizes.sum()), bool)
    starts[np.cumsum(sizes) - sizes] = True
    return starts


class Bytes(Tokenizer):
    """Bytes of UTF-8, V = 256. Text read from files comes raw; what is no UTF-8 is carried as surrogate escapes."""

    name: ClassVar[str] = "bytes"
    characters: ClassVar[bool] = True
    raw: ClassVar[bool] = True

    def __init__(self) -> None:
        pieces = [bytes([b]) for b in range(256)]
        super().__init__([shown(piece) for piece in pieces], pieces)

    @classmethod
    def ready(cls) -> Self:
        """There is one."""
        return cls()

    @classmethod
    def train(cls, pieces: Iterable[str] = (), **options: Any) -> Self:
        """The one byte tokenizer; nothing is learned, `pieces` are not read."""
        cls.settings(options)
        return cls()

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], text: str) -> Self | None:
        """Of a file as `to_json` writes it."""
        made = cls()
        return made if made.to_spec() == spec else None

    def cut(self, boundary: str) -> Cut:
        """A byte is read by itself."""
        return anywhere

    def look_up(self, text: str) -> NDArray[np.int64]:
        """Byte values, int64 [N]."""
        return np.frombuffer(utf8(text, "surrogateescape"), np.uint8).astype(np.int64)

    def look_up_lines(self, text: str) -> NDArray[np.int64]:
        """Byte values with 256 for every line end."""
        ids = self.look_up(text)
        ids[ids == NEWLINE] = self.vocab_size
        return ids

    def encode_with_offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Byte values [N] and the offsets [N, 2] of the character each belongs to."""
        ids = self.look_up(text)
        return ids, byte_offsets(text, np.ones(len(ids), np.int64))

    def encode_unseen(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """No byte is unseen."""
        return self.encode_with_offsets(text)

    def to_json(self) -> str:
        """Byte-level BPE without a merge."""
        return self._json

    def for_page(self) -> dict[str, Any]:
        """Bytes of UTF-8: nothing to say."""
        return {}

    @cached_property
    def _json(self) -> str:
        vocab = {letter: b for b, letter in enumerate(byte_letters())}
        return byte_level_json(vocab, [], use_regex=False)


def byte_level_json(vocab: dict[str, int], merges: list[list[str]], *, use_regex: bool) -> str:
    """A byte-level BPE `tokenizer.json`; `use_regex` parts words first, so that no token spans two."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": use_regex}
    model: dict[str, Any] = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    model |= {"vocab": vocab, "merges": merges}
    return tokenizer_json(model, pre_tokenizer=level, decoder=level)
