"""A network's weights at one moment, in NumPy: what every view but the training itself shows.

A view that holds a snapshot shows numbers of one step only, however fast the run goes on, and needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.lessons.networks import FIVE, FIVE_WORDS, network
from neuralgram.lm import LanguageModel
from neuralgram.text.tokenizers import Words
from neuralgram.text.windows import as_ids
from neuralgram.textmodel import TextModel
from neuralgram.tracing.network import Network


class _Parameter(NamedTuple):
    requires_grad: bool = True


class Snapshot(LanguageModel):
    """A frozen network over ids, with the configuration and the weights of an `NPLM`; `step` says of which update."""

    kind: ClassVar[str] = "nplm"
    linear: ClassVar[bool] = True  # what the explorer trains

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, NDArray[Any]], step: int = 0) -> None:
        self._config = dict(config)
        self.weights = {name: np.asarray(array, np.float64) for name, array in weights.items()}
        self.network = Network(self.weights, config["activation"], bool(config["tie"]))
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

    def named_parameters(self) -> Iterator[tuple[str, _Parameter]]:
        """Every weight's name, all of them trained: what tells a trace that none is frozen."""
        return ((name, _Parameter()) for name in self.weights)

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """log softmax(b + W x + U tanh(d + H x)), float64 [B, V]."""
        y_BV = self.scores(self.check_windows(contexts))
        highest = y_BV.max(axis=1, keepdims=True)
        return np.asarray(y_BV - highest - np.log(np.exp(y_BV - highest).sum(axis=1, keepdims=True)), np.float64)

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context), [B]."""
        ids = as_ids(targets, self.vocab_size)
        return np.asarray(-self.log_probs(contexts)[np.arange(len(ids)), ids], np.float64)

    def scores(self, ids_Bc: NDArray[np.int64]) -> NDArray[np.float64]:
        """y [B, V]."""
        w, network = self.weights, self.network
        x_BX = w["emb.weight"][ids_Bc].reshape(len(ids_Bc), -1)
        a_BH = x_BX
        for name in network.layers:
            a_BH = network.activation.f(w[f"{name}.bias"] + a_BH @ w[f"{name}.weight"].T)
        y_BV = np.tile(w["out.bias"], (len(ids_Bc), 1))
        if network.output is not None and network.layers:
            g_BH = a_BH @ w["project.weight"].T if "project.weight" in w else a_BH
            y_BV += g_BH @ network.output.T
        if "direct.weight" in w:
            y_BV += x_BX @ w["direct.weight"].T
        return y_BV


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
