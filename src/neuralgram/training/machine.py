"""What this machine gives and asks: cores, whether more threads than one help, the wish to stop."""

from __future__ import annotations

import copy
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

import torch

from neuralgram.errors import InputError
from neuralgram.training.batches import Validation
from neuralgram.training.loop import Trainer

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM
    from neuralgram.text.windows import Windows
    from neuralgram.training.config import TrainConfig

_WORTH_IT = 1.2  # times as fast as one thread: less gain is not worth what threads lose on a busy machine


class Threads(NamedTuple):
    """A number of threads and why."""

    number: int
    reason: str


def cores() -> int:
    """Cores this process may use: its affinity, and a container's quota where there is one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min(count, _quota())))


def _quota(root: Path = Path("/sys/fs/cgroup")) -> float:
    """The processors a control group grants (version 2, then version 1), or infinity."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (root / "cpu/cpu.cfs_quota_us").read_text().strip()
            period = (root / "cpu/cpu.cfs_period_us").read_text().strip()
        except OSError:
            return math.inf
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return math.inf  # "max", or -1: no limit
    return max(1.0, int(quota) / int(period))


def choose_device(name: str) -> torch.device:
    """`cpu`, `cuda` or `auto` as a device; refuses a GPU that is not there."""
    there = torch.cuda.is_available()
    if name not in ("auto", "cpu", "cuda") or (name == "cuda" and not there):
        raise InputError(
            f"device {name!r}: expected {'auto, cpu or cuda' if there else 'auto or cpu (no GPU is here)'}"
        )
    return torch.device("cuda" if there and name != "cpu" else "cpu")


@contextmanager
def threads(count: int) -> Iterator[None]:
    """PyTorch on `count` threads inside, as it was afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_threads(model: NPLM, windows: Windows, config: TrainConfig) -> Threads:
    """All the cores this process has where a short timing finds that worth it, else one thread."""
    available = cores()
    if config.threads is not None:
        return Threads(config.threads, "as asked")
    if next(model.parameters()).device.type != "cpu":
        return Threads(available, "the work is done by the accelerator")
    if available == 1:
        return Threads(1, "this process has one core")
    gain = _gain(_rehearsal(model, windows, config), available)
    chosen = available if gain >= _WORTH_IT else 1
    return Threads(chosen, f"this process has {available} cores, and all are {gain:.2g} times as fast as one")


def time_step(model: NPLM, windows: Windows, config: TrainConfig, seconds: float) -> float:
    """Seconds an update takes, the median over about `seconds` of updates to a copy of the model."""
    trainer = _rehearsal(model, windows, config)
    trainer.update()
    taken: list[float] = []
    while sum(taken) < seconds:
        taken.append(_timed(trainer))
    return sorted(taken)[len(taken) // 2]


def time_validation(model: NPLM, validation: Validation) -> float:
    """Seconds a validation takes, from scoring a part of it."""
    tokens = min(validation.tokens, 4 * model.score_batch)
    start = time.perf_counter()
    validation.part(model, tokens)
    return (time.perf_counter() - start) * validation.tokens / tokens


def _rehearsal(model: NPLM, windows: Windows, config: TrainConfig) -> Trainer:
    return Trainer(copy.deepcopy(model), windows, config, 1 << 30)


def _gain(trainer: Trainer, many: int) -> float:
    """How many times as fast updates are on `many` threads as on one.

    The two take turns, so that both meet the same machine; the totals are compared, because what threads
    lose to other programs shows in the slow updates and not in the fastest.
    """
    spent = {1: 0.0, many: 0.0}
    for turn in range(50):
        for count in (1, many):
            with threads(count):
                taken = _timed(trainer)
            if turn:  # the first one of each pays for allocation
                spent[count] += taken
        if turn and sum(spent.values()) > 0.5:
            break
    return spent[1] / spent[many]


def _timed(trainer: Trainer) -> float:
    start = time.perf_counter()
    trainer.update().item()
    return time.perf_counter() - start


class TrainingInterrupted(KeyboardInterrupt):
    """Training was asked to stop and did, after saving; the message says how to go on."""


class Wish:
    """Whether someone asked to stop."""

    asked = False


@contextmanager
def stop_on_signal() -> Iterator[Wish]:
    """Inside, SIGINT and SIGTERM only set `asked`; a second one has its usual effect. Elsewhere than in the main
    thread signals cannot be caught, and nothing changes."""
    wish = Wish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        wish.asked = True
        signal.signal(number, usual[signal.Signals(number)] or signal.SIG_DFL)

    for number in usual:
        signal.signal(number, note)
    try:
        yield wish
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler or signal.SIG_DFL)
