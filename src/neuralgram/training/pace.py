"""How fast a run is and how long it will take, told now and then."""

from __future__ import annotations

import time

from neuralgram.training.events import Progress
from neuralgram.training.loop import Steps

_SECONDS = 0.5  # between reports
_REPORTS = 200  # a log has at least so many lines, so that a short run's curve is a curve too


class Pace:
    """Counts updates of `batch_size` windows; `before` is how many seconds the run took before this process."""

    def __init__(self, step: int, total_steps: int, batch_size: int, before: float) -> None:
        self.total_steps = total_steps
        self.batch_size = batch_size
        self._begun = self._since = time.perf_counter()
        self._before = before
        self._first = step
        self._loss_sum, self._count = 0.0, 0

    def seconds(self) -> float:
        """Seconds the run has taken, all its processes together."""
        return self._before + time.perf_counter() - self._begun

    def pause(self, seconds: float) -> None:
        """Leave `seconds` just spent on something else out of the tokens per second."""
        self._since += seconds

    def report(self, done: Steps, steps_per_epoch: int) -> Progress | None:
        """Takes in updates just made; a report where one is due."""
        self._loss_sum += sum(done.losses)
        self._count += len(done.losses)
        now = time.perf_counter()
        if now - self._since < _SECONDS and self._count < self.total_steps / _REPORTS:
            return None
        made = max(done.step - self._first, 1)
        report = Progress(
            step=done.step,
            epoch=done.step / steps_per_epoch,
            running_loss=self._loss_sum / self._count,
            lr=done.lr,
            tokens_per_second=self._count * self.batch_size / max(now - self._since, 1e-9),
            seconds=self.seconds(),
            seconds_left=(now - self._begun) / made * (self.total_steps - done.step),
        )
        self._since, self._loss_sum, self._count = now, 0.0, 0
        return report
