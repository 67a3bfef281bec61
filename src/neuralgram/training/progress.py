"""A run as a person watches it: a bar on standard error, plain lines where that is no terminal."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from neuralgram.numbers import spaced
from neuralgram.training import events
from neuralgram.training.events import Event

if TYPE_CHECKING:
    from rich.progress import Progress

_LINE_SECONDS = 5.0  # between plain lines


class Display(AbstractContextManager["Display"]):
    """Shows the events it is called with; use it as `with Display() as show: fit(…, on_event=show)`.

    On a terminal it is a bar with tokens per second, the running training loss (nats a token, an average over recent
    updates), the validation perplexity and the time left; elsewhere lines with the same. `quiet` shows warnings only.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.quiet = quiet
        self._bar: Progress | None = None
        self._task: Any = None
        self._total = 0
        self._valid = ""
        self._shown = -_LINE_SECONDS

    def __call__(self, event: Event) -> None:
        """Show `event`."""
        if isinstance(event, events.Warned):
            self._line(f"warning: {event.message}")
        if self.quiet:
            return
        if isinstance(event, events.Note):
            self._line(event.message)
        elif isinstance(event, events.Started):
            self._start(event)
        elif isinstance(event, events.Progress):
            self._progress(event)
        elif isinstance(event, events.Evaluated):
            self._valid = f"valid ppl {event.valid_perplexity:.4g}"
            if self._bar is None:
                best = ", the best so far" if event.best else ""
                self._line(f"step {event.step}: validation perplexity {event.valid_perplexity:.4g}{best}")
        elif isinstance(event, events.Finished):
            self._finish(event)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()

    def _start(self, event: events.Started) -> None:
        self._total = event.total_steps
        from_step = f", from step {event.step}" if event.step else ""
        self._line(
            f"{spaced(event.parameters)} parameters; {spaced(event.total_steps)} steps of {event.batch_size} windows, "
            f"{spaced(event.steps_per_epoch)} an epoch{from_step}; {event.threads} threads, {event.precision}"
        )
        if self.stream.isatty():
            self._bar = _bar(self.stream)
            self._bar.start()
            self._task = self._bar.add_task("", total=event.total_steps, completed=event.step, text="")

    def _progress(self, event: events.Progress) -> None:
        speed = f"{spaced(event.tokens_per_second)} tokens/s"
        loss = f"running loss {event.running_loss:.3f} nats"
        text = "  ".join(part for part in (speed, loss, self._valid, f"{_clock(event.seconds_left)} left") if part)
        if self._bar is not None:
            self._bar.update(self._task, completed=event.step, text=text)
        elif event.seconds - self._shown >= _LINE_SECONDS:
            self._shown = event.seconds
            self._line(f"step {event.step}/{self._total}  {text}")

    def _finish(self, event: events.Finished) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=event.step)
            self._bar.stop()
            self._bar = None
        kept = ""
        if event.best_perplexity is not None:
            kept = f"; kept step {event.best_step}, validation perplexity {event.best_perplexity:.4g}"
        speed = f"{spaced(event.tokens_per_second)} tokens/s"
        self._line(f"{event.stopped} ({event.step} in {_clock(event.seconds)}, {speed}){kept}")

    def _line(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=self.stream, flush=True)


def _bar(stream: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.fields[text]}", markup=False))
    return Progress(*columns, console=Console(file=stream), transient=True, refresh_per_second=4)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
