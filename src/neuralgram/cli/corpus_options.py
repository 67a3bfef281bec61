"""Options of every command that trains on text: what is read, how it is cut into tokens and parts, where it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from neuralgram.cli.common import reading_options

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = [
    click.argument("texts", metavar="TEXT...", nargs=-1, required=True),
    click.option("--out", type=click.Path(path_type=Path), required=True, help="The model directory to write."),
    click.option("--overwrite", is_flag=True, help="Replace what --out holds."),
    click.option("--valid", multiple=True, help="A validation text of its own (instead of --split)."),
    click.option("--test", multiple=True, help="A test text of its own (instead of --split)."),
    click.option("--split", help="Parts of TEXT, as 0.9,0.05,0.05 or 800000,200000,rest."),
    click.option("--tokenizer", help="bytes, chars, words, bpe, or a tokenizer.json. [auto]"),
    click.option("--vocab-size", type=int, help="Symbols of a bpe tokenizer; largest vocabulary of words. [auto]"),
    click.option("--min-count", type=int, help="Rarer words (or characters) become the unknown symbol. [1]"),
    click.option("--lowercase", is_flag=True, help="Words in lower case."),
    click.option("--split-punctuation", is_flag=True, help="Punctuation is split off words."),
    click.option(
        "--boundary",
        type=click.Choice(["stream", "line", "document"]),
        default="document",
        show_default=True,
        help="One stream; or every line, or every document (file, JSON line), closed by the boundary symbol.",
    ),
    click.option(
        "--vocab-from",
        type=click.Choice(["train", "all"]),
        default="train",
        show_default=True,
        help="Learn the vocabulary from the training part, or from all parts (the paper's way).",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Of everything random."),
]


def corpus_options(command: Command) -> Command:
    """The options above and how files are read."""
    command = reading_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
