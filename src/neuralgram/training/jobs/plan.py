"""What the user does not set is chosen here, from the size and kind of the text, each choice with its reason.

What a larger text asks for is more capacity and less restraint: wider layers, fewer passes, less dropout and decay.
The rows for names and for a million characters come from measuring held-out loss (docs/log.md); the others are a first
estimate that continues their trend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from neuralgram.neural.config import NPLMConfig
from neuralgram.settings import described
from neuralgram.training.config import LENGTHS, TrainConfig

_NETWORK = tuple(one.name for one in described(NPLMConfig) if one.name != "vocab")
_TRAINING = tuple(one.name for one in described(TrainConfig))
PLANNED = (*_NETWORK, *_TRAINING)  # what a plan decides, or the user


class Choice(NamedTuple):
    """A value and the reason for it, as one phrase."""

    value: Any
    reason: str


@dataclass(frozen=True)
class TextFacts:
    """What a plan depends on: the training part in tokens, its vocabulary and its units.

    characters  whether tokens are characters or bytes (else words or pieces of words)
    units       how many lines or documents the training part has; 1 for a stream
    """

    tokens: int
    vocab_size: int
    characters: bool
    boundary: str
    units: int = 1
    validated: bool = True


@dataclass(frozen=True)
class Plan:
    """Settings complete enough to train with.

    model     keywords of `NPLM`: context, d_emb, d_hidden, direct, tie, dropout
    training  the `TrainConfig`
    reasons   for every setting of both, why: "as asked", or what in the text decided it
    """

    model: dict[str, Any]
    training: TrainConfig
    reasons: dict[str, str]


class Row(NamedTuple):
    """Good settings for texts of up to so many tokens."""

    tokens: float
    context: int
    d_emb: int
    d_hidden: int | list[int]
    dropout: float
    batch_size: int
    lr: float
    weight_decay: float
    epochs: float
    patience: int


# fmt: off
CHARACTERS = (
    #   tokens   c  emb  hidden     drop  batch lr    decay epochs patience
    Row(20_000,   5, 12, 64,         0.3,   64, 5e-3, 0.5,   60, 10),
    Row(300_000, 12, 24, 256,        0.2,  128, 3e-3, 0.1,   15, 4),
    Row(3e6,     12, 24, [320, 160], 0.0,  512, 5e-3, 0.01,   6, 4),
    Row(3e7,     16, 32, [512, 256], 0.0,  512, 5e-3, 0.01,   4, 4),
)
SPELLED = Row(3e6, 12, 24, 200,      0.0,  512, 2e-2, 0.0,    3, 4)  # names, words, dates: a line each
WORDS = (
    Row(100_000,  4, 64, 128,        0.4,  128, 2e-3, 0.5,   15, 3),
    Row(5e6,      6, 128, 384,       0.3,  512, 2e-3, 0.3,   10, 2),
    Row(5e7,      6, 128, 384,       0.1, 1024, 2e-3, 0.1,    4, 2),
)
# fmt: on
_HOUR = Row(float("inf"), 6, 64, 256, 0.0, 1024, 2e-3, 0.01, 0, 2)
_FEW_CHARACTERS, _MANY = 2_000_000, 200_000_000
_SHORT_UNIT = 40  # characters of a line: a name, a word, a date
_SPELLED_LEAST = 100_000  # fewer characters of names are learned by heart with the settings of many
_LEAST_VALID = 20_000  # tokens of a validation: fewer would choose the best weights by chance
_SHORT = 0.05  # of the windows of documents are shortened, so that a short prompt is nothing new
_LARGE_V = 1000  # from here on a table of vectors is worth sharing, and unseen symbols are worth protecting


def plan_tokenizer(characters: int, boundary: str, units: int = 1) -> dict[str, Choice]:
    """`tokenizer`, and `vocab_size` where it has one to choose, for a training text of so many characters."""
    if characters / max(units, 1) <= _SHORT_UNIT and boundary == "line":
        reason = f"lines of {characters / max(units, 1):.0f} characters are spelled, not worded"
        return {"tokenizer": Choice("chars", reason)}
    size = _human(characters)
    if characters < _FEW_CHARACTERS:
        return {"tokenizer": Choice("chars", f"{size} characters are too few to learn words from")}
    reason = f"{size} characters show pieces of words often enough"
    if characters < _MANY:
        return {"tokenizer": Choice("bpe", reason), "vocab_size": Choice(8192, f"enough for {size} characters")}
    return {"tokenizer": Choice("bpe", reason), "vocab_size": Choice(16384, f"{size} characters fill a larger one")}


def plan(text: TextFacts, given: Mapping[str, Any] | None = None) -> Plan:
    """Complete settings for `text`; what `given` names (of `NPLM` or `TrainConfig`, not None) is kept as it is.

    Raises `InputError` where a given value cannot be.
    """
    asked = {name: value for name, value in (given or {}).items() if value is not None}
    choices = {name: Choice(value, "as asked") for name, value in asked.items()}
    row = _row(text)
    for name, choice in {**_model(text, row, asked), **_training(text, row, asked)}.items():
        choices.setdefault(name, choice)
    if any(name in asked for name in LENGTHS):
        choices = {name: choice for name, choice in choices.items() if name in asked or name not in LENGTHS}
    return Plan(
        model={name: choice.value for name, choice in choices.items() if name not in _TRAINING},
        training=TrainConfig(**{name: choice.value for name, choice in choices.items() if name in _TRAINING}),
        reasons={name: choice.reason for name, choice in choices.items()},
    )


def _row(text: TextFacts) -> Row:
    short = text.boundary == "line" and text.tokens / text.units <= _SHORT_UNIT
    if text.characters and short and _SPELLED_LEAST <= text.tokens <= SPELLED.tokens:
        return SPELLED
    rows = CHARACTERS if text.characters else WORDS
    return next((row for row in rows if text.tokens <= row.tokens), _HOUR)


def _model(text: TextFacts, row: Row, asked: Mapping[str, Any]) -> dict[str, Choice]:
    what = "characters" if text.characters else "words or pieces"
    size = f"for {_human(text.tokens)} {what}"
    choices = {name: Choice(getattr(row, name), size) for name in ("context", "d_emb", "d_hidden", "dropout")}
    longest = 2 * max(1, text.tokens // text.units)
    if text.boundary == "line" and longest < row.context:
        choices["context"] = Choice(longest, f"lines have {text.tokens // text.units} tokens on average")
    hidden = asked.get("d_hidden", row.d_hidden)
    if hidden in (0, [], ()):
        choices["direct"] = Choice(True, "without a hidden layer it is all there is")
        choices["tie"] = Choice(False, "tying needs a hidden layer")
        choices["dropout"] = Choice(0.0, "without a hidden layer there is nothing to drop")
    elif asked.get("direct"):
        choices["tie"] = Choice(False, "the direct path has output vectors of its own")
    else:
        many = text.vocab_size >= _LARGE_V
        reason = "V is large: one table serves twice" if many else "V is small: two tables are cheap"
        choices["tie"] = Choice(many, reason)
        choices["direct"] = Choice(False, "a wider hidden layer makes more of the same number of weights")
    return choices


def _training(text: TextFacts, row: Row, asked: Mapping[str, Any]) -> dict[str, Choice]:
    size = f"for {_human(text.tokens)} tokens"
    sgd = asked.get("optimizer") == "sgd"
    choices = {
        "batch_size": Choice(max(1, min(row.batch_size, text.tokens // 8)), size),
        "optimizer": Choice("adamw", "reaches the same loss in far fewer passes than SGD"),
        "lr": Choice(0.1, "a rate SGD bears") if sgd else Choice(row.lr, f"AdamW, {size}"),
        "momentum": Choice(0.9, "SGD needs it") if sgd else Choice(0.0, "AdamW has its own"),
        "weight_decay": Choice(1e-4, "the paper's") if sgd else Choice(row.weight_decay, f"decoupled, {size}"),
        "schedule": Choice("linear", "the rate falls to 0 by the last step"),
        "clip": Choice(1.0, "one odd batch cannot throw the weights"),
        "precision": Choice("auto", "what this machine multiplies fastest without loss"),
    }
    if text.vocab_size >= _LARGE_V:
        choices["epsilon"] = Choice(1e-6, "symbols that training never shows keep a little probability")
    if row is _HOUR:
        choices["head"] = Choice("sampled", "trains a large vocabulary several times as fast; evaluation stays exact")
        choices["head_options"] = Choice({"samples": 4096}, "noise words shared by a batch")
        choices["max_time"] = Choice(3600.0, f"an hour, {size}")
    else:
        choices["epochs"] = Choice(row.epochs, size)
    if text.validated:
        passes = asked.get("epochs") or row.epochs or 1
        read = asked["steps"] * choices["batch_size"].value if asked.get("steps") else text.tokens * passes
        reason = "evenly spaced, so that 20 validations read a tenth of what training reads"
        choices["valid_tokens"] = Choice(max(_LEAST_VALID, int(read / 200)), reason)
        choices["patience"] = Choice(row.patience, "validations without a better one")
    if text.boundary == "document" and text.units > 0:
        choices["boundary_rate"] = Choice(_SHORT, "windows cut short, so that any prompt works")
    return choices


def _human(count: int) -> str:
    for unit, name in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if count >= unit:
            return f"{count / unit:.3g}{name}"
    return str(count)
