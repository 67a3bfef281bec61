"""The mixture of softmaxes (Yang et al. 2018): K softmaxes over the same output vectors, weighted by the window.

    P(w | f) = Σ_k π_k · softmax(b + W x + U a_k)_w,   π = softmax(M f + e),   a_k = tanh(P_k a + q_k)

The log of a sum of exponentials is no linear function of the features, so the matrix of log-probabilities over
contexts is not held to rank h + 2. Where the output vectors are tied, C stands in U's place; without a hidden layer
x itself is moved, one x_k a component.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuralgram.explanation import Panel, Quantity
from neuralgram.neural import kernels
from neuralgram.neural.heads.base import HeadInputs
from neuralgram.neural.heads.softmax import VectorHead, letters, numbers, scored
from neuralgram.neural.initial import small, uniform
from neuralgram.settings import setting


class MoSHead(VectorHead):
    """`weight`, `bias` as in the softmax head; of the components `part_weight` [K·n, n]
    and `part_bias` (P and q, n the width of a), of the mixture `gate_weight` [K, F] and `gate_bias` (M and e).
    """

    @dataclass(frozen=True)
    class Settings:
        """Of the mixture."""

        components: int = setting(
            4, help="K, softmaxes that are mixed.", low=1, expected="a whole number of softmaxes of at least 1"
        )

    options: Settings

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        K = self.options.components
        width = self.vectors()[0].shape[1]
        self.part_weight = nn.Parameter(uniform(inputs.rng, K * width, width, math.sqrt(3 / width)))
        self.part_bias = nn.Parameter(torch.zeros(K * width))
        self.gate_weight = nn.Parameter(small(inputs.rng, K, inputs.features))
        self.gate_bias = nn.Parameter(torch.zeros(K))
        moved, *still = letters(inputs.own, inputs.tied, inputs.shared)
        self._equation = " + ".join(["y_k = b", f"{moved}_k", *still])

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """−log Σ_k π_k P_k(y), with gradients: the exact loss."""
        f_KBF, log_pi_BK = self._components(f_BF)
        K, B, _ = f_KBF.shape
        nll = kernels.softmax_loss(f_KBF.flatten(0, 1), self.vectors(), self.bias, y_B.repeat(K), self.precision)
        return -torch.logsumexp(log_pi_BK - nll.view(K, B).t(), 1)

    @torch.no_grad()
    def nll(self, f_BF: Tensor, y_B: Tensor) -> Tensor:
        """The same in float64."""
        f_KBF, log_pi_BK = self._components(f_BF)
        nll_KB = [kernels.softmax_nll(f, self.vectors(), self.bias, y_B) for f in f_KBF]
        return -torch.logsumexp(log_pi_BK.double() - torch.stack(nll_KB, 1), 1)

    def log_probs(self, f_BF: Tensor) -> Tensor:
        """log P of every token, float64 [B, V]."""
        f_KBF, log_pi_BK = self._components(f_BF)
        return _mixed([self.affine(f).double() for f in f_KBF], log_pi_BK.double())

    def logits(self, f_BF: Tensor) -> Tensor:
        """log P in the precision of f."""
        f_KBF, log_pi_BK = self._components(f_BF)
        return _mixed([self.affine(f) for f in f_KBF], log_pi_BK)

    @torch.no_grad()
    def explain(self, f_1F: Tensor, words: Sequence[int]) -> tuple[Panel, ...]:
        """The weights of the components, where each moves a, and each one's softmax; their mean is P."""
        f_K1F, _ = self._components(f_1F)
        K, width = len(self.gate_bias), self.vectors()[0].shape[1]
        names = tuple(f"k = {k + 1}" for k in range(K))
        gate = scored({"M f": self.gate_weight}, f_1F[0], self.gate_bias, "s")
        s, log_Z = gate[-1].value, np.logaddexp.reduce(gate[-1].value)
        pi = np.exp(s - log_Z)
        weights = (
            *gate,
            Quantity("π", pi, "π = softmax(s)", "exp({s} − {log Z})", {"s": s, "log Z": log_Z}),
            Quantity("log Z", log_Z, "log Σ exp s"),
        )
        moved_nK = numbers(f_K1F[:, 0, :width].t())
        moved = (Quantity("a_k", moved_nK, "a_k = tanh(P_k a + q_k)", columns=names),)
        y_VK = numbers(torch.stack([self.affine(f_1F)[0] for f_1F in f_K1F], 1))
        log_Z_VK = np.broadcast_to(np.logaddexp.reduce(y_VK, axis=0), y_VK.shape)
        p_VK = np.exp(y_VK - log_Z_VK)
        own = {"y_k": y_VK, "log Z_k": log_Z_VK}
        mean = {"p_k": p_VK, "π": pi}
        mixed = (
            Quantity("p_k", p_VK, "p_k = softmax(y_k)", "exp({y_k} − {log Z_k})", own, columns=names),
            Quantity("p", p_VK @ pi, "p = Σ_k π_k p_k", inputs=mean, product=("p_k", "π")),
        )
        return (
            Panel("The components' weights", weights, names, "component"),
            Panel("Where each component moves the hidden layer", moved, _units(moved_nK), "unit"),
            Panel("Each component's scores", (Quantity("y_k", y_VK, self._equation, columns=names),)),
            Panel("The components mixed", mixed),
        )

    def _components(self, f_BF: Tensor) -> tuple[Tensor, Tensor]:
        """[a_k; x] of each component, [K, B, F], and log π [B, K]."""
        K, width = len(self.gate_bias), self.vectors()[0].shape[1]
        moved_BKn = F.linear(f_BF[:, :width], self.part_weight, self.part_bias).tanh().view(-1, K, width)
        log_pi_BK = F.linear(f_BF, self.gate_weight, self.gate_bias).log_softmax(1)
        rest = f_BF[:, width:].expand(K, -1, -1)
        return torch.cat([moved_BKn.transpose(0, 1), rest], 2), log_pi_BK


def _mixed(scores: list[Tensor], log_pi_BK: Tensor) -> Tensor:
    """log Σ_k π_k softmax(scores_k) [B, V], a component at a time."""
    mixed = scores[0].log_softmax(1) + log_pi_BK[:, :1]
    for k, score in enumerate(scores[1:], start=1):
        mixed = torch.logaddexp(mixed, score.log_softmax(1) + log_pi_BK[:, k, None])
    return mixed


def _units(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[str, ...]:
    return tuple(str(i) for i in range(len(values)))
