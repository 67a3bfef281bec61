"""What heads that learn from noise words share: k words drawn from q ∝ frequency^α, the same for a whole batch.

The k draws are reduced to R different words with the number of times n each was drawn. One row of scores
an example, [y | noise] [B, R + 1], and one matrix of output vectors, of the noise words and then of the B targets,
[R + B, F], carry all of it; no gradient outside those rows exists, and nothing costs V.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor

from neuralgram.errors import InputError
from neuralgram.neural.heads.alias import Noise, token_counts
from neuralgram.neural.heads.base import HeadInputs
from neuralgram.neural.heads.vectors import ScoreHead, check_options
from neuralgram.neural.rows import take

# From scores [B, R + 1], which it may overwrite, the loss [B] and its derivative by each score.
Objective: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]


class NoiseHead(ScoreHead):
    """Options: `samples` (k, noise words a batch) and `power` (α of q ∝ frequency^α)."""

    name: ClassVar[str]
    known: ClassVar[tuple[str, ...]] = ("samples", "power")

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        check_options(self.name, inputs.options, self.known)
        self.samples, power = inputs.options.get("samples", 256), inputs.options.get("power", 1.0)
        if isinstance(self.samples, bool) or not isinstance(self.samples, int) or self.samples < 1:
            raise InputError(f"samples {self.samples!r}: expected a whole number of noise words of at least 1")
        if not isinstance(power, int | float) or not 0 <= power <= 2:
            raise InputError(f"power {power!r}: expected a number from 0 (all words alike) to 2")
        self.noise = Noise(token_counts(inputs.counts, inputs.vocab_size), power)

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """The objective [B] with gradients, over noise drawn from `rng`."""
        if rng is None:
            raise InputError(f"the loss of the {self.name} head draws noise words: give it a torch.Generator as rng")
        noise_R, count_R = torch.unique(self.noise.draw(self.samples, rng), return_counts=True)
        log_n_R = count_R.to(self.bias.dtype).log()
        log_kq_R = self.noise.log_q[noise_R] + math.log(self.samples)
        rows = torch.cat([noise_R, y_B])
        parts = [take(part, rows) for part in self.vectors()]
        joined = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
        bias = take(self.bias, rows) + self.shift(log_n_R, log_kq_R, y_B)
        objective = self.objective(noise_R, log_n_R, y_B)
        loss_B: Tensor = _RowLoss.apply(f_BF, joined, bias, objective)  # type: ignore[no-untyped-call]
        return loss_B

    @abstractmethod
    def shift(self, log_n_R: Tensor, log_kq_R: Tensor, y_B: Tensor) -> Tensor:
        """What is added to the scores of the noise words and of the targets, [R + B]."""

    @abstractmethod
    def objective(self, noise_R: Tensor, log_n_R: Tensor, y_B: Tensor) -> Objective:
        """The loss as a function of the shifted scores."""


class _RowLoss(torch.autograd.Function):
    """Loss [B] of f [B, F], output vectors and biases [R + B, …] of noise and targets."""

    @staticmethod
    def forward(ctx: Any, f_BF: Tensor, joined: Tensor, bias: Tensor, objective: Objective) -> Tensor:
        R = len(joined) - len(f_BF)
        scores = f_BF.new_empty(len(f_BF), R + 1)
        torch.add(torch.linalg.vecdot(f_BF, joined[R:]), bias[R:], out=scores[:, 0])
        torch.addmm(bias[:R], f_BF, joined[:R].t(), out=scores[:, 1:])
        loss_B, slope = objective(scores)
        ctx.save_for_backward(f_BF, joined, slope)
        return loss_B

    @staticmethod
    def backward(ctx: Any, upstream_B: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        f_BF, joined, slope = ctx.saved_tensors
        R = len(joined) - len(f_BF)
        scaled_BF = f_BF * upstream_B[:, None]  # the factor an example meets the small operand, never [B, R]
        grad_f = torch.addcmul(slope[:, 1:] @ joined[:R], slope[:, :1], joined[R:]) * upstream_B[:, None]
        grad_joined = torch.empty_like(joined)
        torch.mm(slope[:, 1:].t(), scaled_BF, out=grad_joined[:R])
        torch.mul(slope[:, :1], scaled_BF, out=grad_joined[R:])
        return grad_f, grad_joined, torch.cat([upstream_B @ slope[:, 1:], slope[:, 0] * upstream_B]), None
