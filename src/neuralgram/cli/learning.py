"""`neuralgram trace`, `lesson`, `check`: for those who learn the model, and who teach it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuralgram.cli.common import emit, json_option, model_argument, say
from neuralgram.numbers import plain

if TYPE_CHECKING:
    from neuralgram.checking.grading import Grade
    from neuralgram.checking.runner import Report
    from neuralgram.checking.verdict import Verdict


@click.command("trace")
@model_argument
@click.argument("context", default="")
@click.option("--target", help="The token that came next: adds its rank and surprisal, and a network's gradients.")
@click.option("--lr", type=float, help="Learning rate: adds one full SGD step, before and after (needs --target).")
@click.option("--top", type=int, default=10, show_default=True, help="How many of the likeliest tokens to show.")
@click.option("--units", type=int, default=12, show_default=True, help="How many hidden units to show.")
@click.option("--open", "opened", multiple=True, metavar="NUMBER", help="Open a number's formula: a[0], p[sat].")
@click.option(
    "--check", "checks", multiple=True, metavar="ENTRY", help="Check a gradient by finite differences: H[0][1]."
)
@click.option("--gradient", "gradients", multiple=True, metavar="NAME", help="Print a gradient's entries: C, H, U, …")
@json_option
def trace(model: Path, context: str, as_json: bool, **options: Any) -> None:
    """Every number of what MODEL predicts after CONTEXT, each with its equation.

    A network shows its vectors, layers, scores and softmax; a counting model its counts, discounts and back-off
    weights; a mixture each part with its weight.
    """
    from neuralgram.textmodel import load
    from neuralgram.tracing import trace
    from neuralgram.tracing.learning import difference_section
    from neuralgram.tracing.render import print_page

    made = trace(
        load(model),
        context,
        target=options["target"],
        lr=options["lr"],
        top=options["top"],
        units=options["units"],
    )
    formulas = [made.formula(place) for place in options["opened"]]
    found = made.check(*options["checks"]) if options["checks"] else []
    gradients = {name: made.gradient(name) for name in options["gradients"]}
    if as_json:
        extra = {
            "formulas": [formula.to_json() for formula in formulas],
            "checks": [difference.to_json() for difference in found],
            "gradients": {name: values.tolist() for name, values in gradients.items()},
        }
        emit({**made.to_json(), **extra})
        return
    sections = [] if formulas else list(made.all_sections)
    if found:
        sections.append(difference_section(found))
    print_page(made.title, sections, subtitle=made.subtitle)
    for formula in formulas:
        click.echo(f"\n{formula}")
    _print_gradients(gradients)


def _print_gradients(gradients: dict[str, Any]) -> None:
    import numpy as np

    for name, values in gradients.items():
        with np.printoptions(precision=6, suppress=True, linewidth=100, threshold=4000):
            click.echo(f"\n∂{name} {list(values.shape)}\n{values}")


@click.command("lesson")
@click.argument("name", required=False)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NUMBER=VALUE",
    help="Change a number first: H[0][1]=0.3, C[cat][0]=1, window[1]=dog. May be repeated.",
)
@json_option
def lesson(name: str | None, changes: tuple[str, ...], as_json: bool) -> None:
    """Work through the lesson NAME step by step; without NAME, list the lessons."""
    from neuralgram.errors import InputError
    from neuralgram.lessons import LESSONS, lesson
    from neuralgram.tracing.names import parse_changes
    from neuralgram.tracing.render import print_page

    if name is None:
        if changes:
            raise InputError(f"--set {changes[0]} without a lesson: expected one of {', '.join(LESSONS)}")
        _list(as_json)
        return
    made = lesson(name)
    page = made.run(parse_changes(changes, list(made.parameters)))
    if as_json:
        emit(page.to_json())
        return
    print_page(page.lesson.title, page.sections, subtitle=page.subtitle)
    _offer(name)


def _list(as_json: bool) -> None:
    from neuralgram.lessons import LESSONS

    if as_json:
        shown = [
            {"name": made.name, "title": made.title, "summary": made.summary, "seconds": made.seconds}
            for made in LESSONS.values()
        ]
        emit({"lessons": shown})
        return
    width = max(map(len, LESSONS)) + 2
    for made in LESSONS.values():
        click.echo(f"{made.name.ljust(width)}{made.summary}")
    click.echo("\nneuralgram lesson NAME works through one; --set changes its numbers.")


def _offer(name: str) -> None:
    """The numbers that can be changed, by name."""
    from neuralgram.lessons import lesson

    parameters = lesson(name).parameters
    if not parameters:
        return
    click.echo("\nNumbers to change with --set:")
    width = max(map(len, parameters))
    for letter, parameter in parameters.items():
        shape = "".join(f"[0…{size - 1}]" for size in parameter.value.shape)
        words = f", one of {', '.join(parameter.words)}" if parameter.words else ""
        click.echo(f"   {letter.ljust(width)}  {parameter.what}{f', {letter}{shape}' if shape else ''}{words}")


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
def check(module: Path, tests: Path | None, timeout: float, as_json: bool) -> None:
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
        if verdict.outcome != "held":
            _print_failure(verdict, " " * (width + 4))
    for name in report.pitfalls:
        pitfall = PITFALLS[name]
        click.echo(f"\nLikely: {pitfall.title} ({name})")
        click.echo(f"   what one sees   {pitfall.symptom}\n   what to do      {pitfall.advice}")
    held = sum(verdict.outcome == "held" for verdict in report.verdicts)
    click.echo(f"\n{held} of {len(report.verdicts)} hold.")


def _print_failure(verdict: Verdict, indent: str) -> None:
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
