"""Noise-contrastive estimation (Gutmann & Hyvärinen 2012; Mnih & Teh 2012; Vaswani et al. 2013).

    ℓ = −log σ(s_y − log k q_y) − Σ_{noise w} log σ(−(s_w − log k q_w))

A word is to be told from k noise words by e^s alone, as if it were a probability; so that is what it learns to be.
As k grows the expected gradient approaches Σ_w e^{s_w} ∇s_w − ∇s_y, the exact one where Z = Σ e^s = 1.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuralgram.neural.heads.base import HeadInputs
from neuralgram.neural.heads.noise import NoiseHead, Objective


class NCEHead(NoiseHead):
    """b starts at −log V, where Z is 1."""

    self_normalised: ClassVar[bool] = True

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        nn.init.constant_(self.bias, -math.log(inputs.vocab_size))

    def shift(self, log_n_R: Tensor, log_kq_R: Tensor, y_B: Tensor) -> Tensor:
        """−log k q_w for every word, noise or target."""
        return -torch.cat([log_kq_R, self.noise.log_q[y_B] + math.log(self.options.samples)])

    def objective(self, noise_R: Tensor, log_n_R: Tensor, y_B: Tensor) -> Objective:
        """Logistic losses: of the target as a word, of each noise word as noise, n times where drawn n times."""

        def logistic(scores: Tensor) -> tuple[Tensor, Tensor]:
            loss_B = F.softplus(scores[:, 1:]) @ log_n_R.exp() + F.softplus(-scores[:, 0])
            slope = scores.sigmoid_()
            slope[:, 1:] *= log_n_R.exp()
            slope[:, 0] -= 1
            return loss_B, slope

        return logistic
