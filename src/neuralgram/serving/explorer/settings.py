"""What a visitor chooses about a run, and what one visitor may use: plain values, checked where they are made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeAlias

from neuralgram.errors import InputError

SAMPLES = {"animals": "the animals", "story": "the story", "tales": "small tales"}
OWN = "own"  # the visitor's own text; it is never put into an address
TOKENS = ("words", "chars", "bpe", "bytes")
OPTIMISERS = ("adamw", "sgd")
ACTIVATIONS = ("tanh", "relu", "sigmoid", "identity")


class Number(NamedTuple):
    """A number a visitor sets: its label, its bounds, whether it is whole, and what it does."""

    label: str
    low: float
    high: float
    whole: bool
    help: str


NUMBERS = {
    "context": Number("window c", 1, 12, True, "how many tokens are read before the next one is predicted"),
    "d_emb": Number("embedding m", 1, 32, True, "numbers in each token's row of C"),
    "d_hidden": Number("hidden units h", 0, 256, True, "units of the hidden layer; 0 leaves only the direct path"),
    "lr": Number("learning rate ε", 1e-6, 1e6, False, "how far an update moves; far too large a rate diverges"),
    "weight_decay": Number("weight decay λ", 0, 10, False, "pulls every weight, but no bias, towards 0"),
    "dropout": Number("dropout", 0, 0.9, False, "share of hidden units left out at random in each update"),
    "batch_size": Number("batch B", 1, 1024, True, "windows an update averages over"),
    "seed": Number("seed", 0, 2**32 - 1, True, "fixes the first weights and the order of the windows"),
}


def checked_number(name: str, value: Any) -> int | float:
    """`value` as the number `name`, or an `InputError` with what was expected and what it is for."""
    spec = NUMBERS[name]
    kind = "a whole number" if spec.whole else "a number"
    expected = f"expected {kind} from {spec.low:g} to {spec.high:g} ({spec.help})"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{spec.label} {value!r}: {expected}")
    if not spec.low <= value <= spec.high or (spec.whole and value != int(value)):
        raise InputError(f"{spec.label} {value:g}: {expected}")
    return int(value) if spec.whole else float(value)


@dataclass(frozen=True)
class Settings:
    """One run, up to its text: with the same settings every number comes out again.

    sample       a name in `SAMPLES`, or `own`
    tokens       what a token is: words, chars, bpe or bytes
    by_line      whether every line is a unit of its own, closed by the boundary symbol
    direct       whether the direct path W is there
    """

    sample: str = "animals"
    tokens: str = "words"
    by_line: bool = False
    context: int = 3
    d_emb: int = 4
    d_hidden: int = 16
    direct: bool = False
    activation: str = "tanh"
    optimizer: str = "adamw"
    lr: float = 0.01
    weight_decay: float = 0.0
    dropout: float = 0.0
    batch_size: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name} {getattr(self, name)!r}: expected one of {', '.join(choices)}")
        for name in NUMBERS:
            object.__setattr__(self, name, checked_number(name, getattr(self, name)))
        if self.d_hidden == 0 and not self.direct:
            raise InputError("no hidden units and no direct path: nothing is left to predict from; add one of them")

    @property
    def own(self) -> bool:
        """Whether the text is the visitor's own."""
        return self.sample == OWN


_CHOICES = {
    "sample": (*SAMPLES, OWN),
    "tokens": TOKENS,
    "activation": ACTIVATIONS,
    "optimizer": OPTIMISERS,
}

# What each text starts with: small enough to watch, good enough to show what it is for.
DEFAULTS = {
    "animals": Settings(weight_decay=0.1, d_emb=3),
    "story": Settings(
        sample="story",
        tokens="chars",
        by_line=False,
        context=4,
        d_emb=6,
        d_hidden=64,
        lr=0.01,
        weight_decay=0.3,
        batch_size=128,
    ),
    "tales": Settings(
        sample="tales", by_line=True, context=4, d_emb=12, d_hidden=48, lr=0.005, weight_decay=0.01, batch_size=128
    ),
    OWN: Settings(
        sample=OWN,
        tokens="chars",
        by_line=False,
        context=5,
        d_emb=12,
        d_hidden=64,
        lr=0.005,
        weight_decay=0.1,
        batch_size=64,
    ),
}


