"""The contract of an output layer: it sees features, never words of the window.

f = [tanh(d + H x); x] with the direct path, tanh(d + H x) without, and x alone where there is no hidden
layer. A head turns f [B, F] into a distribution over V tokens. Losses are one number an example: the
caller sums them and divides by the count it wants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from neuralgram.explanation import Panel
from neuralgram.rng import PCG32
from neuralgram.settings import read


@dataclass(frozen=True)
class HeadInputs:
    """What a head is built from.

    vocab_size  V
    features    F, the width of f
    own         columns of f that meet the head's own output vectors `out.weight` (0: it has none)
    shared      output vectors [V, F_i] that live elsewhere: C where tied, then W of the direct path
    rng         the stream initial weights are drawn from
    options     the head's own settings, JSON values
    tied        whether the first of `shared` is C
    name        what the head is called in `families.HEADS`
    counts      how often each token occurs, [V], for heads that arrange or draw tokens by it; see `noise.token_counts`
    """

    vocab_size: int
    features: int
    own: int
    shared: Sequence[nn.Parameter]
    rng: PCG32
    options: dict[str, Any] = field(default_factory=dict)
    tied: bool = False
    counts: ArrayLike | None = None
    name: str = ""


class Head(nn.Module, ABC):
    """P(token | f). `precision` ("fp32" or "bf16") is how training multiplies; scoring is always exact.

    linear           whether P is the softmax of b + W x + U a, however it is trained: every token has a score of its
                     own, and who shows P needs the weights alone. Such a head is a `ScoreHead`
    self_normalised  whether training makes Z = Σ e^y be 1, so that −y_w alone is nearly −log P(w)
    by_token         the parameters a row of which is a token's, by state-dict key: U, b and W, unless the head says
                     otherwise
    Settings         its own options, each a `settings.setting`; `options` are those it was made with
    """

    @dataclass(frozen=True)
    class Settings:
        """None."""

    linear: ClassVar[bool] = False
    self_normalised: ClassVar[bool] = False
    by_token: ClassVar[tuple[str, ...]] = ("out.weight", "out.bias", "direct.weight")

    def __init__(self, inputs: HeadInputs) -> None:
        super().__init__()
        self.vocab_size, self.features = inputs.vocab_size, inputs.features
        self.name, self.precision = inputs.name, "fp32"
        self.options: Any = read(self.Settings, inputs.options, "head option", f"the {inputs.name} head")

    @abstractmethod
    def logits(self, f_BF: Tensor) -> Tensor:
        """Scores [B, V] with softmax(scores) = P, in the precision of f, with gradients."""

    @abstractmethod
    def log_probs(self, f_BF: Tensor) -> Tensor:
        """log P of every token, float64 [B, V]; each row's probabilities sum to 1."""

    @abstractmethod
    def nll(self, f_BF: Tensor, y_B: Tensor) -> Tensor:
        """−log P(y), exact and normalised, float64 [B], without gradients and without all B × V numbers at once."""

    @abstractmethod
    def loss(self, f_BF: Tensor, y_B: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """The training objective [B], with gradients; `rng` is for heads that sample."""

    @abstractmethod
    def explain(self, f_1F: Tensor, words: Sequence[int]) -> tuple[Panel, ...]:
        """How P after one window is made, number by number; the last panel has P itself, `p`. () where `linear`.

        `words` are the tokens that are looked at, the one that matters most first.
        """
