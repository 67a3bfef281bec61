"""What heads that learn from noise words share: k words drawn from q ∝ frequency^α, the same for a whole batch.

The k draws are reduced to R different words with the number of times n each was drawn. One row of scores
an example, [y | noise] [B, R + 1], and one matrix of output vectors, of the noise words and then of the B targets,
[R + B, F], carry all of it; no gradient outside those rows exists, and nothing costs V. A word is
drawn in constant time by Walker's alias method (1977), from Vose's table (1991).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from neuralgram.errors import InputError
from neuralgram.neural.heads.base import HeadInputs
from neuralgram.neural.heads.softmax import ScoreHead
from neuralgram.neural.rows import take
from neuralgram.settings import setting

_UNSEEN = 0.5  # a token that never occurs is counted as half a time, so that every token can be drawn

# From scores [B, R + 1], which it may overwrite, the loss [B] and its derivative by each score.
Objective: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]


class NoiseHead(ScoreHead):
    """Trained on k noise words a batch."""

    @dataclass(frozen=True)
    class Settings:
        """Of the noise."""

        samples: int = setting(
            256, help="k, noise words a batch.", low=1, expected="a whole number of noise words of at least 1"
        )
        power: float = setting(
            1.0, help="α of q ∝ frequency^α.", low=0, high=2, expected="a number from 0 (all words alike) to 2"
        )

    options: Settings

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        self.noise = Noise(token_counts(inputs.counts, inputs.vocab_size), self.options.power)

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """The objective [B] with gradients, over noise drawn from `rng`."""
        if rng is None:
            raise InputError(f"the loss of the {self.name} head draws noise words: give it a torch.Generator as rng")
        noise_R, count_R = torch.unique(self.noise.draw(self.options.samples, rng), return_counts=True)
        log_n_R = count_R.to(self.bias.dtype).log()
        log_kq_R = self.noise.log_q[noise_R] + math.log(self.options.samples)
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


def token_counts(counts: ArrayLike | None, vocab_size: int) -> NDArray[np.float64]:
    """How often each token occurs, float64 [V]: as given, or V/(id + 1), as ids are given out by frequency.

    Raises `InputError` where they are not V finite numbers of at least 0.
    """
    if counts is None:
        return vocab_size / np.arange(1.0, vocab_size + 1)
    array = np.asarray(counts, np.float64)
    if array.shape != (vocab_size,) or not np.isfinite(array).all() or (array < 0).any():
        raise InputError(
            f"token counts of shape {list(array.shape)}: expected {vocab_size} numbers of at least 0, one a token"
        )
    return array


def alias_table(q_V: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """`accept` and `other` [V]: column v, one in V, gives v with probability accept[v] and else other[v].

    A light token (V·q < 1) leaves room in its column, a heavy one has too much for its own. Both are
    walked through in order; how much room was left and how much was too much, summed up to each of them,
    says who fills whose room, so the walk is two searches in sorted arrays.
    """
    share_V = q_V * (len(q_V) / q_V.sum())
    light, heavy = np.flatnonzero(share_V < 1), np.flatnonzero(share_V >= 1)
    accept, other = np.ones(len(q_V)), np.arange(len(q_V))
    if not len(light) or not len(heavy):  # all alike, or all but for rounding
        return accept, other
    room = np.concatenate([[0.0], np.cumsum(1 - share_V[light])])  # before each light token, and of all
    excess = np.cumsum(share_V[heavy] - 1)  # of the heavy tokens up to and with each
    accept[light] = share_V[light]
    filler = np.searchsorted(excess, room[:-1], side="right")
    other[light] = heavy[np.minimum(filler, len(heavy) - 1)]
    used = np.minimum(np.searchsorted(room, excess, side="left"), len(light))
    # What a heavy token keeps of its own column once it has filled its share of rooms; the next one fills the rest.
    accept[heavy] = np.clip(1 + excess - room[used], 0.0, 1.0)
    accept[heavy[-1]] = 1.0
    other[heavy[:-1]] = heavy[1:]
    return accept, other


class Noise(nn.Module):
    """q_w ∝ count_w^α as an alias table: buffers `accept`, `other` and `log_q`, each [V]."""

    accept: Tensor
    other: Tensor
    log_q: Tensor

    def __init__(self, counts: NDArray[np.float64], power: float) -> None:
        super().__init__()
        weight = np.maximum(counts, _UNSEEN) ** power
        accept, other = alias_table(weight)
        self.register_buffer("accept", torch.from_numpy(accept.astype(np.float32)))
        self.register_buffer("other", torch.from_numpy(other.astype(np.int32)))
        self.register_buffer("log_q", torch.from_numpy(np.log(weight / weight.sum()).astype(np.float32)))

    def draw(self, count: int, rng: torch.Generator) -> Tensor:
        """`count` tokens, drawn independently from q by `rng`, int64 [count]."""
        device = self.accept.device
        column = torch.randint(len(self.accept), (count,), generator=rng, device=device)
        chance = torch.rand(count, generator=rng, device=device)
        return torch.where(chance < self.accept[column], column, self.other[column].long())


def by_frequency(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Token ids, most frequent first; equally frequent ones by id."""
    return np.argsort(-counts, kind="stable")
