"""The exact softmax: y = b + W x + U a, p = softmax(y). The default head."""

from __future__ import annotations

import torch
from torch import Tensor

from neuralgram.neural import kernels
from neuralgram.neural.heads.base import HeadInputs
from neuralgram.neural.heads.vectors import ScoreHead, check_options


class SoftmaxHead(ScoreHead):
    """Trained on the exact loss."""

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        check_options("softmax", inputs.options, ())

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """log Σ e^y − y_w in the model's precision, with gradients; `nll` is the same number."""
        return kernels.softmax_loss(f_BF, self.vectors(), self.bias, y_B, self.precision)
