"""How many updates a run makes and how often it validates: numbers fixed before the first update."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuralgram.errors import InputError
from neuralgram.text.windows import Windows
from neuralgram.training.config import TrainConfig
from neuralgram.training.machine import time_step, time_validation
from neuralgram.training.validation import Validation

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM

_FEWEST, _MOST = 20, 100  # validations of a run, unless the user says otherwise
_VALIDATING = 0.1  # of `max_time` at most


class Length(NamedTuple):
    """Updates in all, updates between validations, and where the numbers come from."""

    steps: int
    eval_every: int
    reason: str


def run_length(model: NPLM, windows: Windows, validation: Validation | None, config: TrainConfig) -> Length:
    """The length of a run as `config` gives it, by `steps`, `epochs` or `max_time`.

    `max_time` becomes a number of steps by timing some: the run that follows knows no clock.
    """
    per_epoch = len(windows) // config.batch_size
    if per_epoch == 0:
        raise InputError(
            f"{len(windows)} windows of {windows.context} + 1 tokens: expected at least one batch, "
            f"{config.batch_size}; give more text or a smaller batch"
        )
    if config.max_time is not None:
        return _timed_length(model, windows, validation, config, per_epoch)
    if config.steps is not None:
        steps, reason = config.steps, f"{config.steps} steps as asked"
    else:
        steps = max(1, round((config.epochs or 0) * per_epoch))
        reason = f"{steps} steps: {config.epochs:g} epochs of {per_epoch}"
    return Length(steps, config.eval_every or _spacing(steps, per_epoch, _FEWEST, _MOST), reason)


def _spacing(steps: int, per_epoch: int, fewest: int, most: int) -> int:
    """Once per epoch, but no more rarely than `fewest` times a run and no more often than `most` times."""
    return max(1, min(max(per_epoch, -(-steps // most)), -(-steps // fewest)))


def _timed_length(
    model: NPLM, windows: Windows, validation: Validation | None, config: TrainConfig, per_epoch: int
) -> Length:
    budget = config.max_time or 0.0
    step = time_step(model, windows, config, min(1.0, budget * 0.02))
    one = time_validation(model, validation) if validation else 0.0
    most = max(1, min(_MOST, int(_VALIDATING * budget / one))) if one else _MOST
    if config.eval_every is not None:
        steps = int(budget / (step + one / config.eval_every))
    else:
        steps = int((budget - most * one) / step)
    steps = max(1, steps)
    spacing = config.eval_every or _spacing(steps, per_epoch, min(_FEWEST, most), most)
    reason = f"{steps} steps: {budget:g} s at {step * 1e3:.3g} ms a step and {one:.2g} s a validation"
    return Length(steps, spacing, reason)
