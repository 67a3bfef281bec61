"""From units to units: read in blocks, worked on by all cores, written in order, and resumable at any moment.

The parent reads and writes, workers do the rest. Output grows in FILE.partial; after some blocks it is flushed to disk
and FILE.progress says how far it is whole, so that a run that was killed goes on from there: nothing is lost and
nothing stands twice. FILE itself appears when all is done.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from neuralgram.errors import InputError
from neuralgram.files import write_atomic
from neuralgram.scoring.parquet import read_blocks
from neuralgram.scoring.units import Block, Source

SAVE_SECONDS = 2.0  # between notes of how far a run is; they change no byte of its output
_AHEAD = 3  # blocks in flight for each worker


class Fault(NamedTuple):
    """A unit that could not be read: its number in its source, and why."""

    number: int
    reason: str


class Done(NamedTuple):
    """What a worker made of a block: bytes for each output, how many units of each kind, and what was broken.

    sums  named counts that are added up over all blocks
    """

    outputs: Mapping[str, bytes]
    sums: Mapping[str, float]
    faults: Sequence[Fault] = ()


class Work(Protocol):
    """What is done to a block; made once in every worker by a picklable function."""

    def __call__(self, block: Block, source: Source) -> Done:
        """The outputs of a block."""


@dataclass
class State:
    """How far a run is: JSON values. `sizes` are the bytes of each output that are whole on disk."""

    identity: str
    source: int = 0
    read: int = 0  # bytes of that source, uncompressed
    units: int = 0  # of that source
    sizes: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    faults: list[list[Any]] = field(default_factory=list)


class Progress(NamedTuple):
    """Told now and then: units done in all, units a second of this run, seconds left where they can be known."""

    units: int
    rate: float
    left: float | None


_KEPT_FAULTS = 20  # that are named one by one


def run(
    inputs: Sequence[Source],
    outputs: Mapping[str, Path | None],
    make: Callable[[], Work],
    *,
    identity: Any,
    jobs: int = 1,
    overwrite: bool = False,
    strict: bool = False,
    tell: Callable[[Progress], None] = lambda progress: None,
    stream: IO[bytes] | None = None,
) -> State:
    """Work on every unit of `inputs`, in order; a run of the same `identity` that was stopped goes on.

    outputs   files by the names that `Done.outputs` uses; None: what is for `main` goes to `stream`, the rest nowhere
    make      makes the `Work` of a worker (it loads the models)
    identity  what decides the outputs, JSON values: models, inputs and options
    strict    whether a broken unit stops the run

    Raises `InputError` for an output that exists, or that another command began.
    """
    writer = _Writer(
        outputs, _digest(identity, inputs), overwrite, stream, inputs[0].form == "parquet" and "values" not in outputs
    )
    blocks = _blocks(inputs, writer.state)
    clock = _Clock(inputs, writer.state, tell)
    with writer, _workers(make, inputs, jobs) as work:
        for block, done in work(blocks):
            if strict and done.faults:
                fault = done.faults[0]
                raise InputError(f"{inputs[block.source].name}, unit {fault.number}: {fault.reason}")
            writer.take(block, done, inputs)
            clock.after(writer.state)
        writer.finish()
    clock.after(writer.state, last=True)
    return writer.state


def _digest(identity: Any, inputs: Sequence[Source]) -> str:
    told = [identity, [[*source, source.bytes] for source in inputs]]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def _blocks(inputs: Sequence[Source], state: State) -> Iterator[Block]:
    for number, source in enumerate(inputs):
        if number < state.source:
            continue
        begun = number == state.source
        yield from read_blocks(source, number, skip=state.read if begun else 0, done=state.units if begun else 0)


class _Writer:
    """The outputs and the note of how far they are whole."""

    def __init__(
        self,
        outputs: Mapping[str, Path | None],
        identity: str,
        overwrite: bool,
        stream: IO[bytes] | None,
        parquet: bool,
    ) -> None:
        self.paths = {name: path for name, path in outputs.items() if path is not None}
        self.stream, self.parquet = stream, parquet
        self.state = State(identity)
        first = next(iter(self.paths.values()), None)
        self.note = None if first is None else beside(first, ".progress")
        self._settle(overwrite)
        self.files = {name: self._open(name, path) for name, path in self.paths.items()}
        self.saved = time.monotonic()

    def _settle(self, overwrite: bool) -> None:
        """Go on with what was begun, or refuse to write over what is not ours."""
        begun = None if self.note is None else _read_note(self.note)
        if begun is not None and begun.identity == self.state.identity:
            self.state = begun
            return
        for path in self.paths.values():
            if not overwrite and (path.exists() or begun is not None):
                why = "exists already" if path.exists() else "was begun by another command, or of other files"
                raise InputError(f"{path}: {why}; choose another name, or --overwrite it")

    def _open(self, name: str, path: Path) -> IO[bytes]:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = beside(path, ".partial")
        size = self.state.sizes.get(name, 0)
        if size and not partial.exists() and path.is_file() and path.stat().st_size == size:
            path.replace(partial)  # killed while the outputs were given their names
        if size and (not partial.is_file() or partial.stat().st_size < size):
            raise InputError(f"{partial}: shorter than its note says; begin again with --overwrite")
        file = partial.open("r+b" if partial.exists() else "w+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{path}: another command is writing it; wait for it, or choose another name") from None
        file.truncate(size)
        file.seek(size)
        return file

    def __enter__(self) -> None:
        """Files are open; leaving closes them, and keeps what is whole for another run to go on with."""

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None and self.state.sums:
            self.save()
        for file in self.files.values():
            file.close()
        if kind is not None and not self.state.sums:
            self._forget()

    def _forget(self) -> None:
        """Nothing was done: leave nothing behind."""
        for path in self.paths.values():
            beside(path, ".partial").unlink(missing_ok=True)
        if self.note is not None:
            self.note.unlink(missing_ok=True)

    def take(self, block: Block, done: Done, inputs: Sequence[Source]) -> None:
        state = self.state
        for name, data in done.outputs.items():
            if name in self.files:
                self.files[name].write(data)
            elif name == "main" and self.stream is not None:
                self.stream.write(data)
        state.source, state.read = block.source, block.end
        state.units = block.number + len(block.units) - 1
        for name, value in done.sums.items():
            state.sums[name] = state.sums.get(name, 0) + value
        kept = [[inputs[block.source].name, *fault] for fault in done.faults]
        state.faults += kept[: _KEPT_FAULTS - len(state.faults)]
        if time.monotonic() - self.saved > SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        for name, file in self.files.items():
            file.flush()
            os.fsync(file.fileno())
            self.state.sizes[name] = file.tell()
        if self.note is not None:
            write_atomic(self.note, json.dumps(self.state.__dict__).encode())
        self.saved = time.monotonic()

    def finish(self) -> None:
        """All is done: the outputs get their names, and the note goes."""
        self.save()
        for name, path in self.paths.items():
            partial = beside(path, ".partial")
            if name == "broken" and not self.state.sizes[name]:
                partial.unlink()
                path.unlink(missing_ok=True)
            elif self.parquet and name != "broken":
                from neuralgram.scoring.parquet import finish

                finish(partial, path)
                partial.unlink()
            else:
                partial.replace(path)
        if self.note is not None:
            self.note.unlink(missing_ok=True)
            for left in self.note.parent.glob(f".{glob.escape(self.note.name)}.*.tmp"):  # by runs that were killed
                left.unlink(missing_ok=True)


def beside(path: Path, end: str) -> Path:
    """The file beside `path` whose name goes on with `end`."""
    return path.with_name(path.name + end)


def _read_note(path: Path) -> State | None:
    try:
        return State(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise InputError(f"{path}: not a note of a run; begin again with --overwrite, after removing it") from None


class _Clock:
    """Tells of progress at most twice a second."""

    def __init__(self, inputs: Sequence[Source], state: State, tell: Callable[[Progress], None]) -> None:
        self.tell, self.begun, self.told = tell, time.monotonic(), 0.0
        sizes = [source.bytes for source in inputs]
        plain = all(not source.path.endswith((".gz", ".zst")) for source in inputs)
        self.total = sum(size or 0 for size in sizes) if plain and None not in sizes else None
        self.before = [size or 0 for size in sizes]
        self.start_read = self._read(state)
        self.start_units = state.sums.get("units", 0)

    def _read(self, state: State) -> int:
        return sum(self.before[: state.source]) + state.read

    def after(self, state: State, *, last: bool = False) -> None:
        now = time.monotonic()
        if not last and now - self.told < 0.5:
            return
        self.told, spent = now, max(now - self.begun, 1e-9)
        units, read = state.sums.get("units", 0), self._read(state)
        left = None
        if self.total is not None and read > self.start_read:
            left = (self.total - read) * spent / (read - self.start_read)
        self.tell(Progress(int(units), (units - self.start_units) / spent, left))


# ---- workers ----

_own: dict[str, Any] = {}


def _begin(make: Callable[[], Work], inputs: Sequence[Source]) -> None:
    _own["work"], _own["inputs"] = make(), inputs


def _work(block: Block) -> Done:
    done: Done = _own["work"](block, _own["inputs"][block.source])
    return done


class _workers:
    """Maps blocks to what is made of them, in order, with a bounded number in flight."""

    def __init__(self, make: Callable[[], Work], inputs: Sequence[Source], jobs: int) -> None:
        self.make, self.inputs, self.jobs = make, inputs, jobs
        self.pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Callable[[Iterable[Block]], Iterator[tuple[Block, Done]]]:
        if self.jobs == 1:
            work = self.make()
            return lambda blocks: ((block, work(block, self.inputs[block.source])) for block in blocks)
        self.pool = ProcessPoolExecutor(
            self.jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(self.make, self.inputs)
        )
        return self._map

    def _map(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, Done]]:
        assert self.pool is not None  # entered with several jobs
        waiting: deque[tuple[Block, Future[Done]]] = deque()
        try:
            for block in blocks:
                waiting.append((block, self.pool.submit(_work, block)))
                if len(waiting) >= _AHEAD * self.jobs:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        except BrokenProcessPool:
            raise InputError(
                "a worker was ended from outside (out of memory?): run the command again, perhaps with fewer --jobs"
            ) from None

    def __exit__(self, *error: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)
