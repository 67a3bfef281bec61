"""What is done to a block of units: scored, valued in a first pass, or kept and dropped. Runs in workers, picklable."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neuralgram.scoring import parquet
from neuralgram.scoring.judging import Judge, Opened
from neuralgram.scoring.pipeline import Done, Fault
from neuralgram.scoring.rules import Floats, Rule, Verdict, histogram_bin
from neuralgram.scoring.units import Block, Scored, Source, cells, lines_with_scores, with_cells


@dataclass(frozen=True)
class ScoreWork:
    """Every unit with its scores, in `main`; what is broken, as it was, in `broken`."""

    judge: Judge
    compress: str = ""

    def __call__(self) -> Callable[[Block, Source], Done]:
        """The work of one worker, its models loaded."""
        opened = self.judge.open()
        return lambda block, source: self._block(opened, block, source)

    def _block(self, opened: Opened, block: Block, source: Source) -> Done:
        places, texts, found, faults = opened.read_and_score(block, source)
        sums = _sums(found, len(faults)) | opened.log_z(texts)
        if source.form == "parquet":
            batch = parquet.with_scores(block, places, found, self.judge.prefix)
            return Done({"main": parquet.rows(batch, [True] * batch.num_rows)}, sums, faults)
        if source.form == "text" and not self.judge.per_token:
            main = lines_with_scores([block.units[place] for place in places], found)
            return Done({"main": packed(main, self.compress), "broken": _broken(block, faults)}, sums, faults)
        main = [
            with_cells(block.units[place], source.form, _named(cells(one), self.judge.prefix), source.path)
            for place, one in zip(places, found, strict=True)
        ]
        outputs = {"main": packed(main, self.compress), "broken": _broken(block, faults)}
        return Done(outputs, sums, faults)


@dataclass(frozen=True)
class ValueWork:
    """The value of every unit that can be read, NaN for the others, as float64 in `values`: a first pass."""

    judge: Judge

    def __call__(self) -> Callable[[Block, Source], Done]:
        """The work of one worker, its models loaded."""
        opened = self.judge.open()
        return lambda block, source: self._block(opened, block, source)

    def _block(self, opened: Opened, block: Block, source: Source) -> Done:
        places, texts, found, faults = opened.read_and_score(block, source)
        values = np.full(len(block.units), np.nan)
        values[places] = opened.values(texts, found)
        return Done({"values": values.tobytes()}, _sums(found, len(faults)), faults)


class Known(NamedTuple):
    """The values of all units, float64, in a file; `starts` is where those of each source begin."""

    path: str
    starts: tuple[int, ...]

    def values(self) -> Floats:
        """Them, memory-mapped."""
        return np.memmap(self.path, np.float64, "r") if Path(self.path).stat().st_size else np.zeros(0)


class Judged(NamedTuple):
    """A block and what was found: the units that can be read, their scores and verdicts, the faults of others."""

    block: Block
    source: Source
    places: Sequence[int]
    found: Sequence[Scored]
    verdicts: Sequence[Verdict]
    faults: Sequence[Fault]


@dataclass(frozen=True)
class FilterWork:
    """Kept units as they were in `main` (with `add`, with their scores), the others with the reason in `rejects`.

    known  the values of all units, from a first pass: then nothing is scored again
    """

    judge: Judge
    rule: Rule
    add: bool = False
    compress: Mapping[str, str] = field(default_factory=dict)
    known: Known | None = None

    def __call__(self) -> Callable[[Block, Source], Done]:
        """The work of one worker, its models loaded."""
        opened = self.judge.open()
        known = None if self.known is None else self.known.values()
        return lambda block, source: self._block(opened, known, block, source)

    def _block(self, opened: Opened, known: Floats | None, block: Block, source: Source) -> Done:
        if known is None or self.add:
            places, texts, found, faults = opened.read_and_score(block, source)
        else:
            places, texts, faults = opened.read(block, source)
            found = []
        if known is None:
            values = opened.values(texts, found)
        else:
            start = (self.known.starts[block.source] if self.known else 0) + block.number - 1
            values = [float(known[start + place]) for place in places]
        verdicts = [self.rule(value) for value in values]
        counted: Counter[str] = Counter()
        for verdict, value in zip(verdicts, values, strict=True):
            counted[f"bin {histogram_bin(value)}"] += not math.isnan(value)
            counted["kept" if verdict.kept else "dropped"] += 1
            counted.update([verdict.bucket] if verdict.bucket else [])
        sums: dict[str, float] = {"units": len(places) + len(faults), "broken": len(faults), **counted}
        sums |= opened.log_z(texts) if known is None else {}
        write = self._rows if source.form == "parquet" else self._lines
        return Done(write(Judged(block, source, places, found, verdicts, faults)), sums, faults)

    def _lines(self, judged: Judged) -> dict[str, bytes]:
        block, source, places, found, verdicts, faults = judged
        kept: list[bytes] = []
        rejected: list[bytes] = []
        for i, (place, verdict) in enumerate(zip(places, verdicts, strict=True)):
            added = cells(found[i]) if self.add else []
            (kept if verdict.kept else rejected).append(self._written(block.units[place], source, verdict, added))
        return {
            "main": packed(kept, self.compress.get("main", "")),
            "rejects": packed(rejected, self.compress.get("rejects", "")),
            "broken": _broken(block, faults),
        }

    def _rows(self, judged: Judged) -> dict[str, bytes]:
        """Rows of Parquet; those without a text are among the rejects."""
        block, _, places, found, verdicts, faults = judged
        prefix = self.judge.prefix
        batch = parquet.with_scores(block, places, found, prefix) if self.add else parquet.plain(block)
        why = {fault.number - block.number: Verdict(False, fault.reason) for fault in faults}
        why |= dict(zip(places, verdicts, strict=True))
        told = [why[place] for place in range(len(block.units))]
        if any(verdict.bucket for verdict in told):
            batch = parquet.with_words(batch, prefix + "bucket", [verdict.bucket or None for verdict in told])
        rejected = parquet.with_words(batch, prefix + "reason", [verdict.reason for verdict in told])
        return {
            "main": parquet.rows(batch, [verdict.kept for verdict in told]),
            "rejects": parquet.rows(rejected, [not verdict.kept for verdict in told]),
        }

    def _written(self, unit: bytes, source: Source, verdict: Verdict, added: list[tuple[str, str]]) -> bytes:
        if verdict.bucket and (self.add or not verdict.kept):
            added = [*added, ("bucket", f'"{verdict.bucket}"')]
        if not verdict.kept:
            added = [*added, ("reason", f'"{verdict.reason}"')]
        if added:
            return with_cells(unit, source.form, _named(added, self.judge.prefix), source.path)
        return source.path.encode() + b"\n" if source.form == "document" else _closed(unit)


def _closed(unit: bytes) -> bytes:
    """A line that has an end, so that the next one does not run into it."""
    return unit if unit.endswith(b"\n") else unit + b"\n"


def _named(added: list[tuple[str, str]], prefix: str) -> list[tuple[str, str]]:
    return [(prefix + name, value) for name, value in added] if prefix else added


def _broken(block: Block, faults: Sequence[Fault]) -> bytes:
    return b"".join(_closed(block.units[fault.number - block.number]) for fault in faults)


def _sums(found: Sequence[Scored], broken: int) -> dict[str, float]:
    return {
        "units": len(found) + broken,
        "broken": broken,
        "tokens": sum(one.tokens for one in found),
        "unknown": sum(one.unknown for one in found),
        "nats": math.fsum(one.nats for one in found),
    }


def packed(units: Sequence[bytes], how: str) -> bytes:
    """Units one after another; with `how` gz or zst compressed as a whole member or frame of its own."""
    data = b"".join(units)
    if not how or not data:
        return data
    if how == "gz":
        return gzip.compress(data, 6, mtime=0)
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


def compression(path: Path | None) -> str:
    """`gz` or `zst` by a file's name, "" for none."""
    return path.suffix[1:] if path is not None and path.suffix in (".gz", ".zst") else ""