class Change(NamedTuple):
    """A rate changed while training: from update `step` on."""

    step: int
    lr: float
    weight_decay: float


Value: TypeAlias = "str | int | float | bool"


def changed(settings: Settings, **values: Any) -> Settings:
    """`settings` with some values changed; another sample starts from its own defaults."""
    sample = values.get("sample", settings.sample)
    if sample != settings.sample and sample in DEFAULTS:
        settings = DEFAULTS[sample]
    return replace(settings, **values)


def to_plain(settings: Settings) -> dict[str, Value]:
    """The values that differ from the sample's defaults, and the sample."""
    base = DEFAULTS[settings.sample]
    names = [field.name for field in fields(settings)]
    different = {name: getattr(settings, name) for name in names if getattr(settings, name) != getattr(base, name)}
    return {"sample": settings.sample, **different}


def from_plain(values: Mapping[str, str]) -> Settings:
    """Settings from strings, such as an address holds them; what is not a setting is left alone."""
    base = DEFAULTS.get(values.get("sample", "animals"))
    if base is None:
        raise InputError(f"sample {values['sample']!r}: expected one of {', '.join(SAMPLES)}")
    given: dict[str, Any] = {}
    for field in fields(base):
        if field.name in values and field.name != "sample":
            given[field.name] = _parsed(field.name, values[field.name], getattr(base, field.name))
    return replace(base, **given)


def _parsed(name: str, text: str, like: Value) -> Value:
    if isinstance(like, bool):
        if text not in ("0", "1", "True", "False"):
            raise InputError(f"{name} {text[:20]!r}: expected 0 or 1")
        return text in ("1", "True")
    if isinstance(like, str):
        return text
    try:
        return float(text) if not NUMBERS[name].whole else int(text)
    except ValueError:
        raise InputError(f"{NUMBERS[name].label} {text[:20]!r}: expected a number") from None


_LEAST = 40  # characters of a text of one's own


@dataclass(frozen=True)
class Limits:
    """Bounds of one visitor's session.

    characters   of a text of their own
    vocabulary   V
    parameters   of the network
    steps        updates of one run, and so of a replay
    seconds      of training in all, over every run and experiment of a session
    sessions     visitors at once, over all of whom the machine is shared
    """

    characters: int = 200_000
    vocabulary: int = 4_000
    parameters: int = 2_000_000
    steps: int = 20_000
    seconds: float = 1_800.0
    sessions: int = 64

    @property
    def spent(self) -> str:
        """What is said where the seconds are used up."""
        return (
            f"{self.seconds:,.0f} seconds are the most a visitor may train; "
            "neither a rewind nor another network gives them back"
        )

    def check_text(self, text: str) -> None:
        """Refuse a text that is empty, too short or too long."""
        if not text.strip():
            raise InputError("an empty text: paste some sentences, or choose one of the samples")
        if len(text) < _LEAST:
            raise InputError(
                f"a text of {len(text)} characters is too short to train on and to hold a tenth of it out: "
                f"paste at least {_LEAST}, a few sentences"
            )
        if len(text) > self.characters:
            raise InputError(
                f"a text of {len(text):,} characters: this page takes up to {self.characters:,}; paste a part of it, "
                "or train on the whole with `neuralgram train nplm`"
            )

    def check_size(self, vocabulary: int, parameters: int) -> None:
        """Refuse a network too large for a page that answers while it trains."""
        if vocabulary > self.vocabulary:
            raise InputError(
                f"{vocabulary:,} different tokens: this page takes up to {self.vocabulary:,}; "
                "take the characters as tokens, or a shorter text"
            )
        if parameters > self.parameters:
            raise InputError(
                f"{parameters:,} parameters: this page takes up to {self.parameters:,}; make a size smaller"
            )
