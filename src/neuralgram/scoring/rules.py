"""What decides whether a unit is kept: bounds on its value, quantiles of all values, buckets with stored cut-offs.

The value is the perplexity, or, with a reference model, the difference (nats − reference nats) / tokens of Moore &
Lewis (2010): low where a text is more like what the model was trained on than like what the reference was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.files import write_atomic

Floats = NDArray[np.float64]
BUCKETS = ("head", "middle", "tail")
SHARES = (0.3, 0.6)  # of the units, by perplexity, that head and head with middle hold, as CCNet cuts them
_BLOCK = 1 << 20
_BINS = 60  # of the histogram, six a factor of ten


class Verdict(NamedTuple):
    """Whether a unit is kept, why not, and its bucket where there are buckets."""

    kept: bool
    reason: str = ""
    bucket: str = ""


@dataclass(frozen=True)
class Bounds:
    """Keeps values from `low` to `high`, both included."""

    low: float = -math.inf
    high: float = math.inf
    of: str = "perplexity"

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise InputError(f"{self.of} from {self.low:g} to {self.high:g}: expected the smaller number first")

    def __call__(self, value: float) -> Verdict:
        """The verdict on one value; nothing scored is nothing kept."""
        if math.isnan(value):
            return Verdict(False, "nothing to score")
        if value < self.low:
            return Verdict(False, f"{self.of} {value:.6g} below {self.low:.6g}")
        if value > self.high:
            return Verdict(False, f"{self.of} {value:.6g} above {self.high:.6g}")
        return Verdict(True)


@dataclass(frozen=True)
class Buckets:
    """Head, middle and tail, by two cut-offs on the perplexity; keeps those named in `kept`."""

    head: float
    middle: float
    kept: tuple[str, ...] = ("head", "middle")

    def __post_init__(self) -> None:
        unknown = [name for name in self.kept if name not in BUCKETS]
        if unknown or not self.kept:
            raise InputError(f"bucket {', '.join(unknown) or 'none'}: expected some of {', '.join(BUCKETS)}")
        if not 0 <= self.head <= self.middle:
            raise InputError(f"cut-offs {self.head:g}, {self.middle:g}: expected head's first, and it the smaller")

    def __call__(self, value: float) -> Verdict:
        """The verdict on one perplexity; what cannot be scored is in the tail."""
        bucket = "head" if value <= self.head else "middle" if value <= self.middle else "tail"
        kept = bucket in self.kept
        return Verdict(kept, "" if kept else f"in the {bucket}: perplexity {value:.6g}", bucket)


Rule = Bounds | Buckets


def read_cutoffs(path: Path, language: str) -> tuple[float, float]:
    """Head's and middle's cut-offs for a language, from a JSON file `{"en": {"head": 341.0, "middle": 745.0}, …}`."""
    table = _cutoffs(path)
    found = table.get(language)
    if not isinstance(found, dict) or not {"head", "middle"} <= found.keys():
        raise InputError(
            f"{path}: no cut-offs for {language!r}, only for {', '.join(map(repr, table)) or 'none'}; "
            f"--learn-cutoffs makes them from a text"
        )
    try:
        return float(found["head"]), float(found["middle"])
    except (TypeError, ValueError):
        raise InputError(f"{path}: cut-offs for {language!r} are no numbers") from None


def write_cutoffs(path: Path, language: str, head: float, middle: float) -> None:
    """Set a language's cut-offs in a file, which keeps those of the others."""
    table = _cutoffs(path) if path.exists() else {}
    table[language] = {"head": head, "middle": middle}
    write_atomic(path, (json.dumps(table, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode())


def _cutoffs(path: Path) -> dict[str, object]:
    try:
        table = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}): expected cut-offs by language") from None
    if not isinstance(table, dict):
        raise InputError(f"{path}: expected cut-offs by language")
    return table


def share(text: str) -> tuple[float, float]:
    """`0.1:0.6` as two shares of the units; either may be left out."""
    first, colon, last = text.partition(":")
    try:
        low, high = float(first or 0), float(last or 1)
    except ValueError:
        low = high = math.nan
    if not colon or not 0 <= low < high <= 1:
        raise InputError(f"--keep {text}: expected two shares of the units, such as 0.1:0.6 or :0.5")
    return low, high


def quantile_bounds(values: Floats, low: float, high: float, of: str = "perplexity") -> Bounds:
    """The bounds that hold the units ranked from `low`·N to `high`·N by value, NaN left out; equal values are all in.

    `values` may be memory-mapped: they are read in blocks, and the two ranks are found exactly.
    """
    count = sum(int(np.count_nonzero(~np.isnan(block))) for block in _in_blocks(values))
    if not count:
        raise InputError("no unit could be scored: there are no quantiles to keep by")
    first = min(math.floor(low * count), count - 1)
    last = max(math.ceil(high * count) - 1, first)
    lowest = -math.inf if low == 0 else nth_smallest(values, first)
    return Bounds(lowest, math.inf if high == 1 else nth_smallest(values, last), of)


def nth_smallest(values: Floats, n: int) -> float:
    """The value of rank `n` (from 0) among those that are not NaN, exact, reading `values` in blocks four times."""
    prefix = 0
    for shift in (48, 32, 16, 0):
        counts = np.zeros(1 << 16, np.int64)
        for block in _in_blocks(values):
            keys = _sortable(block[~np.isnan(block)])
            if shift < 48:
                keys = keys[keys >> np.uint64(shift + 16) == prefix]
            counts += np.bincount(((keys >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64), minlength=1 << 16)
        digit = int(np.searchsorted(np.cumsum(counts), n, side="right"))
        n -= int(counts[:digit].sum())
        prefix = (prefix << 16) | digit
    bits = prefix ^ (1 << 63) if prefix >> 63 else prefix ^ ((1 << 64) - 1)
    return float(np.array([bits], np.uint64).view(np.float64)[0])


def _sortable(values: Floats) -> NDArray[np.uint64]:
    """Whole numbers in the order of the values: IEEE 754 bits, the sign turned."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # −0 is 0
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


def _in_blocks(values: Floats) -> Iterable[Floats]:
    return (np.asarray(values[start : start + _BLOCK]) for start in range(0, len(values), _BLOCK))


def histogram_bin(value: float) -> int:
    """The bin of a perplexity: six a factor of ten, from 1 on."""
    return 0 if not value > 1 else min(int(6 * math.log10(value)), _BINS - 1) if math.isfinite(value) else _BINS - 1


def bin_start(index: int) -> float:
    """Where a bin of the histogram begins."""
    return float(10 ** (index / 6))
