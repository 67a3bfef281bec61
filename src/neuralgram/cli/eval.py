"""`neuralgram eval MODEL… TEXT`: perplexity, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuralgram.cli.common import emit, json_option, say, table
from neuralgram.cli.options import reading_options

if TYPE_CHECKING:
    from neuralgram.evaluation.compare import Ranked
    from neuralgram.evaluation.texts import Ranking


@click.command("eval")
@click.argument("paths", metavar="MODEL... TEXT", nargs=-1, required=True)
@click.option("--text", "more", multiple=True, help="A further text; with it, every argument may be a model.")
@click.option(
    "--part",
    type=click.Choice(["train", "valid", "test"]),
    help="Score only this part of the text, by the split the model was trained with.",
)
@reading_options
@click.option("--no-end", is_flag=True, help="Leave the ends of lines or documents out of every figure.")
@click.option("--tokens", is_flag=True, help="The loss of every token as well.")
@click.option("--markdown", is_flag=True, help="The whole comparison as Markdown, with where the models differ.")
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the comparison into this PNG file.")
@json_option
def command(
    paths: tuple[str, ...],
    more: tuple[str, ...],
    part: str | None,
    field: str | None,
    encoding: str,
    errors: str,
    no_end: bool,
    tokens: bool,
    markdown: bool,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Perplexity of TEXT under each MODEL. The last argument is the text, as the last of `cp` is the target.

    Perplexity is exp(total nats / scored tokens). Models over different tokenizers are never ranked against each
    other; their bits per byte can be compared where tokenizing lost no bytes.
    """
    from neuralgram.evaluation import report
    from neuralgram.evaluation.texts import Reading, evaluate_texts
    from neuralgram.textmodel import load

    if markdown and as_json:
        raise click.UsageError("--markdown and --json: expected one of the two")
    if markdown and tokens:
        raise click.UsageError("--markdown and --tokens: expected one of the two; --json has both")
    if picture is not None and picture.suffix.lower() != ".png":
        raise click.UsageError(f"--picture {picture}: expected a name that ends in .png")
    models, texts = _sort_arguments(paths, more)
    loaded = [load(path) for path in models]
    rankings = evaluate_texts(loaded, Reading(texts, part, field, encoding, errors, ends=not no_end))
    drawn = _draw(rankings, picture) if picture is not None else []
    if as_json:
        emit(_record(rankings, tokens) | {"pictures": drawn})
    elif markdown:
        print(report.markdown(rankings), end="")
    else:
        for ranking in rankings:
            _print(ranking.rows, tokens)
            if ranking.text.hint is not None:
                say(f"hint: {ranking.text.hint} (when training)")
        if len(rankings) > 1:
            say(report.APART)
    for path in drawn:
        say(f"picture {path}")


def _sort_arguments(paths: tuple[str, ...], more: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Which arguments are models and which text: without --text the last is the text."""
    from neuralgram.modeldir import is_model

    if is_model(paths[-1]) and more:
        return list(paths), list(more)
    if len(paths) < 2:
        raise click.UsageError(f"{paths[0]!r} alone: expected at least one MODEL and, last, a TEXT")
    if is_model(paths[-1]):
        raise click.UsageError(f"{paths[-1]} is a model: expected a TEXT, last or with --text{_trained_on(paths[-1])}")
    return list(paths[:-1]), [paths[-1], *more]


def _trained_on(model: str) -> str:
    """The text whose parts --part may name."""
    from neuralgram.modeldir import read_story

    story = {} if Path(model).is_file() else read_story(Path(model))
    texts = story.get("data", {}).get("sources", {}).get("texts")
    return f" (it was trained on {', '.join(texts)})" if texts else ""


def _record(rankings: list[Ranking], tokens: bool) -> dict[str, Any]:
    """`models` of all rankings, each ranking's one after another, and the `rankings` with where their models differ."""
    from neuralgram.evaluation import report

    made = [report.to_json(ranking) for ranking in rankings]
    if tokens:
        for ranking, found in zip(rankings, made, strict=True):
            for row, record in zip(ranking.rows, found["models"], strict=True):
                record["per_token"] = row.evaluation.token_records()
    compared = [found for found in made if len(found["models"]) > 1]
    every = [record for found in made for record in found["models"]]
    return {"models": every, "unit": "nats", "rankings": [_by_path(found) for found in compared]}


def _by_path(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "models": [record["path"] for record in found["models"]]}


def _draw(rankings: list[Ranking], picture: Path) -> list[str]:
    """One picture a ranking: FILE.png, then FILE-2.png, …"""
    from neuralgram.evaluation import report
    from neuralgram.evaluation.plots import Bar, comparison
    from neuralgram.evaluation.where import Breakdown

    drawn = []
    for i, ranking in enumerate(rankings):
        path = picture if i == 0 else picture.with_stem(f"{picture.stem}-{i + 1}")
        bars = [
            Bar(name, row.evaluation.perplexity, row.seeds.sd_perplexity if row.seeds else None)
            for name, row in zip(report.names(ranking.rows), ranking.rows, strict=True)
        ]
        found = report.breakdowns(ranking) if len(bars) > 1 else []
        drawn.append(str(comparison(bars, [b for b in found if isinstance(b, Breakdown)], path)))
    return drawn


def _print(rows: list[Ranked], tokens: bool) -> None:
    from neuralgram.evaluation import report

    called = report.names(rows) if len(rows) > 1 else [rows[0].evaluation.path]
    headers = ["model", *report.HEADERS]
    made = [[name, *report.cells(row)] for name, row in zip(called, rows, strict=True)]
    print(report.heading(rows[0].evaluation))
    if len(rows) == 1:
        place = headers.index("to the first, nats (95%)")
        headers, made = headers[:place] + headers[place + 1 :], [row[:place] + row[place + 1 :] for row in made]
    table(headers, made)
    for line in report.legend(rows):
        say(line)
    if tokens and len(rows) > 1:
        say("Token by token with several models: use --json.")
    elif tokens:
        for record in rows[0].evaluation.token_records():
            print(f"{record['token']!r}\t{record['id']}\t{record['nats']:.6f}")
