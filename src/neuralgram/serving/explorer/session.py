"""One visitor: what they chose, their run, the thread that drives it, the models they see. No browser is known here."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import cast

from neuralgram.errors import InputError
from neuralgram.serving.explorer.address import Address
from neuralgram.serving.explorer.run import Run
from neuralgram.serving.explorer.settings import DEFAULTS, Limits, Settings
from neuralgram.serving.explorer.snapshot import Snapshot, five_words
from neuralgram.serving.explorer.texts import Ready, prepare
from neuralgram.textmodel import TextModel

_TURN = 0.015  # seconds of training before others get theirs
_SEATS = threading.BoundedSemaphore(2)  # runs that train at one time, however many visitors there are


class Worker:
    """The thread that plays one run, in short turns, so that every visitor's page stays alive.

    `pace` is updates a second, or None for all the machine gives.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.pace: float | None = None
        self.stopped_because = ""
        self._target: int | None = None
        self._wake = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def playing(self) -> bool:
        """Whether updates are being made, or are about to be."""
        return self._target is not None

    @property
    def target(self) -> int | None:
        """The step it plays to."""
        return self._target

    def play(self, until: int | None = None) -> None:
        """Play until step `until`, or until it is paused or a limit is reached."""
        with self._wake:
            if self._closed:
                return
            self.stopped_because = ""
            self._target = self.run.limits.steps if until is None else until
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="explorer run", daemon=True)
                self._thread.start()
            self._wake.notify_all()

    def halt(self) -> None:
        """Stop after the update under way, without waiting for it."""
        with self._wake:
            self._target = None

    def pause(self) -> None:
        """Stop after the update under way; returns when no more will be made."""
        self.halt()
        with self.run.lock:
            pass  # a turn under way holds the lock

    def close(self) -> None:
        """Stop for good: the tab was closed."""
        with self._wake:
            self._closed, self._target = True, None
            self._wake.notify_all()

    def _loop(self) -> None:
        while True:
            with self._wake:
                while self._target is None and not self._closed:
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
                if target is None or run.step >= min(target, most) or run.diverged is not None:
                    break
                run.advance(min(target, most, run.step + 16))
            return run.step - before

    def _settle(self) -> None:
        """Stop where there is nothing left to do, and say why."""
        run, target = self.run, self._target
        if target is None:
            return
        reason = ""
        if run.step >= run.limits.steps:
            reason = f"{run.limits.steps:,} steps are the most a run on this page makes"
        elif run.seconds >= run.limits.seconds:
            reason = (
                f"{run.limits.seconds:,.0f} seconds are the most a visitor may train; rewind does not give them back"
            )
        if run.diverged is not None or reason or run.step >= target:
            with self._wake:
                if self._target == target:  # nobody asked for more meanwhile
                    self._target, self.stopped_because = None, reason

    def _rest(self, seconds: float) -> None:
        """Wait, but no longer than until it is closed or paused."""
        with self._wake:
            if not self._closed and self._target is not None:
                self._wake.wait(min(seconds, 2.0))


TRAINING = "in training"
FIVE = "five words"
COUNTING = "n-gram of this text"


