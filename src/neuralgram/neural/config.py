"""What is chosen about a network: sizes and options, checked where they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from neuralgram.errors import InputError
from neuralgram.neural.heads import HEADS

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "identity": lambda a: a,
}


@dataclass(frozen=True)
class NPLMConfig:
    """The choices of one NPLM; all are JSON values.

    vocab, context, d_emb  V, c and m, each at least 1
    d_hidden               h: one width, or one a layer; 0 is the paper's model without a hidden layer
    direct                 whether W x is there
    activation             tanh, relu, sigmoid or identity
    dropout, dropout_input the share of hidden units, of numbers of x, that training drops
    tie                    output vectors are the rows of C (through a projection where m ≠ h)
    head, head_options     the output layer, by its name in HEADS, and its own settings
    """

    vocab: int
    context: int
    d_emb: int
    d_hidden: int | Sequence[int]
    direct: bool = True
    activation: str = "tanh"
    dropout: float = 0.0
    dropout_input: float = 0.0
    tie: bool = False
    head: str = "softmax"
    head_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("vocab", "context", "d_emb"):
            object.__setattr__(self, name, _whole(name, getattr(self, name), 1))
        given = self.d_hidden
        widths = list(given) if isinstance(given, Sequence) else [] if given == 0 else [given]
        object.__setattr__(self, "d_hidden", tuple(_whole("d_hidden", width, 1) for width in widths))
        for name, choices in (("activation", ACTIVATIONS), ("head", HEADS)):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} {getattr(self, name)!r}: expected one of {', '.join(choices)}")
        for name in ("dropout", "dropout_input"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} {getattr(self, name)}: expected at least 0 and below 1")
        if not widths and not self.direct:
            raise InputError(
                "d_hidden 0 without the direct path: nothing is left to predict from; expected one of them"
            )
        if not widths and self.tie:
            raise InputError("tied output vectors without a hidden layer: expected d_hidden of at least 1")

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of the hidden layers, first to last; empty without one."""
        return tuple(self.d_hidden)  # type: ignore[arg-type]  # __post_init__ made it a tuple

    @property
    def hidden_size(self) -> int | list[int]:
        """`d_hidden` as it is stored: 0, one number, or a list of two and more."""
        if len(self.widths) > 1:
            return list(self.widths)
        return self.widths[0] if self.widths else 0


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        also = " (0 for none, a list for several layers)" if name == "d_hidden" else ""
        raise InputError(f"{name} {value!r}: expected a whole number of at least {least}{also}")
    return int(value)
