"""The exact softmax: y = b + W x + U a, p = softmax(y). The default head."""

from __future__ import annotations

import torch
from torch import Tensor

from neuralgram.neural import kernels
from neuralgram.neural.heads.base import HeadInputs
from neuralgram.neural.heads.vectors import ScoreHead, check_options, check_smoothing


class SoftmaxHead(ScoreHead):
    """Trained on the exact loss. Option: `smoothing` (0), the share of each target left to all tokens alike."""

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        check_options("softmax", inputs.options, ("smoothing",))
        self.smoothing = check_smoothing(inputs.options.get("smoothing", 0.0))

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """log Σ e^y − y_w in the model's precision, with gradients; without smoothing `nll` is the same number."""
        loss_B = kernels.softmax_loss(f_BF, self.vectors(), self.bias, y_B, self.precision)
        return self.smoothed(loss_B, f_BF, y_B, self.smoothing)
