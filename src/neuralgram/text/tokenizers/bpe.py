"""`bpe`: byte-level byte-pair encoding, learned by the `tokenizers` library; any input is valid, nothing is lost.

Tokens are byte strings: the 256 bytes and the merges learned, numbered by how often they occur in the sample they
were learned on (Sennrich, Haddow & Birch 2016; Radford et al. 2019 for the byte level).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.settings import check, setting
from neuralgram.text.pieces import Cut, cut_pieces, last_cut, utf8
from neuralgram.text.tokenizers.base import Tokenizer, library_tokenizer
from neuralgram.text.tokenizers.bytelevel import byte_letters, byte_level_json, byte_offsets, shown

SAMPLE = 16_000_000  # characters that merges are learned on: beyond this the vocabulary hardly changes
_BATCH = 1 << 16  # characters the library learns from as one text; several go to its threads at once
_CUTS = re.compile(r"(?=[ \n]\S)")  # where text may be cut: see `pieces.py`
_CACHE_LIMIT = 1 << 20
_LONG = 256  # characters of a chunk that is not worth remembering


@dataclass(frozen=True)
class BpeSettings:
    """How many tokens there are, and how many characters of the text (`sample`) they are learned from."""

    vocab_size: int = setting(8192, help="Tokens: the 256 bytes, and merges of them.", auto="by the size of the text")
    sample: int = SAMPLE

    def __post_init__(self) -> None:
        check(self)
        if self.vocab_size < 256:
            raise InputError(f"byte-pair vocabulary of {self.vocab_size}: expected at least 256, one token a byte")


class Bpe(Tokenizer):
    """Byte-pair tokens, from a `tokenizer.json` of the form that `train` makes: words are parted, nothing is added."""

    name: ClassVar[str] = "bpe"
    Settings: ClassVar[type[Any]] = BpeSettings
    by_bytes: ClassVar[bool] = True

    def __init__(self, text: str) -> None:
        vocab: dict[str, int] = json.loads(text)["model"]["vocab"]
        byte_of = {letter: b for b, letter in enumerate(byte_letters())}
        pieces = [bytes(byte_of[letter] for letter in token) for token in sorted(vocab, key=vocab.__getitem__)]
        super().__init__([shown(piece) for piece in pieces], pieces)
        self._text = text
        self._remembered: dict[str, tuple[int, ...]] = {}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], text: str) -> Self | None:
        """Of a file that differs from one of `to_json` in its vocabulary and merges alone."""
        model = spec["model"]
        if model["type"] != "BPE" or not set(byte_letters()) <= set(model["vocab"]):
            return None
        letters = set(byte_letters())
        whole = sorted(model["vocab"].values()) == list(range(len(model["vocab"])))
        if not whole or not all(set(token) <= letters for token in model["vocab"]):
            return None
        plain = json.loads(byte_level_json(model["vocab"], model["merges"], use_regex=True))
        return cls(text) if plain == spec else None

    @classmethod
    def train(cls, pieces: Iterable[str], **options: Any) -> Self:
        """Learns merges on the first `sample` characters of the text `pieces` until there are `vocab_size` tokens.

        A text too small for so many (a merge must occur twice) gives fewer.
        """
        settings: BpeSettings = cls.settings(options)
        vocab_size = settings.vocab_size
        texts = list(_first(pieces, settings.sample))
        utf8("".join(texts))
        merges = _learn(texts, vocab_size)
        plain = cls(_json(list(range(256 + len(merges))), merges))
        counts = np.zeros(plain.vocab_size, np.int64)
        for text in texts:
            counts += np.bincount(plain.look_up(text), minlength=plain.vocab_size)
        order = sorted(range(plain.vocab_size), key=lambda i: (-counts[i], plain.pieces[i]))
        return cls(_json(order, merges))

    def cut(self, boundary: str) -> Cut:
        """Between words."""
        return last_cut

    def look_up(self, text: str) -> NDArray[np.int64]:
        """Ids int64 [N]; what stands between two cuts is encoded by the library once and remembered."""
        utf8(text)  # the library's refusal of a lone surrogate names no place
        return self._ids_of(_CUTS.split(text))

    def look_up_lines(self, text: str) -> NDArray[np.int64]:
        """Ids of each line with vocab_size for every line end."""
        utf8(text)
        chunks: list[str] = []
        for line in text.split("\n"):
            chunks += [*_CUTS.split(line), "\n"]
        return self._ids_of(chunks[:-1], {"\n": (self.vocab_size,)})

    def _ids_of(self, chunks: list[str], known: dict[str, tuple[int, ...]] | None = None) -> NDArray[np.int64]:
        """The ids of chunks that are encoded by themselves; `known` stands above what the library says."""
        if len(self._remembered) > _CACHE_LIMIT:
            self._remembered.clear()
        distinct = set(chunks).difference(known or ())
        table = {chunk: self._remembered[chunk] for chunk in distinct if chunk in self._remembered} | (known or {})
        new = list(distinct.difference(table))
        for chunk, encoding in zip(new, self.library.encode_batch_fast(new, add_special_tokens=False), strict=True):
            table[chunk] = tuple(encoding.ids)
            if len(chunk) < _LONG:
                self._remembered[chunk] = table[chunk]
        return np.fromiter(chain.from_iterable(map(table.__getitem__, chunks)), np.int64)

    def encode_with_offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids [N] and the characters [N, 2] each token touches."""
        ids = self.look_up(text)
        return ids, byte_offsets(text, self.lengths[ids])

    def encode_unseen(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """No byte is unseen."""
        return self.encode_with_offsets(text)

    def to_json(self) -> str:
        """The `tokenizer.json` it was made from."""
        return self._text

    def for_page(self) -> dict[str, Any]:
        """The merges and the vocabulary."""
        model = self.to_spec()["model"]
        merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
        return {"merges": merges, "vocab": model["vocab"]}


def _first(pieces: Iterable[str], size: int) -> Iterator[str]:
    for piece in pieces:
        yield piece[:size]
        size -= len(piece)
        if size <= 0:
            return


def _learn(texts: list[str], vocab_size: int) -> list[tuple[str, str]]:
    """The merges, in the order they were learned; a pair must occur twice."""
    from tokenizers import models, pre_tokenizers, trainers

    learner = library_tokenizer(
        byte_level_json({letter: b for b, letter in enumerate(byte_letters())}, [], use_regex=True)
    )
    learner.model = models.BPE()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    learner.train_from_iterator(cut_pieces(texts, _BATCH), trainer)
    merges: list[Any] = json.loads(learner.to_str())["model"]["merges"]
    return [(left, right) for left, right in merges]


def _json(order: list[int], merges: list[tuple[str, str]]) -> str:
    """`order`: for each id, which of the 256 bytes and then the merges it is."""
    letters = byte_letters() + [left + right for left, right in merges]
    vocab = {letters[token]: i for i, token in enumerate(order)}
    return byte_level_json(vocab, [list(pair) for pair in merges], use_regex=True)
