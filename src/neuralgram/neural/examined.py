"""A network of any head in float64, NumPy in and out: what it says, why, and which gradients it gives.

Whoever explains a network whose P is no plain softmax of b + W x + U a asks here, weights in hand: the numbers
of the head come from the head itself, the gradients from autograd.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from neuralgram.explanation import Panel

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Examined:
    """A copy of a network; the weights it works with are given at each call, by state-dict key."""

    def __init__(self, model: NPLM) -> None:
        self._model = copy.deepcopy(model).cpu().double()
        self._parameters = dict(self._model.named_parameters())
        self.by_token = self._model.out.by_token
        for parameter in self._parameters.values():
            parameter.requires_grad_(True)

    def log_probs(self, weights: Mapping[str, Floats], contexts: Ints) -> Floats:
        """log P [B, V] after `contexts` [B, c]."""
        self._set(weights)
        return self._model.log_probs(contexts)

    def explain(self, weights: Mapping[str, Floats], context: Ints, words: Sequence[int]) -> tuple[Panel, ...]:
        """How the head makes P after the window `context` [c]; see `Head.explain`."""
        self._set(weights)
        with torch.no_grad():
            return self._model.out.explain(self._model.features(context[None, :]), words)

    def gradients(
        self, weights: Mapping[str, Floats], contexts: Ints, targets: Ints
    ) -> tuple[dict[str, Floats], Floats]:
        """Of the mean of −log P[target]: by state-dict key, and at the features f [B, F]."""
        self._set(weights)
        f_BF = self._model.features(contexts)
        loss = F.cross_entropy(self._model.out.logits(f_BF), torch.from_numpy(targets))
        found = torch.autograd.grad(loss, [f_BF, *self._parameters.values()], materialize_grads=True)
        by_features, *by_parameter = (_array(gradient) for gradient in found)
        return dict(zip(self._parameters, by_parameter, strict=True)), by_features

    @torch.no_grad()
    def _set(self, weights: Mapping[str, Floats]) -> None:
        for name, parameter in self._parameters.items():
            parameter.data = torch.tensor(weights[name])  # anew: what was told before keeps its numbers


def _array(values: Tensor) -> Floats:
    out: Floats = values.detach().numpy()
    return out
