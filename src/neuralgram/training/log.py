"""The log of a run: every event as one line of JSON in `log.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuralgram.files import write_atomic
from neuralgram.training.events import Event, OnEvent, Saved, Warned

NAME = "log.jsonl"


class Log:
    """Passes each event to `on_event` and, with a `folder`, writes it there; losses are in nats.

    A run that goes on from `step` keeps the lines up to it: what a killed process did later is done again.
    """

    def __init__(self, folder: Path | None, on_event: OnEvent, step: int | None = None) -> None:
        self._on_event = on_event
        self._path = folder / NAME if folder else None
        if folder and self._path:
            folder.mkdir(parents=True, exist_ok=True)
            kept = [line for line in read_lines(self._path) if line["step"] <= step] if step is not None else []
            write_atomic(self._path, "".join(json.dumps(line) + "\n" for line in kept).encode())

    def __call__(self, event: Event) -> None:
        """Tell the listener, then the file."""
        self._on_event(event)
        if self._path is None or isinstance(event, Saved):
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(event.to_json()) + "\n")
        except OSError as error:
            path, self._path = self._path, None
            self._on_event(Warned(event.step, f"{path}: {error.strerror}; the run goes on without a log"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last line cut short by a crash is left out."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            lines.append(line)
    return lines
