"""What the benchmarks read: ids by Zipf's law, a chain of them, and the real corpora where they are."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram import Corpus
from neuralgram.text.corpora import Corpora, build_corpora
from neuralgram.text.samples import tales
from neuralgram.text.sources import Document, brown_documents

Ids = NDArray[np.integer[Any]]

CHAINS = 4096  # sentences that grow side by side, so that a chain costs a NumPy call a token and not a Python loop
SENTENCE = 24  # tokens, its end among them
_SUCCESSORS = 256  # what may follow a token, by Zipf's law


def data_file(name: str) -> Path | None:
    """A corpus in the folder NEURALGRAM_DATA (or ../shared/data), or None."""
    path = Path(os.environ.get("NEURALGRAM_DATA") or "../shared/data") / name
    return path if path.exists() else None


def zipf(vocab_size: int, count: int, seed: int = 0) -> NDArray[np.int32]:
    """`count` ids with P(id) ∝ 1/(id + 1)."""
    edges = np.cumsum(1 / np.arange(1.0, vocab_size + 1))
    draws = np.random.default_rng(seed).random(count) * edges[-1]
    ids: NDArray[np.int32] = np.searchsorted(edges, draws).clip(max=vocab_size - 1).astype(np.int32)
    return ids


def chain(vocab_size: int, count: int, seed: int = 0) -> Corpus:
    """About `count` tokens in sentences of 24: Zipf's law in the small and in the large, as texts have it.

    A token follows the one before it in half the cases and the two before it in the others. Each such context has 256
    successors, taken by Zipf's law, and which they are a hash of the context and the number decides, by Zipf's law
    again: so frequent n-grams repeat and new ones never cease to appear. The last id is the boundary.
    """
    rng = np.random.default_rng(seed)
    common = zipf(vocab_size - 1, 1 << 20, seed)  # a token of Zipf's law for each of so many hashes
    ids = np.empty((max(1, count // SENTENCE), SENTENCE), np.int32)
    for start in range(0, len(ids), CHAINS):
        sentences = ids[start : start + CHAINS]
        width = len(sentences)
        before = last = np.zeros(width, np.uint64)
        for place in range(SENTENCE - 1):
            number = zipf(_SUCCESSORS, width, int(rng.integers(1 << 31))).astype(np.uint64)
            context = np.where(rng.random(width) < 0.5, last, last * np.uint64(vocab_size) + before + np.uint64(1))
            token = common[_hash(context * np.uint64(_SUCCESSORS) + number) >> np.uint64(44)]
            sentences[:, place] = token
            before, last = last, token.astype(np.uint64)
    ids[:, -1] = vocab_size - 1
    return Corpus(ids.reshape(-1), vocab_size, vocab_size - 1)


def _hash(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014)."""
    z = (values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def brown_stream(path: Path) -> Corpus:
    """Every token of the Brown corpus in its order; ids by frequency, 0 the unknown symbol (seen up to 3 times)."""
    words = [word for _, paragraphs in brown_documents(path) for text in paragraphs for word in text.split()]
    kept = [word for word, count in Counter(words).most_common() if count > 3]
    number = {word: i for i, word in enumerate(kept, start=1)}
    return Corpus(np.array([number.get(word, 0) for word in words], np.int32), len(kept) + 1)


def parts(corpus: Corpus, train: int, valid: int) -> tuple[Corpus, Corpus]:
    """The first `train` tokens of a stream and the next `valid`."""
    V = corpus.vocab_size
    return Corpus(corpus.ids[:train], V), Corpus(corpus.ids[train : train + valid], V)


def sentences(quick: bool = False) -> tuple[str, Corpora]:
    """Brown a sentence a line, a tenth of them held out, or the embedded tales; and what the text is called."""
    path = None if quick else data_file("brown.zip")
    source = Document("tales", tales(3000 if quick else 1_000_000)) if path is None else path
    made = build_corpora([source], tokenizer="words", boundary="line", split="0.9,0.1", seed=0)
    return ("the embedded tales" if path is None else "Brown by sentences"), made
