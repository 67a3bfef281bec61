"""What commands share: options, and the one way results leave: JSON on standard output or text for a person."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from neuralgram.numbers import figure, spaced

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
model_argument = click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))


def refuse_beside(why: str, *names: str) -> None:
    """Refuse options that were given, by their names, where nothing would come of them: `--field without a TEXT`."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if option.name in names and given:
            raise click.UsageError(f"{option.opts[0]} {why}: leave it out")


def emit(value: dict[str, Any]) -> None:
    """Print one JSON object; what JSON has no word for (inf, nan) becomes null or a string."""
    print(json.dumps(_plain(value), ensure_ascii=False))


def say(message: str) -> None:
    """A line for a person, on standard error, so that standard output stays the result."""
    print(message, file=sys.stderr)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return _plain(value.item())
    return value


def held_out_lines(record: dict[str, Any]) -> list[str]:
    """A line for each held-out part of a training command's record."""
    lines = []
    for part in ("valid", "test"):
        found = record.get(part)
        if found:
            bits = f", {found['bits_per_byte']:.4f} bits/byte" if found["bits_per_byte"] is not None else ""
            lines.append(
                f"{part + ' perplexity':<19} {figure(found['perplexity'], 5)} "
                f"({found['nats_per_token']:.4f} nats/token{bits}, {spaced(found['tokens'])} tokens)"
            )
    return lines


def table(headers: list[str], rows: list[list[str]]) -> None:
    """A table on standard output, the first column left, the others right; stacked where the terminal is too narrow."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    needed = sum(max(map(cell_len, column)) + 2 for column in zip(headers, *rows, strict=True)) - 2
    console = Console(highlight=False, width=None if sys.stdout.isatty() else max(needed, 120))
    if needed > console.width:
        width = max(map(len, headers))
        for row in rows:
            print(row[0])
            for header, cell in zip(headers[1:], row[1:], strict=True):
                print(f"  {header:<{width}}  {cell}")
        return
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for index, header in enumerate(headers):
        drawn.add_column(header, justify="left" if index == 0 else "right", no_wrap=True)
    for row in rows:
        drawn.add_row(*map(Text, row))
    console.print(drawn)
