"""`neuralgram reproduce RECIPE --out DIR`: an experiment, every row of it, and its report."""

from __future__ import annotations

from pathlib import Path

import click

from neuralgram.cli.common import emit, json_option, say


@click.command("reproduce")
@click.argument("recipe", type=click.Choice(["table1", "tinyshakespeare", "tales"]))
@click.option(
    "--data", type=click.Path(path_type=Path), help="The text: brown.zip, tinyshakespeare.txt; tales need none."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where models, figures and the report go.")
@click.option("--rows", help="Only these: names, patterns such as 'mlp*', or paper, review, beyond; comma-separated.")
@click.option("--quick", is_flag=True, help="A fortieth of the text: to see it work. Its figures mean nothing.")
@click.option("--list", "listing", is_flag=True, help="Name the rows and stop.")
@json_option
def command(
    recipe: str, data: Path | None, out: Path, rows: str | None, quick: bool, listing: bool, as_json: bool
) -> None:
    """Run an experiment: table1 (the paper's Table 1 on the Brown corpus), tinyshakespeare, tales.

    Rows that are finished in --out are used again, and a run that was stopped goes on, so the same command may be
    given as often as one likes. The test part is scored when all chosen rows are done.
    """
    from neuralgram.recipes.rows import load_recipe
    from neuralgram.recipes.run import reproduce

    patterns = [word.strip() for word in rows.split(",") if word.strip()] if rows else []
    if listing:
        chosen = load_recipe(recipe).chosen(patterns)
        if as_json:
            emit({"rows": [{"name": row.name, "group": row.group, "kind": row.kind} for row in chosen]})
            return
        for row in chosen:
            print(f"{row.group:<8} {row.kind:<8} {row.name}")
        return
    made = reproduce(
        recipe,
        data=data,
        out=out,
        patterns=patterns,
        quick=quick,
        say=say,
    )
    if as_json:
        emit({name: str(path) for name, path in made.items()})
        return
    print((out / "report.md").read_text(encoding="utf-8"))
    for name, path in made.items():
        say(f"{name:<9} {path}")
