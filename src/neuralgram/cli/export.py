"""`neuralgram export MODEL --to html|arpa --out FILE`: a model as one file for another program or person."""

from __future__ import annotations

from pathlib import Path

import click

from neuralgram.cli.common import emit, json_option, model_argument, say


@click.command("export")
@model_argument
@click.option(
    "--to",
    "form",
    type=click.Choice(["html", "arpa"]),
    required=True,
    help="html: a network as one page that works offline; arpa: a Kneser–Ney model for KenLM and its kin.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
@click.option("--title", help="Heading of the page; by default the model's name.")
@click.option(
    "--text",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A text to measure on what rounding to 8 bits costs; by default the model writes one.",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE where it exists.")
@json_option
def command(
    model: Path, form: str, out: Path, title: str | None, text: Path | None, overwrite: bool, as_json: bool
) -> None:
    """Write MODEL as one file.

    html: a network with its weights and a plain script in one page: change the window, see the bars, read surprisals,
    generate. It needs no network and no server; mail it to a class. arpa: gzip where FILE ends in .gz.
    """
    from neuralgram.errors import InputError
    from neuralgram.exporting.arpa import to_arpa
    from neuralgram.exporting.html import to_html
    from neuralgram.files import write_atomic
    from neuralgram.textmodel import load

    if out.exists() and not overwrite:
        raise InputError(f"{out}: exists already; choose another --out, or --overwrite it")
    if form == "arpa":
        to_arpa(load(model), out)
        if as_json:
            emit({"out": out, "to": form, "bytes": out.stat().st_size})
        else:
            say(f"{out}: {out.stat().st_size / 1e6:.2f} MB; loads in KenLM and SRILM, and here as a model")
        return
    try:
        measured_on = text.read_text(encoding="utf-8") if text else None
    except UnicodeDecodeError as error:
        raise InputError(f"{text}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    page, cost = to_html(load(model), title=title or model.resolve().name, text=measured_on)
    data = page.encode()
    write_atomic(out, data)
    if as_json:
        emit({"out": out, "to": form, "bytes": len(data), **cost.__dict__})
        return
    say(cost.sentence)
    say(f"{out}: {len(data) / 1e6:.2f} MB; open it in any browser")
