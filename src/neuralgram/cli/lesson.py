"""`neuralgram lesson [NAME]`: the worked examples, with numbers one can change."""

from __future__ import annotations

import click

from neuralgram.cli.common import emit, json_option


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
def command(name: str | None, changes: tuple[str, ...], as_json: bool) -> None:
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
