"""`neuralgram check MODULE.py`: the model's contract held against somebody's own module, and their tests graded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuralgram.cli.common import emit, json_option, say
from neuralgram.numbers import plain

if TYPE_CHECKING:
    from neuralgram.checking.grading import Grade
    from neuralgram.checking.runner import Report
    from neuralgram.checking.verdict import Verdict

_SIGNS = {"held": "✓", "failed": "✗", "error": "✗", "timeout": "✗", "skipped": "·"}


@click.command("check")
@click.argument("module", type=click.Path(path_type=Path))
@click.option(
    "--tests",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Grade the pytest tests in DIR: run them on this package with each known fault put in.",
)
@click.option(
    "--timeout", type=float, default=60.0, show_default=True, help="Seconds one run of foreign code may take."
)
@json_option
def command(module: Path, tests: Path | None, timeout: float, as_json: bool) -> None:
    """Hold MODULE.py (windows, NPLM, train_nplm, save_nplm, load_nplm) against the contract.

    Where it fails, the first number that differs is shown, and the likely fault named. The module runs in a process of
    its own. With --tests your tests are graded too; MODULE.py then names the module that they import, and
    need not exist. Exit code 1: something does not hold.
    """
    from neuralgram.checking.grading import grade_tests
    from neuralgram.checking.runner import check_module

    report = check_module(module, seconds=timeout) if tests is None or module.exists() else None
    if report is not None and not as_json:
        _print_report(report)
    grade = grade_tests(tests, module.stem, seconds=timeout, tell=say) if tests is not None else None
    if as_json:
        emit({"module": report.to_json() if report else None, "tests": grade.to_json() if grade else None})
    elif grade is not None:
        _print_grade(grade)
    failed = (report is not None and not report.holds) or (grade is not None and not grade.passes)
    click.get_current_context().exit(1 if failed else 0)


def _print_report(report: Report) -> None:
    from neuralgram.pitfalls import PITFALLS

    width = max(len(verdict.case) for verdict in report.verdicts)
    for verdict in report.verdicts:
        click.echo(f"{_SIGNS[verdict.outcome]} {verdict.case.ljust(width)}  {verdict.says}")
        if verdict.message:
            _print_message(verdict, " " * (width + 4))
    for name in report.pitfalls:
        pitfall = PITFALLS[name]
        click.echo(f"\nLikely: {pitfall.title} ({name})")
        click.echo(f"   what one sees   {pitfall.symptom}\n   what to do      {pitfall.advice}")
    held = sum(verdict.outcome == "held" for verdict in report.verdicts)
    click.echo(f"\n{held} of {len(report.verdicts)} hold.")


def _print_message(verdict: Verdict, indent: str) -> None:
    click.echo(f"{indent}{verdict.message}")
    if verdict.difference is not None:
        d = verdict.difference
        click.echo(f"{indent}{d.what}: {plain(d.found)}, expected {plain(d.expected)}")


def _print_grade(grade: Grade) -> None:
    from neuralgram.checking.grading import THRESHOLD
    from neuralgram.pitfalls import PITFALLS, REQUIRED

    total = len(grade.killed) + len(grade.survived) + len(grade.unclear)
    click.echo(f"\nYour tests notice {grade.share:.0%} of {total} faults; {THRESHOLD:.0%} are asked for.")
    state = "noticed" if grade.required_killed else "NOT noticed"
    click.echo(f"The one they must notice, {PITFALLS[REQUIRED].title} ({REQUIRED}): {state}.")
    for name in grade.survived:
        click.echo(f"   unnoticed: {PITFALLS[name].title} ({name}); one would see that {PITFALLS[name].symptom}")
