"""The thread that drives a run while it plays, in short turns, so that every visitor's page stays alive."""

from __future__ import annotations

import threading
import time

from neuralgram.serving.explorer.run import Run

_TURN = 0.015  # seconds of training before others get theirs
_SEATS = threading.BoundedSemaphore(2)  # runs that train at one time, however many visitors there are


class Worker:
    """Plays one run.

    pace    updates a second, or None for all the machine gives
    again   whether it makes known steps again
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.pace: float | None = None
        self.again = False
        self.stopped_because = ""
        self._target: int | None = None
        self._endless = False
        self._held = False
        self._wake = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def playing(self) -> bool:
        """Whether updates are being made, or are about to be."""
        return self._target is not None and not self._held

    @property
    def target(self) -> int | None:
        """The step it plays to."""
        return self._target

    def play(self, until: int | None = None, *, again: bool = False) -> None:
        """Play until step `until`, paused, or at a limit; `again` says that these steps were made before."""
        with self._wake:
            self._go(self.run.limits.steps if until is None else until)
            self._endless, self.again = until is None, again

    def more(self, count: int) -> None:
        """Play `count` updates, after those that were asked for before."""
        with self._wake:
            waiting = None if self._endless else self._target
            self._go(count + (self.run.step if waiting is None else waiting))
            self._endless = self.again = False

    def _go(self, target: int) -> None:
        if self._closed:
            return
        self.stopped_because = ""
        self._target = target
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="explorer run", daemon=True)
            self._thread.start()
        self._wake.notify_all()

    def pause(self) -> None:
        """Stop after the update under way; returns when no more will be made."""
        with self._wake:
            self._target = None
        with self.run.lock:
            pass  # a turn under way holds the lock

    def hold(self, held: bool) -> None:
        """Make no updates while it is held, without waiting; then go on."""
        with self._wake:
            self._held = held
            self._wake.notify_all()

    def close(self) -> None:
        """Stop for good: the tab was closed."""
        with self._wake:
            self._closed, self._target = True, None
            self._wake.notify_all()

    def _loop(self) -> None:
        while True:
            with self._wake:
                while not self.playing and not self._closed:
                    self._wake.wait()
                if self._closed:
                    return
            started = time.perf_counter()
            with _SEATS:
                made = self._turn()
            self._settle()
            rest = 0.0005 if self.pace is None else made / self.pace - (time.perf_counter() - started)
            self._rest(max(0.0005, rest))

    def _turn(self) -> int:
        """Some updates; how many."""
        run = self.run
        with run.lock:
            before, started = run.step, time.perf_counter()
            most = run.limits.steps if self.pace is None else before + max(1, round(self.pace * _TURN))
            while time.perf_counter() - started < _TURN:
                target = self._target
                if target is None or self._held or not run.can_reach(min(target, most)):
                    break
                run.advance(min(target, most, run.step + 16))
            return run.step - before

    def _settle(self) -> None:
        """Stop where there is nothing left to do, and say why."""
        run, target = self.run, self._target
        if target is None or run.can_reach(target):
            return
        reason = ""
        if run.step >= run.limits.steps:
            reason = f"{run.limits.steps:,} steps are the most a run on this page makes"
        elif run.meter.over:
            reason = run.limits.spent
        with self._wake:
            if self._target == target:  # nobody asked for more meanwhile
                self._target, self.stopped_because = None, reason

    def _rest(self, seconds: float) -> None:
        """Wait, but no longer than until it is closed or paused."""
        with self._wake:
            if not self._closed and self._target is not None:
                self._wake.wait(min(seconds, 2.0))
