"""A tokenizer as a reader might add one: this file, and one line in `families.TOKENIZERS`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from neuralgram.settings import check, setting
from neuralgram.text.pieces import utf8
from neuralgram.text.tokenizers.base import UNKNOWN, Tokenizer, tokenizer_json, word_level_symbols


class Chunks(Tokenizer):
    """A text in chunks of so many characters, from its first on; a chunk that training lacks is unknown."""

    name = "chunks"

    @dataclass(frozen=True)
    class Settings:
        size: int = setting(2, help="Characters of a chunk.", low=1)

        def __post_init__(self):
            check(self)

    def __init__(self, symbols, size):
        super().__init__(symbols, [utf8(symbol) for symbol in symbols], unknown=symbols.index(UNKNOWN))
        self.size = size

    @classmethod
    def train(cls, pieces, **options):
        text, size = "".join(pieces), cls.settings(options).size
        counts = Counter(text[i : i + size] for i in range(0, len(text), size))
        return cls([*sorted(counts, key=lambda chunk: (-counts[chunk], chunk)), UNKNOWN], size)

    @classmethod
    def from_spec(cls, spec, text):
        symbols, before = word_level_symbols(spec), spec.get("pre_tokenizer") or {}
        return cls(symbols, before["length"]) if symbols and before.get("type") == "FixedLength" else None

    def to_json(self):
        model = {"type": "WordLevel", "vocab": {s: i for i, s in enumerate(self._symbols)}, "unk_token": UNKNOWN}
        chunks = {"type": "FixedLength", "length": self.size}
        return tokenizer_json(model, pre_tokenizer=chunks, decoder={"type": "Fuse"})

    def look_up(self, text):
        return self.encode_unseen(text)[0]

    def look_up_lines(self, text):
        lines = [part for line in text.split("\n") for part in (self.look_up(line), [self.vocab_size])]
        return np.concatenate(lines[:-1])

    def encode_with_offsets(self, text):
        return self.encode_unseen(text)

    def encode_unseen(self, text):
        utf8(text)
        starts = np.arange(0, len(text), self.size)
        ids = [self._ids.get(text[i : i + self.size], self.unknown) for i in starts]
        return np.array(ids, np.int64), np.stack([starts, np.minimum(starts + self.size, len(text))], axis=1)
