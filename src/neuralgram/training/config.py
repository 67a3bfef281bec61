"""What a training run is told: one frozen dataclass of JSON values, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from typing import Any

from neuralgram.errors import InputError
from neuralgram.families import AVERAGES, OPTIMISERS, SCHEDULES

PRECISIONS = ("auto", "fp32", "bf16")


@dataclass(frozen=True)
class TrainConfig:
    """The settings of a run; with the model and the text they decide every weight it ends with.

    How long (exactly one is given): `steps` updates, `epochs` passes, or `max_time` seconds, which a
    short timing turns into a fixed number of steps before the first update.

    batch_size     windows per update
    seed           of the shuffle, the dropout masks and the boundary noise
    optimizer      a name in `OPTIMISERS`: `sgd` (v ← μv + g, p ← p − lr·v), `adamw`, or `sparse-sgd` and `adagrad`,
                   whose steps touch only the rows used
    lr             ε_0, the learning rate the schedule scales
    momentum       μ of `sgd`
    betas          of `adamw`
    epsilon        of `adamw`: what is added to √v̂. A word that training never sees has a gradient of about its own
                   probability, which an epsilon above it keeps from being driven to 0
    weight_decay   λ, never applied to a bias
    clip           bound on the global gradient norm, or None
    schedule       a name in `SCHEDULES`: `constant`, `paper` (ε_0/(1 + r·t)), `linear`, `cosine`
    decay_rate     r of the paper's schedule, per update
    warmup         updates over which the rate rises from 0, as a fraction of all
    average        a name in `AVERAGES`: `none`, `ema` or `tail`; the averaged weights are evaluated and kept
    average_decay  of `ema`, per update
    average_tail   the fraction of the run, at its end, that `tail` averages
    boundary_rate  fraction of windows whose oldest tokens, a random number, are read as the boundary
    eval_every     updates between validations, or None: once per epoch, and at least 20 times a run
    patience       validations without a better one before stopping, or None: never stop early
    valid_tokens   at most so many validation tokens are scored, evenly spaced; None: all
    precision      `fp32`, `bf16` or `auto`
    threads        of the processor; None: chosen for this machine
    """

    steps: int | None = None
    epochs: float | None = None
    max_time: float | None = None
    batch_size: int = 256
    seed: int = 0
    optimizer: str = "adamw"
    lr: float = 2e-3
    momentum: float = 0.0
    betas: tuple[float, float] = (0.9, 0.99)
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: float | None = None
    schedule: str = "linear"
    decay_rate: float = 1e-8
    warmup: float = 0.0
    average: str = "none"
    average_decay: float = 0.999
    average_tail: float = 0.25
    boundary_rate: float = 0.0
    eval_every: int | None = None
    patience: int | None = None
    valid_tokens: int | None = 500_000
    precision: str = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))
        self._check_length()
        for name in ("batch_size", "steps", "eval_every", "patience", "valid_tokens", "threads"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise InputError(f"{name} {value!r}: expected a whole number of at least 1")
        if self.threads is not None and self.threads > _MOST_THREADS:
            raise InputError(f"threads {self.threads}: expected at most {_MOST_THREADS}")
        for name, low, high in _RANGES:
            _check_range(name, getattr(self, name), low, high)
        for beta in self.betas:
            _check_range("betas", beta, 0.0, 1.0)
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed {self.seed!r}: expected a whole number of at least 0")
        self._check_names()

    def _check_length(self) -> None:
        given = [name for name in ("steps", "epochs", "max_time") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                f"{', '.join(given) or 'no length'} given: expected exactly one of steps, epochs, max_time"
            )
        for name in ("epochs", "max_time"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} {value}: expected a number above 0")

    def _check_names(self) -> None:
        families: tuple[tuple[str, Collection[str]], ...] = (
            ("optimizer", OPTIMISERS),
            ("schedule", SCHEDULES),
            ("average", AVERAGES),
            ("precision", PRECISIONS),
        )
        for name, family in families:
            if getattr(self, name) not in family:
                raise InputError(f"{name} {getattr(self, name)!r}: expected one of {', '.join(family)}")

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


_MOST_THREADS = 1024  # asked for many more, the operating system ends the process

# name, lowest and highest value; the lowest is allowed, the highest only where it is infinite or 1 of a fraction
_RANGES = (
    ("lr", 0.0, math.inf),
    ("momentum", 0.0, 1.0),
    ("epsilon", 0.0, math.inf),
    ("weight_decay", 0.0, math.inf),
    ("clip", 0.0, math.inf),
    ("decay_rate", 0.0, math.inf),
    ("warmup", 0.0, 1.0),
    ("average_decay", 0.0, 1.0),
    ("average_tail", 0.0, 1.0),
    ("boundary_rate", 0.0, 1.0),
)


def _check_range(name: str, value: float | None, low: float, high: float) -> None:
    if value is None:
        return
    if not (math.isfinite(value) and low <= value <= high) or (name == "clip" and value == 0):
        above = "above" if name == "clip" else "of at least"
        upper = "" if high == math.inf else f" and at most {high:g}"
        raise InputError(f"{name} {value}: expected a number {above} {low:g}{upper}")
