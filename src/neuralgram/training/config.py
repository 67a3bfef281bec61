"""What runs and jobs are told: frozen dataclasses of JSON values, each said once. Nothing here needs PyTorch."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass, fields
from typing import Any

from neuralgram.errors import InputError
from neuralgram.families import AVERAGES, ESTIMATORS, OPTIMISERS, SCHEDULES, TOKENIZERS
from neuralgram.settings import check, setting

PRECISIONS = ("auto", "fp32", "bf16")
DEFAULT_SPLIT = "0.9,0.05,0.05"
LENGTHS = ("steps", "epochs", "max_time")
MOST_THREADS = 1024  # asked for many more, the operating system ends the process
_AUTO = "auto"  # chosen from the text
_SHARE: dict[str, Any] = {"low": 0, "high": 1}


@dataclass(frozen=True)
class TrainConfig:
    """The settings of a run; with the model and the text they decide every weight it ends with.

    How long (exactly one is given): `steps` updates, `epochs` passes, or `max_time` seconds, which a short timing
    turns into a fixed number of steps before the first update.
    """

    steps: int | None = setting(None, help="Exactly so many updates, instead.", unit="updates", low=1)
    epochs: float | None = setting(None, help="At most so many passes.", unit="passes", above=0, auto=_AUTO)
    max_time: float | None = setting(
        None,
        help="About so many seconds, turned into a number of updates first.",
        unit="seconds",
        above=0,
        auto="an hour for the largest texts",
    )
    batch_size: int = setting(256, help="Windows an update.", unit="windows", low=1, auto=_AUTO)
    seed: int = setting(0, help="Of the shuffle, the dropout masks and the boundary noise.", low=0)
    optimizer: str = setting("adamw", help="How a gradient becomes an update.", choices=OPTIMISERS, auto=_AUTO)
    lr: float = setting(2e-3, help="ε_0, the learning rate that the schedule scales.", low=0, auto=_AUTO)
    momentum: float = setting(0.0, help="Of sgd: μ of v ← μv + g.", **_SHARE, auto=_AUTO)
    betas: tuple[float, float] = setting((0.9, 0.99), help="Of adamw: β₁ and β₂, how slowly m and v forget.", **_SHARE)
    epsilon: float = setting(
        1e-8,
        help="Of adamw: added to √v̂. A word that training never sees has a gradient of about its own probability, "
        "which an epsilon above it keeps from being driven to 0.",
        low=0,
        auto=_AUTO,
    )
    weight_decay: float = setting(0.0, help="λ; never on a bias.", low=0, auto=_AUTO)
    clip: float | None = setting(None, help="Bound on the global gradient norm.", above=0, auto=_AUTO)
    schedule: str = setting("linear", help="How the rate falls along the run.", choices=SCHEDULES, auto=_AUTO)
    decay_rate: float = setting(1e-8, help="Of the schedule paper: r of ε_0/(1 + r·t).", unit="per update", low=0)
    warmup: float = setting(0.0, help="The rate rises from 0 over this fraction of the updates.", **_SHARE)
    average: str = setting("none", help="Averaging of weights; the average is what is evaluated.", choices=AVERAGES)
    average_decay: float = setting(0.999, help="Of the average ema: what is kept of it.", unit="per update", **_SHARE)
    average_tail: float = setting(0.25, help="Of the average tail: this fraction of the run, its end.", **_SHARE)
    boundary_rate: float = setting(
        0.0,
        help="This fraction of windows has some of its oldest tokens read as the boundary.",
        **_SHARE,
        auto=_AUTO,
    )
    eval_every: int | None = setting(
        None, help="Updates between validations.", unit="updates", low=1, auto="once an epoch, at least 20 times"
    )
    patience: int | None = setting(
        None, help="Validations without a better one before stopping.", unit="validations", low=1, auto=_AUTO
    )
    valid_tokens: int | None = setting(
        500_000, help="At most so many tokens a validation, evenly spaced.", unit="tokens", low=1, auto=_AUTO
    )
    precision: str = setting("auto", help="What the training loss is multiplied in.", choices=PRECISIONS, auto=_AUTO)
    threads: int | None = setting(None, help="Of the processor.", low=1, high=MOST_THREADS, auto=_AUTO)

    def __post_init__(self) -> None:
        given = [name for name in LENGTHS if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(f"{', '.join(given) or 'no length'} given: expected exactly one of {', '.join(LENGTHS)}")
        if isinstance(self.threads, int) and self.threads > MOST_THREADS:
            raise InputError(f"threads {self.threads}: expected at most {MOST_THREADS}")
        check(self)

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return {**asdict(self), "betas": list(self.betas)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> TrainConfig:
        """The settings that `to_json` wrote; an unknown name is an `InputError`."""
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise InputError(f"unknown training setting {', '.join(sorted(unknown))}: written by another version?")
        return cls(**values)


@dataclass(frozen=True)
class ReadSettings:
    """How files become text."""

    field: str | None = setting(None, help="Texts are JSON lines; read this field of each.")
    encoding: str = setting("utf-8", help="How the text's bytes are decoded.")
    errors: str = setting(
        "strict", help="What to do with bytes that cannot be decoded.", choices=("strict", "replace", "ignore")
    )


@dataclass(frozen=True)
class TextSettings(ReadSettings):
    """How texts become corpora; the names are those of `build_corpora`. `options` are the tokenizer's own."""

    tokenizer: str = setting("chars", help=f"{', '.join(TOKENIZERS)}, or a tokenizer.json.", auto=_AUTO)
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    boundary: str = setting(
        "document",
        help="One stream; or every line, or every document (file, JSON line), closed by the boundary symbol.",
        choices=("stream", "line", "document"),
    )
    split: str | None = setting(
        None,
        help="Parts of TEXT, as 0.9,0.05,0.05 or 800000,200000,rest; 1.0 trains on all of it.",
        auto=f"{DEFAULT_SPLIT}, without --valid and --test",
    )
    vocab_from: str = setting(
        "train",
        help="Learn the vocabulary from the training part, or from all parts (the paper's way).",
        choices=("train", "all"),
    )
    seed: int = setting(0, help="Of everything random.", low=0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class NgramSettings:
    """Which counting model; what its estimator can be told is the estimator's `Settings`."""

    order: int = setting(5, help="n; with add-k and no --k, the largest n tried.", unit="tokens", low=1)
    smoothing: str = setting("modified-kneser-ney", help="The estimator.", choices=ESTIMATORS)


@dataclass(frozen=True)
class MixSettings:
    """How models become a mixture."""

    weights: str = setting(
        "learned",
        help="One number a part, such as 0.5,0.5; learned: the best for --valid; binned: the best for each bin of "
        "contexts by how often they occur in training.",
    )
    part: str | None = setting(
        None,
        help="Only this part of --valid, by the split the first model was trained with.",
        choices=("valid", "test"),
    )
    uniform: bool = setting(False, help="A further part: every token with 1/V.")
    unseen: bool = setting(
        False, help="A further part, the last: the tokens that the first model's training text never holds, all alike."
    )
