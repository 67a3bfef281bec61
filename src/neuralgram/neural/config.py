"""What is chosen about a network: sizes and options, each said once, checked where they are given. Loads no PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuralgram.errors import InputError
from neuralgram.families import HEADS
from neuralgram.neural import reference
from neuralgram.settings import check, setting

_AUTO = "auto"  # chosen from the text where training from one
ACTIVATIONS = tuple(reference.ACTIVATIONS)
_SHARE: dict[str, Any] = {"low": 0, "below": 1, "expected": "at least 0 and below 1"}


@dataclass(frozen=True)
class NPLMConfig:
    """The choices of one NPLM; all are JSON values. `d_hidden` is one width or one a layer; 0 and [] are none."""

    vocab: int = setting(help="V, the number of tokens.", unit="tokens", low=1)
    context: int = setting(help="c, the tokens read before each (n − 1).", unit="tokens", low=1, auto=_AUTO)
    d_emb: int = setting(help="m, the length of a token's vector.", low=1, auto=_AUTO)
    d_hidden: int | Sequence[int] = setting(
        help="h, hidden units; 100,100 for two layers; 0 for none.",
        auto=_AUTO,
        expected="a size, or sizes such as 100,100",
    )
    direct: bool = setting(True, help="Direct connections from vectors to scores, W.", auto=_AUTO)
    activation: str = setting("tanh", help="What a hidden unit makes of its sum.", choices=ACTIVATIONS)
    dropout: float = setting(0.0, help="Of hidden units, while training.", **_SHARE, auto=_AUTO)
    dropout_input: float = setting(0.0, help="Of the vectors' entries, while training.", **_SHARE)
    tie: bool = setting(
        False, help="Output vectors are the input vectors (through a projection where m ≠ h).", auto=_AUTO
    )
    head: str = setting("softmax", help="The output layer.", choices=HEADS, auto=_AUTO)
    head_options: Mapping[str, Any] = setting(
        {}, help="Of the head, as samples=256; `--head-option help` lists what each has.", auto=_AUTO
    )

    def __post_init__(self) -> None:
        given = self.d_hidden
        widths = list(given) if isinstance(given, Sequence) else [] if given == 0 else [given]
        object.__setattr__(self, "d_hidden", tuple(_width(width) for width in widths))
        check(self)
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


def _width(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise InputError(
            f"d_hidden {value!r}: expected a whole number of at least 1 (0 for none, a list for several layers)"
        )
    return int(value)
