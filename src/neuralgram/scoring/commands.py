"""`score` and `filter` as calls: files of units in, files of units out, and what was found."""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from neuralgram.errors import InputError
from neuralgram.rng import generator
from neuralgram.scoring.judging import Judge
from neuralgram.scoring.parquet import read_blocks
from neuralgram.scoring.pipeline import Progress, State, beside, run
from neuralgram.scoring.rules import (
    SHARES,
    Bounds,
    Buckets,
    Floats,
    Rule,
    bin_start,
    quantile_bounds,
    read_cutoffs,
    share,
    write_cutoffs,
)
from neuralgram.scoring.units import FIELDS, Form, Source, sources
from neuralgram.scoring.working import FilterWork, Known, ScoreWork, ValueWork, compression

Tell = Callable[[Progress], None]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Reading:
    """Which units are read, how, and where what comes of them goes.

    out, rejects, broken   files, or None: standard output for `out`, nowhere for the others
    """

    files: Sequence[str] = ()
    unit: str | None = None
    field: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"
    out: Path | None = None
    rejects: Path | None = None
    broken: Path | None = None
    jobs: int | None = None
    overwrite: bool = False
    strict: bool = False

    @property
    def workers(self) -> int:
        """Processes that score: as asked, or a core each."""
        if self.jobs is not None and self.jobs < 1:
            raise InputError(f"jobs {self.jobs}: expected at least 1")
        return self.jobs or len(os.sched_getaffinity(0))

    def inputs(self) -> list[Source]:
        """The files, each with its form."""
        return sources(self.files, unit=self.unit, field=self.field)

    def form(self, name: str, adds: Sequence[str]) -> Form:
        """How a unit's text is found."""
        return Form(name, self.field or "text", self.encoding, self.errors, tuple(adds))

    @property
    def outputs(self) -> dict[str, Path | None]:
        """The files by what goes into them; `broken` beside the output where no other place is named."""
        broken = self.broken or (beside(self.out, ".broken") if self.out is not None else None)
        return {"main": self.out, "rejects": self.rejects, "broken": broken}


class Filtering(NamedTuple):
    """What is kept, by one of: bounds; `keep`, shares of the units by value; buckets by a language's cut-offs.

    sample  of `keep`: the quantiles of so many units drawn evenly, instead of all
    """

    low: float | None = None
    high: float | None = None
    keep: str | None = None
    sample: int | None = None
    cutoffs: Path | None = None
    language: str | None = None
    learn: bool = False
    buckets: tuple[str, ...] = ("head", "middle")
    add: bool = False
    seed: int = 0


class Task:
    """One command: what judges, what is read, and whom to tell.

    tell    of progress; `say` of what was decided
    stream  takes the output where it is no file
    """

    def __init__(
        self,
        judge: Judge,
        reading: Reading,
        *,
        tell: Tell = lambda progress: None,
        say: Say = lambda line: None,
        stream: IO[bytes] | None = None,
    ) -> None:
        self.reading, self.tell, self.say, self.stream = reading, tell, say, stream
        self.inputs = reading.inputs()
        self.judge = judge
        if self.inputs[0].form == "parquet":
            _check_parquet(reading)

    def score(self) -> dict[str, Any]:
        """Write every unit with its scores; the summary as JSON values."""
        self._adds([*FIELDS, *(["token_nats"] if self.judge.per_token else [])])
        outputs = {name: path for name, path in self.reading.outputs.items() if name != "rejects"}
        state = self._run(ScoreWork(self.judge, compression(self.reading.out)), outputs)
        return summary(state) | {"out": _shown(self.reading.out)}

    def filter(self, how: Filtering) -> dict[str, Any]:
        """Write the units that are kept; the summary as JSON values."""
        _check(how, self.judge, self.reading)
        self._adds([*FIELDS, "bucket", "reason"])
        rule, known = self._rule(how)
        outputs = self.reading.outputs
        packing = {name: compression(path) for name, path in outputs.items()}
        state = self._run(FilterWork(self.judge, rule, how.add, packing, known), outputs)
        if known is not None:
            Path(known.path).unlink(missing_ok=True)
        return summary(state) | {"out": _shown(self.reading.out), "rule": _told(rule), "histogram": _histogram(state)}

    def _adds(self, names: Sequence[str]) -> None:
        form = self.reading.form(self.inputs[0].form, [self.judge.prefix + name for name in names])
        self.judge = replace(self.judge, form=form)

    def _run(self, work: Any, outputs: Mapping[str, Path | None]) -> State:
        identity = [repr(work), _stamp(self.judge.model), _stamp(self.judge.reference)]
        return run(
            self.inputs,
            outputs,
            work,
            identity=identity,
            jobs=self.reading.workers,
            overwrite=self.reading.overwrite,
            strict=self.reading.strict,
            tell=self.tell,
            stream=self.stream,
        )

    def _rule(self, how: Filtering) -> tuple[Rule, Known | None]:
        """The rule, and the values of all units where a first pass found them."""
        of = "perplexity" if self.judge.reference is None else "difference"
        if how.keep is None and not how.learn:
            if how.cutoffs is not None:
                return Buckets(*read_cutoffs(how.cutoffs, how.language or ""), how.buckets), None
            return Bounds(
                -math.inf if how.low is None else how.low, math.inf if how.high is None else how.high, of
            ), None
        low, high = share(how.keep) if how.keep is not None else SHARES
        known = None if how.sample is not None else self._first_pass()
        values = self._sampled(how.sample or 0, how.seed) if known is None else known.values()
        said = "exact, of all units, in two passes" if known else f"of {len(values)} units drawn evenly from all"
        if how.learn and how.cutoffs is not None:
            head, middle = (quantile_bounds(values, 0, part).high for part in SHARES)
            write_cutoffs(how.cutoffs, how.language or "", head, middle)
            self.say(f"{how.cutoffs}: head up to {head:.6g}, middle up to {middle:.6g} for {how.language!r} ({said})")
            return Buckets(head, middle, how.buckets), known
        bounds = quantile_bounds(values, low, high, of)
        self.say(f"{of} from {bounds.low:.6g} to {bounds.high:.6g}, the quantiles {low:g} and {high:g} ({said})")
        return bounds, known

    def _first_pass(self) -> Known:
        reading = self.reading
        if reading.out is None:
            raise InputError(
                "quantiles of all units are found in a first pass, kept beside --out: give it, or --sample"
            )
        path = beside(reading.out, ".values")
        state = self._run(ValueWork(self.judge), {"values": path}) if not path.exists() else None
        starts, total = [], 0
        for number, source in enumerate(self.inputs):
            starts.append(total)
            total += sum(len(block.units) for block in read_blocks(source, number))
        if path.stat().st_size != 8 * total:
            raise InputError(f"{path}: values of other units; remove it")
        if state is not None and state.sums.get("broken"):
            self.say(f"{int(state.sums['broken'])} units cannot be read and have no value")
        return Known(str(path), tuple(starts))

    def _sampled(self, size: int, seed: int) -> Floats:
        """The values of `size` units drawn evenly from all: those with the smallest random numbers, a reservoir."""
        opened, rng = self.judge.open(), generator(seed, "units")
        kept: list[tuple[float, int, str]] = []
        met = 0
        for number, source in enumerate(self.inputs):
            for block in read_blocks(source, number):
                _, texts, _ = opened.read(block, source)
                for key, text in zip(rng.uniforms(len(texts)).tolist(), texts, strict=True):
                    met += 1
                    if len(kept) < size:
                        heapq.heappush(kept, (-key, met, text))
                    elif -key > kept[0][0]:
                        heapq.heapreplace(kept, (-key, met, text))
        found: list[float] = []
        for start in range(0, len(kept), 512):
            part = [text for _, _, text in kept[start : start + 512]]
            found += opened.values(part, opened.scores(part))
        return np.array(found)


