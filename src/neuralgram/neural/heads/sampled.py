"""The softmax over the target and k sampled words: importance sampling (Bengio & Senécal 2003; Jean et al. 2015).

    ℓ = −s_y + log(e^{s_y} + Σ_{noise w ≠ y} e^{s_w}/(k q_w))

The sum estimates Σ_{w ≠ y} e^{s_w} without bias, so loss and gradient approach the exact ones as k grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neuralgram.neural.heads.noise import NoiseHead, Objective
from neuralgram.neural.heads.softmax import smoothing


class SampledHead(NoiseHead):
    """Trained on the estimate."""

    @dataclass(frozen=True)
    class Settings(NoiseHead.Settings):
        """Of the noise, and label smoothing."""

        smoothing: float = smoothing()

    options: Settings

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """The sampled estimate of the (smoothed) cross-entropy."""
        return self.smoothed(super().loss(f_BF, y_B, rng), f_BF, y_B, self.options.smoothing)

    def shift(self, log_n_R: Tensor, log_kq_R: Tensor, y_B: Tensor) -> Tensor:
        """log n − log k q_w for noise drawn n times: n equal terms of the sum are one. Nothing for the targets."""
        return torch.cat([log_n_R - log_kq_R, log_kq_R.new_zeros(len(y_B))])

    def objective(self, noise_R: Tensor, log_n_R: Tensor, y_B: Tensor) -> Objective:
        """The cross-entropy of a softmax over [y | noise], in which noise that is y has no part."""
        place_B = torch.searchsorted(noise_R, y_B.contiguous()).clamp_(max=len(noise_R) - 1)
        drawn = (noise_R[place_B] == y_B).nonzero()[:, 0]  # examples whose target is among the noise
        place = place_B[drawn] + 1

        def softmax(scores: Tensor) -> tuple[Tensor, Tensor]:
            scores[drawn, place] = -torch.inf
            target_B, top_B = scores[:, 0].clone(), scores.amax(1)
            p = torch.softmax(scores, 1, out=scores)
            log_sum_B = top_B - p.amax(1).log()  # the highest score never underflows; the target's may
            p[:, 0] -= 1
            return log_sum_B - target_B, p

        return softmax
