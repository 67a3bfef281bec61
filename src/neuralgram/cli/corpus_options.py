"""Options of every command that trains on text: what is read, how it is cut into tokens and parts, where it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from neuralgram.cli.options import family_options, reading_options, setting_options, stacked
from neuralgram.families import TOKENIZERS
from neuralgram.training.config import ReadSettings, TextSettings

Command = TypeVar("Command", bound=Callable[..., Any])

corpus_options = stacked(
    [
        click.argument("texts", metavar="TEXT...", nargs=-1, required=True),
        click.option("--out", type=click.Path(path_type=Path), required=True, help="The model directory to write."),
        click.option("--overwrite", is_flag=True, help="Replace what --out holds."),
        click.option("--valid", multiple=True, help="A validation text of its own (instead of --split)."),
        click.option("--test", multiple=True, help="A test text of its own (instead of --split)."),
        setting_options(TextSettings, without=[field.name for field in fields(ReadSettings)]),
        family_options(TOKENIZERS),
        reading_options,
    ]
)
