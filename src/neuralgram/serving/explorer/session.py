"""One visitor: what they chose, their run, and the models they can look at. Nothing here knows of a browser."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import cast

from neuralgram.errors import InputError
from neuralgram.serving.explorer.address import Address
from neuralgram.serving.explorer.run import Meter, Run
from neuralgram.serving.explorer.settings import DEFAULTS, Limits, Settings
from neuralgram.serving.explorer.snapshot import Snapshot, five_words
from neuralgram.serving.explorer.texts import Ready, prepare
from neuralgram.serving.explorer.worker import Worker
from neuralgram.textmodel import TextModel

TRAINING = "in training"
FIVE = "five words"
COUNTING = "n-gram of this text"


class Session:
    """One visitor's state. `models` are those the page was opened with, by name; more may appear.

    Whatever changes the run does so alone: of two who ask at once one waits for the other.
    """

    def __init__(self, limits: Limits | None = None, models: Mapping[str, TextModel] | None = None) -> None:
        self.limits = limits or Limits()
        self.meter = Meter(self.limits)
        self.models: Mapping[str, TextModel] = {} if models is None else models
        self.settings = DEFAULTS["animals"]
        self.own_text = ""
        self.ready: Ready | None = None
        self.run: Run | None = None
        self.worker: Worker | None = None
        self.closed = False
        self.away = False  # the connection is gone, perhaps for good
        self._alone = threading.RLock()
        self._five = five_words()
        self._shot: Snapshot | None = None
        self._pace: float | None = None

    # ---- the run ----

    def read(self, settings: Settings, own_text: str | None = None) -> Ready:
        """Take these settings and this text; the run so far ends. No PyTorch is needed yet.

        Raises `InputError` and leaves everything as it was where something is wrong.
        """
        with self._alone:
            text = self.own_text if own_text is None else own_text
            ready = prepare(settings, text, self.limits)
            self._end()
            self.settings, self.own_text, self.ready = settings, text, ready
            return ready

    def start(self) -> Run:
        """The run of these settings, at its start; it is made if it is not there yet."""
        with self._alone:
            if self.run is None:
                ready = self.ready or self.read(self.settings)
                self._keep(Run(ready, self.settings, self.limits, self.meter))
            return cast(Run, self.run)

    def take(self, settings: Settings, own_text: str | None = None) -> Run:
        """Both: read the text and make its network. Where something is wrong the run so far goes on."""
        with self._alone:
            text = self.own_text if own_text is None else own_text
            ready = prepare(settings, text, self.limits)
            run = Run(ready, settings, self.limits, self.meter)
            self._end()
            self.settings, self.own_text, self.ready = settings, text, ready
            self._keep(run)
            return run

    def _keep(self, run: Run) -> None:
        self.run, self.worker = run, Worker(run)
        self.worker.pace = self._pace
        self.worker.hold(self.away)
        if self.closed:
            self.worker.close()

    def play(self, count: int | None = None) -> None:
        """Make `count` updates more, or go on until it is paused."""
        with self._alone:
            self.start()
            worker = cast(Worker, self.worker)
            worker.play() if count is None else worker.more(count)

    def pause(self) -> None:
        """Stop; returns when no more updates will be made."""
        with self._alone:
            if self.worker is not None:
                self.worker.pause()

    def restore(self, address: Address) -> None:
        """What an address holds, its run played to its step again; a run that was asked for meanwhile goes on."""
        with self._alone:
            if self.settings != address.settings:
                if self.run is not None:
                    return
                self.read(address.settings)
            run = self.start()
            run.plan(address.changes)
            if run.step < address.step and not self.playing and self.worker is not None:
                self.worker.play(address.step, again=True)

    def retune(self, lr: float, weight_decay: float) -> None:
        """Go on with other rates."""
        with self._alone:
            if self.run is not None:
                self.run.retune(lr, weight_decay)

    def back(self) -> None:
        """From a divergence to the last good step."""
        with self._alone:
            if self.run is not None:
                self.run.back()

    def rewind(self) -> None:
        """Stop, and back to the same start."""
        with self._alone:
            if self.worker is not None and self.run is not None:
                self.worker.pause()
                self.run.rewind()
                self._shot = None

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
    def replaying(self) -> int | None:
        """The step that is being reached again, if one is."""
        worker = self.worker
        return worker.target if worker is not None and worker.again else None

    @property
    def pace(self) -> float | None:
        """Updates a second while playing; None: as fast as it goes."""
        return self._pace

    @pace.setter
    def pace(self, value: float | None) -> None:
        self._pace = value
        if self.worker is not None:
            self.worker.pace = value

    # ---- the visitor comes and goes: never waits ----

    def hold(self) -> None:
        """The connection is gone, perhaps with the tab: no work is done until it is back."""
        self.away = True
        if self.worker is not None:
            self.worker.hold(True)

    def resume(self) -> None:
        """The connection is back: what was held goes on."""
        self.away = False
        if self.worker is not None:
            self.worker.hold(False)

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
        given = [name for name, model in self.models.items() if model.model.kind == "nplm"]
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
        return self.reading(self.snapshot())

    def reading(self, shot: Snapshot | None) -> TextModel | None:
        """A moment of the run as a model of its text."""
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
