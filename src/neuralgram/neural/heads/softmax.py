"""The exact softmax, the default head: y = b + W x + U a, p = softmax(y); and what heads with such vectors share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuralgram.errors import InputError
from neuralgram.explanation import Floats, Panel, Quantity
from neuralgram.neural import kernels
from neuralgram.neural.heads.base import Head, HeadInputs
from neuralgram.neural.initial import small
from neuralgram.neural.rows import row_sparse
from neuralgram.settings import setting


def smoothing() -> Any:
    """The setting of heads that smooth their targets; see `ScoreHead.smoothed`."""
    return setting(
        0.0,
        help="The share of each target left to all tokens alike.",
        low=0,
        below=1,
        expected="the share of a target left to all tokens, 0 to below 1",
    )


class VectorHead(Head):
    """`weight` (U, [V, h], where the head owns vectors) and `bias` (b, [V]); W or C are borrowed."""

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__(inputs)
        if inputs.own:
            self.weight = nn.Parameter(small(inputs.rng, inputs.vocab_size, inputs.own))
        self.bias = nn.Parameter(torch.zeros(inputs.vocab_size))
        self._shared = list(inputs.shared)  # in a list, so that they are not registered a second time

    def vectors(self) -> list[Tensor]:
        """The output vectors by columns: [U, W], [U], [W], [C, W] or [C]; joined they are [V, F]."""
        own: list[Tensor] = [self.weight] if hasattr(self, "weight") else []
        return own + list(self._shared)

    def affine(self, f_BF: Tensor) -> Tensor:
        """y = b + [U W] f, [B, V], a part at a time: joining them would copy all V vectors for every query."""
        parts = self.vectors()
        features = torch.split(f_BF, [part.shape[1] for part in parts], 1)
        y_BV = F.linear(features[0], parts[0], self.bias)
        for f, part in zip(features[1:], parts[1:], strict=True):
            y_BV = torch.addmm(y_BV, f, part.t())
        return y_BV


class ScoreHead(VectorHead):
    """p = softmax(y), exact and normalised; a member of the family adds its training objective, `loss`."""

    linear: ClassVar[bool] = True

    def logits(self, f_BF: Tensor) -> Tensor:
        """y = b + [U W] f."""
        return self.affine(f_BF)

    def log_probs(self, f_BF: Tensor) -> Tensor:
        """log softmax(y), normalised in float64."""
        return self.affine(f_BF).double().log_softmax(1)

    def nll(self, f_BF: Tensor, y_B: Tensor) -> Tensor:
        """log Σ e^y − y_w in float64, a block of rows at a time."""
        return kernels.softmax_nll(f_BF, self.vectors(), self.bias, y_B)

    def smoothed(self, loss_B: Tensor, f_BF: Tensor, y_B: Tensor, share: float) -> Tensor:
        """The loss against a target that leaves `share` ε of itself to all tokens alike, (1 − ε) e_w + ε/V.

        −Σ_v t_v log p_v = log Σ e^y − (1 − ε) y_w − ε ȳ, so smoothing adds ε (y_w − ȳ), ȳ being the mean score: the
        scores of the target and of the mean output vector. Its gradient reaches every row, at a cost of V.
        """
        if share == 0:
            return loss_B
        if row_sparse():
            raise InputError(f"smoothing {share}: reaches all output vectors; expected adamw or sgd, not sparse steps")
        mean_V = torch.full_like(self.bias, 1 / self.vocab_size)
        mean_F = torch.cat([mean_V @ part for part in self.vectors()])
        return loss_B + share * (self.scores(f_BF, y_B) - f_BF @ mean_F - mean_V @ self.bias)

    def explain(self, f_1F: Tensor, words: Sequence[int]) -> tuple[Panel, ...]:
        """Nothing to add to the softmax of b + W x + U a."""
        return ()

    def scores(self, f_BF: Tensor, y_B: Tensor) -> Tensor:
        """y_w [B] of the given tokens alone, in the precision of f, at a cost that does not depend on V."""
        parts = self.vectors()
        y = self.bias.index_select(0, y_B)
        for f, part in zip(torch.split(f_BF, [part.shape[1] for part in parts], 1), parts, strict=True):
            y = y + torch.linalg.vecdot(f, part.index_select(0, y_B))
        return y


class SoftmaxHead(ScoreHead):
    """Trained on the exact loss."""

    @dataclass(frozen=True)
    class Settings:
        """Label smoothing alone."""

        smoothing: float = smoothing()

    options: Settings

    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """log Σ e^y − y_w in the model's precision, with gradients; without smoothing `nll` is the same number."""
        loss_B = kernels.softmax_loss(f_BF, self.vectors(), self.bias, y_B, self.precision)
        return self.smoothed(loss_B, f_BF, y_B, self.options.smoothing)


def scored(parts: Mapping[str, Tensor], f_F: Tensor, bias_R: Tensor, name: str = "y") -> tuple[Quantity, ...]:
    """b, the contribution of each part of f, and their sum: b + Ua + Wx, as quantities [R].

    `parts` name the vectors [R, F_i] that meet the columns of f in turn: "Ua", "Wx".
    """
    found = {"b": numbers(bias_R)}
    start = 0
    for letter, vectors in parts.items():
        stop = start + vectors.shape[1]
        found[letter] = numbers(vectors @ f_F[start:stop])
        start = stop
    given = [Quantity(letter, values) for letter, values in found.items()]
    formula = " + ".join("{" + letter + "}" for letter in found)
    total = np.sum(list(found.values()), axis=0)
    return (*given, Quantity(name, total, formula=formula, inputs=found))


def letters(own: int, tied: bool, shared: Sequence[Any]) -> tuple[str, ...]:
    """What the parts of an output vector make with f: Ua or, tied, Ca; then Wx of the direct path."""
    first = ("Ua",) if own else ("Ca",) if tied else ()
    return (*first, *["Wx"] * (len(shared) - tied))


def numbers(values: Tensor) -> Floats:
    """As NumPy, float64."""
    out: Floats = values.detach().cpu().double().numpy()
    return out
