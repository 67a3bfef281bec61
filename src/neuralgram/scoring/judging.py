"""Blocks of units judged by a model: scored, or kept and dropped. Runs in workers: small and picklable."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neuralgram.errors import TextError
from neuralgram.scoring import parquet
from neuralgram.scoring.pipeline import Done, Fault
from neuralgram.scoring.rules import Floats, Rule, Verdict, histogram_bin
from neuralgram.scoring.units import Block, Broken, Form, Scored, Source, body, cells, with_cells
from neuralgram.textmodel import TextModel


@dataclass(frozen=True)
class Judge:
    """What scores units in every worker: a model by its path, and what is said of each unit.

    reference     a second model: values are differences to it
    unnormalized  scores without the sum over the vocabulary
    end           whether the end of each unit is scored
    """

    model: str
    form: Form = field(default_factory=Form)
    reference: str | None = None
    unnormalized: bool = False
    end: bool = True
    per_token: bool = False
    prefix: str = ""
    threads: int | None = 1

    def open(self) -> Opened:
        """The models loaded; on `threads` threads."""
        return Opened(self)


class Opened:
    """A judge with its models in memory."""

    def __init__(self, judge: Judge) -> None:
        from neuralgram.textmodel import load

        self.judge = judge
        self.model = load(judge.model)
        self.reference = load(judge.reference) if judge.reference else None
        if judge.threads is not None:
            _limit_threads(judge.threads)

    def read(self, block: Block, source: Source) -> tuple[list[int], list[str], list[Fault]]:
        """Which units of a block can be read, their texts, and what is wrong with the others."""
        places, texts, faults = [], [], []
        for place, unit in enumerate(block.units):
            own = unit if source.form in ("document", "parquet") else body(unit)[0]
            if block.number + place == 1:
                own = own.removeprefix(b"\xef\xbb\xbf")
            if source.form == "json" and not own.strip():
                continue
            try:
                text = self.judge.form.text(own)
                texts.append(text or ("\n" if self.model.boundary == "line" else ""))  # an empty line is a line
                places.append(place)
            except Broken as error:
                faults.append(Fault(block.number + place, str(error)))
        return places, texts, faults

    def scores(self, texts: Sequence[str]) -> list[Scored]:
        """The scores of each text."""
        return scored(
            self.model, texts, unnormalized=self.judge.unnormalized, end=self.judge.end, per_token=self.judge.per_token
        )

    def read_and_score(self, block: Block, source: Source) -> tuple[list[int], list[str], list[Scored], list[Fault]]:
        """As `read`, with the scores; a text that a tokenizer cannot read is a fault as well."""
        places, texts, faults = self.read(block, source)
        try:
            return places, texts, self.scores(texts), faults
        except TextError:
            kept = []
            for place, text in zip(places, texts, strict=True):
                try:
                    kept.append((place, text, self.scores([text])[0]))
                except TextError as error:
                    faults.append(Fault(block.number + place, str(error)))
        faults.sort()
        columns = zip(*kept, strict=True) if kept else ((), (), ())
        return (*map(list, columns), faults)  # type: ignore[return-value]

    def values(self, texts: Sequence[str], found: Sequence[Scored]) -> list[float]:
        """What a rule looks at: the perplexity, or the difference to the reference in nats a token."""
        if self.reference is None:
            return [one.perplexity for one in found]
        other = scored(self.reference, texts, end=self.judge.end)
        return [
            (one.nats - two.nats) / one.tokens if one.tokens and two.tokens else math.nan
            for one, two in zip(found, other, strict=True)
        ]


def scored(
    model: TextModel, texts: Sequence[str], *, unnormalized: bool = False, end: bool = True, per_token: bool = False
) -> list[Scored]:
    """Scores of many texts at once."""
    found = model.scores(texts, ends=end)
    columns = (found.tokens, found.unknown, found.totals, found.perplexity, found.bits_per_byte)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    if not per_token:
        return [Scored(*row) for row in rows]
    return [Scored(*row)._replace(per_token=one.nats) for row, one in zip(rows, found, strict=True)]


def _limit_threads(count: int) -> None:
    """PyTorch's, where it has been loaded: workers share the cores among themselves."""
    import sys

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


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
        places, _, found, faults = opened.read_and_score(block, source)
        if source.form == "parquet":
            batch = parquet.with_scores(block, places, found, self.judge.prefix)
            return Done({"main": parquet.rows(batch, [True] * batch.num_rows)}, _sums(found, len(faults)), faults)
        main = [
            with_cells(block.units[place], source.form, _named(cells(one), self.judge.prefix), source.path)
            for place, one in zip(places, found, strict=True)
        ]
        sums = _sums(found, len(faults))
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
        sums = {"units": len(places) + len(faults), "broken": len(faults), **counted}
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
