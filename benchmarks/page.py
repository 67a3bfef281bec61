"""The page that keeps the benchmarks' last results: every figure with its verdict, a picture, each script's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.figures import ROWS, Figure, read, shown, verdict
from benchmarks.harness import table
from benchmarks.picture import ratios

PICTURE = "ratios.png"
SCRIPTS = (
    "step",
    "loss",
    "precision",
    "names",
    "heads",
    "brown_heads",
    "scoring",
    "full_scores",
    "memory",
    "counting",
    "filter",
)
HEAD = """# Benchmarks

Ratios against peers, measured in one process that lets them take turns; medians. `python -m benchmarks` (or
`make bench`) runs all but `brown_heads`, which takes half an hour, and writes this page; `python -m benchmarks step`
runs one. Machines differ and are shared: compare ratios, not times. One thread is timed in the seconds it computes,
several by the wall. Eager PyTorch is always in fp32. What was tried where a target is missed stands in
[`docs/log.md`](../docs/log.md).
"""


def assemble(folder: Path) -> Path:
    """Write README.md and its picture from the NAME.json and NAME.md in `folder`."""
    found = {name: read(folder / f"{name}.json") for name in SCRIPTS if (folder / f"{name}.json").exists()}
    lines = grouped([figure for _, figures in found.values() for figure in figures])
    parts = [HEAD, _machines({name: where for name, (where, _) in found.items()}), ""]
    absent = [f"`{name}`" for name in SCRIPTS if name not in found]
    if absent:
        parts += [f"Not measured yet: {', '.join(absent)}.", ""]
    if lines:
        ratios(lines, folder / PICTURE)
        parts += [*ratio_table(lines), f"![Measured ratios and their targets, on a logarithmic axis]({PICTURE})", ""]
    for name in SCRIPTS:
        text = folder / f"{name}.md"
        if text.exists():
            parts.append(text.read_text(encoding="utf-8").replace("# ", "## ", 1))
    page = folder / "README.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def grouped(figures: Sequence[Figure]) -> list[list[Figure]]:
    """Figures that differ only in threads together; groups in their order, in each what has a target before peers."""
    lines: dict[tuple[int, str, str], list[Figure]] = {}
    for figure in sorted(figures, key=lambda figure: (figure.row, figure.target is None)):
        lines.setdefault((figure.row, figure.what, figure.precision), []).append(figure)
    return list(lines.values())


def ratio_table(lines: Sequence[Sequence[Figure]]) -> list[str]:
    """A row a line, a column for each number of threads; the group's name stands where it begins."""
    counts = sorted({figure.threads for line in lines for figure in line})
    rows: list[list[object]] = []
    before = 0
    for line in lines:
        first, cells = line[0], {figure.threads: _cell(figure) for figure in line}
        sign = "≥" if first.direction == ">=" else "≤"
        target = "" if first.target is None else f"{sign} {shown(first.target, first.unit)}"
        group = f"**{first.row}. {ROWS[first.row]}**" if first.row != before else ""
        rows.append([group, first.what, first.precision, target, *(cells.get(count, "") for count in counts)])
        before = first.row
    return table(["", "", "", "target", *(f"{count} thread{'s' * (count > 1)}" for count in counts)], rows)


def _cell(figure: Figure) -> str:
    if figure.value is None:
        return verdict(figure)
    told = "" if figure.target is None else f", {verdict(figure)}"
    return f"{shown(figure.value, figure.unit)}{told}"


def _machines(machines: Mapping[str, str]) -> str:
    """Where the figures come from; script by script where that was not one machine."""
    if len(set(machines.values())) <= 1:
        return next(iter(machines.values()), "")
    return "\n".join(f"- {name}: {where}" for name, where in machines.items())
