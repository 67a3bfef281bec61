"""A network's weights at one moment, in NumPy: what every view but the training itself shows.

A view that holds a snapshot shows numbers of one step only, however fast the run goes on, and needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.explanation import Panel
from neuralgram.lessons.networks import FIVE, FIVE_WORDS, network
from neuralgram.lm import LanguageModel
from neuralgram.neural import panels
from neuralgram.neural.reference import Network
from neuralgram.text.tokenizers import Words
from neuralgram.text.windows import as_ids
from neuralgram.textmodel import TextModel


class Snapshot(LanguageModel):
    """A frozen network over ids, with the configuration and the weights of an `NPLM`; `step` says of which update."""

    kind: ClassVar[str] = "nplm"

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, NDArray[Any]], step: int = 0) -> None:
        self._config = dict(config)
        self.weights = {name: np.asarray(array, np.float64) for name, array in weights.items()}
        self._network = Network(self.weights, config["activation"], bool(config["tie"]))
        self.vocab_size = int(config["vocab"])
        self.context = int(config["context"])
        self.step = step

    @property
    def embeddings(self) -> NDArray[np.float64]:
        """C [V, m]."""
        return self.weights["emb.weight"]

    def config(self) -> dict[str, Any]:
        """The arguments that build the network."""
        return dict(self._config)

    def state(self) -> dict[str, NDArray[Any]]:
        """The weights by state-dict key."""
        return dict(self.weights)

    def network(self) -> Network:
        """The network whose weights these are."""
        return self._network

    @property
    def summary(self) -> str:
        """Its sizes and options, in a line."""
        return panels.summary(self._config)

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """log softmax(b + W x + U tanh(d + H x)), float64 [B, V]."""
        return self._network.forward(self.check_windows(contexts)).log_p

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context), [B]."""
        ids = as_ids(targets, self.vocab_size)
        return self._network.forward(self.check_windows(contexts, ids)).loss(ids)

    def explain(self, context: NDArray[np.int64], words: Sequence[int]) -> tuple[Panel, ...]:
        """Its vectors, layers, scores and probabilities after one window `context` [c]."""
        return panels.explain(self._network, self._network.forward(np.asarray(context, np.int64)), words)


def snapshot_of(model: Any, step: int = 0) -> Snapshot:
    """A copy of a network's weights as they are now."""
    return Snapshot(model.config(), {name: array.copy() for name, array in model.state().items()}, step)


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
