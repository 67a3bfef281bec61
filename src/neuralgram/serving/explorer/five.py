"""The five-word network of the lessons as a model: it is there at once, before PyTorch is."""

from __future__ import annotations

from neuralgram.lessons.networks import FIVE, FIVE_WORDS, network
from neuralgram.serving.explorer.snapshot import Snapshot
from neuralgram.text.tokenizers import Words
from neuralgram.textmodel import TextModel


def five_words() -> TextModel:
    """V = 5, c = 2, m = 2, h = 2, no direct path: small enough to follow every number."""
    weights = network({name: parameter.value for name, parameter in FIVE_WORDS.parameters.items()}).weights
    V, m = weights["emb.weight"].shape
    h, X = weights["hidden.weight"].shape
    config = {
        "vocab": V,
        "context": X // m,
        "d_emb": m,
        "d_hidden": h,
        "direct": False,
        "activation": "tanh",
        "tie": False,
        "head": "softmax",
    }
    return TextModel(Snapshot(config, weights), Words(list(FIVE)), "stream")
