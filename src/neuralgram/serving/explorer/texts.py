"""A text made ready to train on: tokens, training and held-out part, and the n-gram to beat. No PyTorch here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from neuralgram.errors import InputError, NeuralgramError
from neuralgram.lm import perplexity
from neuralgram.ngram.add_k import AddK, tune
from neuralgram.serving.explorer.settings import Limits, Settings
from neuralgram.text.corpora import build_corpora
from neuralgram.text.samples import SAMPLES
from neuralgram.text.sources import text_document
from neuralgram.text.tokenizers import Tokenizer
from neuralgram.text.windows import Corpus, Windows

_ORDERS = 6  # the add-k n-gram is tuned over n = 1 … 6
_SPLIT = "0.9,0.1"
_TALES = 3_000  # words of the small tales
_BPE = 512  # tokens of a byte-pair vocabulary on a page's small texts


@dataclass(frozen=True, eq=False)
class Ready:
    """A text as ids, and the best add-k n-gram on it.

    add_k, add_k_loss   tuned over n and k on the held-out part; its nats per token there
    first               the first held-out token that is scored, the same for the network and the n-gram
    """

    text: str
    tokenizer: Tokenizer
    boundary: str
    train: Corpus
    valid: Corpus
    add_k: AddK
    add_k_loss: float
    first: int

    @property
    def vocab_size(self) -> int:
        """V, the boundary symbol included."""
        return self.train.vocab_size

    def held_out(self, context: int) -> Windows:
        """The held-out windows that are scored."""
        return self.valid.windows(context, self.first if self.valid.boundary is None else None)


def sample_text(name: str) -> str:
    """The embedded sample `animals`, `story` or `tales`."""
    return SAMPLES[name](_TALES, 0) if name == "tales" else SAMPLES[name]()


def prepare(settings: Settings, own_text: str, limits: Limits) -> Ready:
    """The text of `settings`, ready for its window. `NeuralgramError` says what is wrong with a visitor's own."""
    if settings.own:
        limits.check_text(own_text)
        return _ready(own_text, settings.tokens, settings.by_line, settings.context, limits)
    return _sample(settings.sample, settings.tokens, settings.by_line, settings.context, limits)


@lru_cache(maxsize=24)
def _sample(name: str, tokens: str, by_line: bool, context: int, limits: Limits) -> Ready:
    return _ready(sample_text(name), tokens, by_line, context, limits)


def _ready(text: str, tokens: str, by_line: bool, context: int, limits: Limits) -> Ready:
    boundary = "line" if by_line else "stream"
    options: dict[str, dict[str, Any]] = {"bpe": {"vocab_size": _BPE}, "words": {"split_punctuation": True}}
    try:
        made = build_corpora(
            [text_document(text)],
            tokenizer=tokens,
            options=options.get(tokens, {}),
            boundary=boundary,
            split=_SPLIT,
            vocab_from="all",
            seed=0,
        )
    except NeuralgramError as error:
        raise InputError(f"this text cannot be read that way: {error}") from None
    if made.valid is None:
        raise InputError("this text is too short to hold a tenth of it out: give some more")
    limits.check_size(made.vocab_size, 0)
    tuned = tune(made.train, made.valid, _ORDERS)
    add_k = AddK.fit(made.train, tuned.order, k=tuned.k)
    first = max(context, tuned.order - 1)
    windows = made.valid.windows(add_k.context, first if boundary == "stream" else None)
    if not len(windows) or len(made.train) <= context:
        raise InputError(
            f"{len(made.train)} training and {len(made.valid)} held-out tokens are too few for a window of {context}: "
            "give some more text or a smaller window"
        )
    loss = float(np.mean(add_k.score(windows)))
    return Ready(text, made.tokenizer, boundary, made.train, made.valid, add_k, loss, first)


def nats_and_perplexity(nats: float) -> str:
    """`2.773 nats, perplexity 16`."""
    return f"{nats:.3f} nats, perplexity {perplexity(nats, 1):.4g}"
