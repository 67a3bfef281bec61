"""The exact softmax: y = b + W x + U a, p = softmax(y). The default head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuralgram.errors import InputError
from neuralgram.neural import kernels
from neuralgram.neural.heads.base import Head, HeadInputs
from neuralgram.neural.initial import small


class SoftmaxHead(Head):
    """`weight` (U, [V, h], where the head owns vectors) and `bias` (b, [V]); W or C are borrowed."""

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        if inputs.options:
            raise InputError(f"head options {sorted(inputs.options)}: the softmax head has none")
        if inputs.own:
            self.weight = nn.Parameter(small(inputs.rng, inputs.vocab_size, inputs.own))
        self.bias = nn.Parameter(torch.zeros(inputs.vocab_size))
        self._shared = list(inputs.shared)  # in a list, so that they are not registered a second time

    def vectors(self) -> list[Tensor]:
        """The output vectors by columns: [U, W], [U], [W], [C, W] or [C]; joined they are [V, F]."""
        own: list[Tensor] = [self.weight] if hasattr(self, "weight") else []
        return own + list(self._shared)

    def logits(self, f_BF: Tensor) -> Tensor:
        """y = b + [U W] f."""
        return nn.functional.linear(f_BF, torch.cat(self.vectors(), 1), self.bias)

    def log_probs(self, f_BF: Tensor) -> Tensor:
        """log softmax(y), normalised in float64."""
        return self.logits(f_BF).double().log_softmax(1)

    def nll(self, f_BF: Tensor, y_B: Tensor) -> Tensor:
        """log Σ e^y − y_w in float64, a block of rows at a time."""
        return kernels.softmax_nll(f_BF, self.vectors(), self.bias, y_B)

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """The same number in the model's precision, with gradients."""
        return kernels.softmax_loss(f_BF, self.vectors(), self.bias, y_B)
