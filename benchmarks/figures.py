"""What the benchmarks find, as data: each figure beside its target, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from neuralgram.numbers import spaced


@dataclass(frozen=True)
class Figure:
    """One number of the page's first table.

    row        1 … 8, the group it belongs to (`ROWS`)
    what       what was measured, over what
    value      in `unit`: × (a ratio), % (of a difference), tokens/s, µs; None where there is none: `note` says why
    target     what was asked for; None for a peer, which only stands beside
    direction  ">=": the value is to be at least the target; "<=": at most
    precision  fp32 or bf16; empty where nothing is multiplied
    """

    row: int
    what: str
    value: float | None
    target: float | None = None
    direction: str = ">="
    threads: int = 1
    precision: str = "fp32"
    unit: str = "×"
    note: str = ""

    def __post_init__(self) -> None:
        if self.row not in ROWS or self.direction not in (">=", "<="):
            raise ValueError(f"figure {self.what!r}: expected a row 1 … {len(ROWS)} and a direction of >= or <=")


ROWS = {
    1: "A training step, exact softmax",
    2: "The kernel over its bare products",
    3: "Small models: names",
    4: "Large vocabularies",
    5: "Scoring",
    6: "Memory",
    7: "Counting",
    8: "Filtering",
}


def missing(figure: Figure) -> float | None:
    """The share of the target the value falls short of it, or exceeds it where it is a bound; 0 where met.

    None where there is no value or no target.
    """
    if figure.value is None or figure.target is None:
        return None
    ratio = figure.value / figure.target
    return max(0.0, 1 - ratio if figure.direction == ">=" else ratio - 1)


def verdict(figure: Figure) -> str:
    """`met`, `missed by 12%`, `a peer` where nothing was asked, or what `note` says of a figure that is not there."""
    if figure.value is None:
        return figure.note or "not measured"
    share = missing(figure)
    if share is None:
        return "a peer"
    if not share:
        return "met"
    return f"missed by {100 * share:.0f}%" if share >= 0.095 else f"missed by {100 * share:.2g}%"


def shown(value: float | None, unit: str) -> str:
    """A value for people: 2.41 ×, 1/16.1, 1 614 269 tokens/s, 0.31%."""
    if value is None:
        return "—"
    if unit == "×" and 0 < value < 0.2:
        return f"1/{1 / value:.3g}"
    digits = f"{value:.3g}" if value < 100 else spaced(value)
    return f"{digits}%" if unit == "%" else f"{digits} {unit}"


def write(path: Path, machine: str, figures: Sequence[Figure], **more: object) -> None:
    """Keep the figures of one script, and the machine they come from, in a JSON file; `more` for its own use."""
    kept = {"machine": machine, "figures": [asdict(figure) for figure in figures], **more}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[str, list[Figure]]:
    """Machine and figures that `write` kept."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept["machine"], [Figure(**values) for values in kept["figures"]]
