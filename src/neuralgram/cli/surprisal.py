"""`neuralgram surprisal MODEL FILE`: a table of words with their surprisal, as R and pandas read it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from neuralgram.cli.options import reading_options


@click.command("surprisal")
@click.argument("model", metavar="MODEL")
@click.argument("file", metavar="FILE")
@click.option("--frequencies", type=click.Path(path_type=Path), help="Counts of words, `word TAB count` a line.")
@click.option("--out", type=click.Path(path_type=Path), help="The TSV file to write. [standard output]")
@reading_options
def command(
    model: str, file: str, frequencies: Path | None, out: Path | None, field: str | None, encoding: str, errors: str
) -> None:
    """The surprisal of every word of FILE, line by line, in bits: a table parted by tabs with a row a word.

    A word of several tokens has its probability as a word, corrected for where the space stands; the words of a line
    and its end sum to the line. Columns: item, position, word, start, end, bits, log_frequency, length, unknown, and
    previous_bits, previous_log_frequency, previous_length of the word before.
    """
    from neuralgram.scoring.surprisal import COLUMNS, Reader, read_frequencies, read_lines, rows
    from neuralgram.textmodel import load

    reader = Reader(load(model), None if frequencies is None else read_frequencies(frequencies))
    lines = read_lines(file, field=field, encoding=encoding, errors=errors)
    found = rows(reader.words(line, item) for item, line in enumerate(lines, 1))
    file_out = sys.stdout if out is None else out.open("w", encoding="utf-8", newline="\n")
    try:
        print("\t".join(COLUMNS), file=file_out)
        for row in found:
            print("\t".join(row), file=file_out)
    finally:
        if out is not None:
            file_out.close()
