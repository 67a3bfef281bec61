"""Ctrl-C, and the signal a scheduler sends, as a wish to stop after the update in progress."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
