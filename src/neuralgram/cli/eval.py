"""`neuralgram eval MODEL… TEXT`: perplexity, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuralgram.cli.common import emit, figure, json_option, reading_options, say, table

if TYPE_CHECKING:
    from neuralgram.evaluation.compare import Ranked


@click.command("eval")
@click.argument("paths", metavar="MODEL... TEXT", nargs=-1, required=True)
@click.option("--text", "more", multiple=True, help="A further text; with it, every argument may be a model.")
@click.option(
    "--part",
    type=click.Choice(["train", "valid", "test"]),
    help="Score only this part of the text, by the split the model was trained with.",
)
@reading_options
@click.option("--tokens", is_flag=True, help="The loss of every token as well.")
@json_option
def command(
    paths: tuple[str, ...],
    more: tuple[str, ...],
    part: str | None,
    field: str | None,
    encoding: str,
    errors: str,
    tokens: bool,
    as_json: bool,
) -> None:
    """Perplexity of TEXT under each MODEL. The last argument is the text, as the last of `cp` is the target.

    Perplexity is exp(total nats / scored tokens). Models over different tokenizers are never ranked against each
    other; their bits per byte can be compared where tokenizing lost no bytes.
    """
    from neuralgram.evaluation.texts import Reading, evaluate_texts
    from neuralgram.textmodel import load

    models, texts = _sort_arguments(paths, more)
    loaded = [load(path) for path in models]
    rankings = evaluate_texts(loaded, Reading(texts, part, field, encoding, errors))
    if as_json:
        emit({"models": [_record(row, tokens) for ranking in rankings for row in ranking], "unit": "nats"})
        return
    for ranking in rankings:
        _print(ranking, tokens)
    if len(rankings) > 1:
        say("Models over different tokenizers or boundaries score different tokens: their perplexities are not ranked.")


def _sort_arguments(paths: tuple[str, ...], more: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Which arguments are models and which text: without --text the last is the text."""
    models = [path for path in paths if (Path(path) / "config.json").exists()]
    if more and len(models) == len(paths):
        return list(paths), list(more)
    if len(paths) < 2:
        raise click.UsageError(f"{paths[0]!r} alone: expected at least one MODEL and, last, a TEXT")
    return list(paths[:-1]), [paths[-1], *more]


def _record(row: Ranked, tokens: bool) -> dict[str, Any]:
    record = row.evaluation.to_json()
    record["difference"] = row.difference._asdict() if row.difference else None
    if tokens:
        record["per_token"] = row.evaluation.token_records()
    return record


def _print(ranking: list[Ranked], tokens: bool) -> None:
    rows = []
    for evaluation, difference in ranking:
        record = evaluation.to_json()
        rows.append(
            [
                evaluation.path,
                figure(record["perplexity"]),
                figure(record["nats_per_token"]),
                _difference(difference),
                figure(record["bits_per_byte"]),
                f"{evaluation.tokens:,}".replace(",", " "),
                f"{100 * record['unknown_rate']:.2f}%",
                figure(record["tokens_per_second"], 3),
            ]
        )
    headers = [
        "model",
        "perplexity",
        "nats/token",
        "to the first (95%)",
        "bits/byte",
        "tokens",
        "unknown",
        "tokens/s",
    ]
    if len(ranking) == 1:
        headers.pop(3)
        rows = [[*row[:3], *row[4:]] for row in rows]
    table(headers, rows)
    first = ranking[0].evaluation
    if first.bits_per_byte is None:
        say(f"No bits per byte: {first.bytes_reason}.")
    if tokens:
        for record in first.token_records() if len(ranking) == 1 else []:
            print(f"{record['token']!r}\t{record['id']}\t{record['nats']:.6f}")
        if len(ranking) > 1:
            say("Token by token with several models: use --json.")


def _difference(difference: Any) -> str:
    if difference is None:
        return "–"
    undecided = "" if difference.decided else " (undecided)"
    return f"{difference.nats:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]{undecided}"
