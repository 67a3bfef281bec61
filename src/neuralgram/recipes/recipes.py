"""A recipe in one call: its rows, then its report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from neuralgram.recipes import report, small_reports, table1_report
from neuralgram.recipes.rows import load_recipe
from neuralgram.recipes.run import run
from neuralgram.recipes.work import Work

SECTIONS: dict[str, report.Sections] = {
    "table1": table1_report.sections,
    "tinyshakespeare": small_reports.tinyshakespeare,
    "tales": small_reports.tales,
}


def reproduce(
    name: str,
    *,
    data: Path | None,
    out: Path,
    patterns: Sequence[str] = (),
    quick: bool = False,
    say: Callable[[str], None] = print,
) -> dict[str, Path]:
    """Run the recipe `name` into `out`; the paths of `report.md`, `report.json` and `report.png`.

    Finished rows are used again. Raises `InputError` for a recipe, row or file there is not.
    """
    recipe = load_recipe(name)
    work = Work(recipe, data, out, quick=quick, say=say)
    rows = run(work, patterns)
    done = [row for row in recipe.rows if row in rows or work.finished(row) is not None]
    return report.write(work, done, SECTIONS[name], _command(work, patterns))


def _command(work: Work, patterns: Sequence[str]) -> str:
    """The command that makes the report, with files by name: where they are is this machine's business."""
    words = ["neuralgram reproduce", work.recipe.name]
    words += [f"--data {work.data.name}"] if work.data is not None else []
    words += [f"--out {work.out.name}", *([f"--rows '{','.join(patterns)}'"] if patterns else [])]
    return " ".join([*words, *(["--quick"] if work.quick else [])])