def summary(state: State) -> dict[str, Any]:
    """The counts of a run as JSON values."""
    sums: dict[str, Any] = {
        name: int(value) if value == int(value) and name != "nats" else value
        for name, value in state.sums.items()
        if not name.startswith("bin ")
    }
    if sums.get("tokens"):
        nats, tokens = sums["nats"], sums["tokens"]
        sums["perplexity"] = math.exp(nats / tokens) if nats / tokens < 709 else math.inf
    if count := sums.pop("log_z tokens", 0):
        mean, square = sums.pop("log_z") / count, sums.pop("log_z squared") / count
        sums["log_z"] = {"mean": mean, "sd": math.sqrt(max(0.0, square - mean * mean)), "tokens": count}
    faults = [{"file": name, "unit": number, "reason": reason} for name, number, reason in state.faults]
    return {"units": 0, "broken": 0, **sums, "broken_units": faults}


def _stamp(path: str | None) -> Any:
    """What tells whether a model has changed: what its directory says of its files, or a file's size and time."""
    if path is None:
        return None
    story = Path(path) / "neuralgram.json"
    if story.is_file():
        return story.read_text(encoding="utf-8")
    found = Path(path) / "config.json" if Path(path).is_dir() else Path(path)
    return [found.stat().st_size, found.stat().st_mtime_ns] if found.exists() else None


def _check(how: Filtering, judge: Judge, reading: Reading) -> None:
    ways = [
        name
        for name, given in (
            ("bounds", how.low is not None or how.high is not None),
            ("--keep", how.keep is not None),
            ("--cutoffs", how.cutoffs is not None),
        )
        if given
    ]
    if len(ways) != 1:
        raise InputError(
            f"{', '.join(ways) or 'nothing'} to keep by: expected one of --max-perplexity/--min-perplexity "
            "(with --reference --max-difference/--min-difference), --keep, --cutoffs"
        )
    if how.sample is not None and how.keep is None and not how.learn:
        raise InputError(f"--sample {how.sample}: of --keep and --learn-cutoffs; leave it out")
    if how.sample is not None and how.sample < 1:
        raise InputError(f"--sample {how.sample}: expected at least 1 unit")
    if how.cutoffs is not None and how.language is None:
        raise InputError("--cutoffs: of which language? Give it with --language")
    if how.cutoffs is not None and judge.reference is not None:
        raise InputError("--cutoffs are perplexities: leave --reference out")
    twice = how.keep is not None or how.learn
    if twice and "-" in (reading.files or ("-",)):
        raise InputError("standard input is read once, quantiles take two readings: save it to a file first")


def _check_parquet(reading: Reading) -> None:
    for name, path in (("--out", reading.out), ("--rejects", reading.rejects)):
        if (path is None and name == "--out") or (path is not None and path.suffix not in (".parquet", ".pq")):
            raise InputError(f"{name} {path or '-'}: rows of Parquet are written to a .parquet file; name one")


def _told(rule: Rule) -> dict[str, Any]:
    told = dict(rule.__dict__)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}


def _histogram(state: State) -> list[dict[str, float]]:
    """The perplexities met, by bins: `from` and how many `units`."""
    bins = {int(name[4:]): int(value) for name, value in state.sums.items() if name.startswith("bin ")}
    return [
        {"from": bin_start(i), "units": bins.get(i, 0)} for i in range(min(bins, default=0), max(bins, default=-1) + 1)
    ]


def _shown(path: Path | None) -> str:
    return "-" if path is None else str(path)