class Session:
    """One visitor's state. `models` are those the page was opened with, by name; more may appear."""

    def __init__(self, limits: Limits | None = None, models: Mapping[str, TextModel] | None = None) -> None:
        self.limits = limits or Limits()
        self.models: Mapping[str, TextModel] = {} if models is None else models
        self.settings = DEFAULTS["animals"]
        self.own_text = ""
        self.ready: Ready | None = None
        self.run: Run | None = None
        self.worker: Worker | None = None
        self.closed = False
        self.away = False  # the connection is gone, perhaps for good
        self._five = five_words()
        self._shot: Snapshot | None = None
        self._pace: float | None = None
        self._held: tuple[Worker, int | None] | None = None

    # ---- the run ----

    def read(self, settings: Settings, own_text: str | None = None) -> Ready:
        """Take these settings and this text; the run so far ends. No PyTorch is needed yet.

        Raises `InputError` and leaves everything as it was where something is wrong.
        """
        text = self.own_text if own_text is None else own_text
        ready = prepare(settings, text, self.limits)
        self._end()
        self.settings, self.own_text, self.ready = settings, text, ready
        return ready

    def start(self) -> Run:
        """The run of these settings, at its start; it is made if it is not there yet."""
        if self.run is None:
            ready = self.ready or self.read(self.settings)
            self._keep(Run(ready, self.settings, self.limits))
        return cast(Run, self.run)

    def take(self, settings: Settings, own_text: str | None = None) -> Run:
        """Both: read the text and make its network. Where something is wrong the run so far goes on."""
        text = self.own_text if own_text is None else own_text
        ready = prepare(settings, text, self.limits)
        run = Run(ready, settings, self.limits)
        self._end()
        self.settings, self.own_text, self.ready = settings, text, ready
        self._keep(run)
        return run

    def _keep(self, run: Run) -> None:
        self.run, self.worker = run, Worker(run)
        self.worker.pace = self._pace
        if self.closed:
            self.worker.close()

    def restore(self, address: Address) -> None:
        """What an address holds, replayed to its step."""
        self.read(address.settings)
        if address.step or address.changes:
            self.start().run_to(address.step, address.changes)

    def address(self, view: str, looks: Mapping[str, str]) -> Address:
        """This state as an address."""
        run = self.run
        if run is None or self.settings.own:
            return Address(view, self.settings, 0, (), looks)
        with run.lock:
            return Address(view, self.settings, run.step, tuple(run.changes), looks)

    @property
    def playing(self) -> bool:
        """Whether the run is under way."""
        return self.worker is not None and self.worker.playing

    @property
    def pace(self) -> float | None:
        """Updates a second while playing; None: as fast as it goes."""
        return self._pace

    @pace.setter
    def pace(self, value: float | None) -> None:
        self._pace = value
        if self.worker is not None:
            self.worker.pace = value

    def rewind(self) -> None:
        """Stop, and back to the same start."""
        if self.worker is not None and self.run is not None:
            self.worker.pause()
            self.run.rewind()
            self._shot = None

    def hold(self) -> None:
        """The connection is gone, perhaps with the tab: no work is done until it is back."""
        self.away = True
        if self.worker is not None and self.worker.playing:
            self._held = (self.worker, self.worker.target)
            self.worker.halt()

    def resume(self) -> None:
        """The connection is back: what was held goes on."""
        self.away = False
        held, self._held = self._held, None
        if held is not None and held[0] is self.worker:
            self.worker.play(held[1])

    def close(self) -> None:
        """The tab is gone: its work stops."""
        self.closed = True
        self._end()

    def _end(self) -> None:
        if self.worker is not None:
            self.worker.close()
        if self.run is not None:
            self.run.cancelled = True
        self.run = self.worker = self._shot = None

    # ---- models to look at ----

    def networks(self) -> list[str]:
        """Names of the networks that can be opened."""
        given = [name for name, model in self.models.items() if getattr(model.model, "kind", "") == "nplm"]
        return [TRAINING, FIVE, *given]

    def snapshot(self) -> Snapshot | None:
        """The run's weights as they are now; the same object while nothing has changed."""
        if self.run is None:
            return None
        if self._shot is None or self._shot.step != self.run.step:
            self._shot = self.run.snapshot()
        return self._shot

    def network(self, name: str) -> TextModel | None:
        """The network of that name, at this moment; None where the run is not there yet."""
        if name == FIVE:
            return self._five
        if name in self.models:
            return self.models[name]
        if name != TRAINING:
            raise InputError(f"network {name!r}: expected one of {', '.join(self.networks())}")
        shot = self.snapshot()
        if shot is None or self.ready is None:
            return None
        return TextModel(shot, self.ready.tokenizer, self.ready.boundary)

    def beside(self, name: str) -> dict[str, TextModel]:
        """The models that read the same tokens as the model `name`: for the run's, its n-gram first."""
        model = self.models.get(name) or self.network(TRAINING)
        counting = self.counting()
        if model is None or counting is None:
            return {}
        own = {COUNTING: counting} if name == TRAINING else {}
        wanted = (model.tokenizer.hash, model.boundary)
        same = {n: m for n, m in self.models.items() if (m.tokenizer.hash, m.boundary) == wanted and n != name}
        return own | same

    def counting(self) -> TextModel | None:
        """The tuned add-k n-gram of the text, or None before there is one."""
        ready = self.ready
        return None if ready is None else TextModel(ready.add_k, ready.tokenizer, ready.boundary)
