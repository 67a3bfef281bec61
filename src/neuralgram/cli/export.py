"""`neuralgram export MODEL --to html|arpa --out FILE`: a model as one file for another program or person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, model_argument, say
from neuralgram.cli.options import family_options
from neuralgram.families import EXPORTS, member, members


@click.command("export")
@model_argument
@click.option(
    "--to",
    "form",
    type=click.Choice(list(EXPORTS)),
    required=True,
    help="; ".join(f"{name}: {export.help}" for name, export in members(EXPORTS, "export").items()) + ".",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
@family_options(EXPORTS)
@click.option("--overwrite", is_flag=True, help="Replace FILE where it exists.")
@json_option
def command(model: Path, form: str, out: Path, overwrite: bool, as_json: bool, **given: Any) -> None:
    """Write MODEL as one file. A page needs no network and no server: mail it to a class."""
    from neuralgram.errors import InputError
    from neuralgram.settings import read
    from neuralgram.textmodel import load

    if out.exists() and not overwrite:
        raise InputError(f"{out}: exists already; choose another --out, or --overwrite it")
    export = member(EXPORTS, form, "export")
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = read(export.Settings, chosen, "option", form)
    found = export.write(load(model), out, settings)
    size = out.stat().st_size
    if as_json:
        emit({"out": out, "to": form, "bytes": size, **found.facts})
        return
    if found.says:
        say(found.says)
    say(f"{out}: {size / 1e6:.2f} MB; {export.use}")
