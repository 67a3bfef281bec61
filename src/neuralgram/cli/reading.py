"""`neuralgram surprisal` and `neuralgram rescore`: a table of words, and n-best lists in a new order."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from neuralgram.cli.common import emit, json_option, say
from neuralgram.cli.options import reading_options


@click.command("surprisal")
@click.argument("model", metavar="MODEL")
@click.argument("file", metavar="FILE")
@click.option("--frequencies", type=click.Path(path_type=Path), help="Counts of words, `word TAB count` a line.")
@click.option("--out", type=click.Path(path_type=Path), help="The TSV file to write. [standard output]")
@reading_options
def surprisal(
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


@click.command("rescore")
@click.argument("model", metavar="MODEL")
@click.argument("nbest", metavar="NBEST")
@click.option("--form", type=click.Choice(["json", "moses", "kaldi"]), help="Of NBEST. [seen from its first line]")
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Of a score; lm and length are ours. [1; lm 1, length 0]",
)
@click.option(
    "--references", type=click.Path(path_type=Path), help="Right texts, `id TAB text` or one a list in order."
)
@click.option("--tune", is_flag=True, help="Choose the weights that make the fewest word errors on the references.")
@click.option("--best", is_flag=True, help="Only the best hypothesis of each list, as `id TAB text`.")
@click.option("--out", type=click.Path(path_type=Path), help="The file to write. [standard output]")
@json_option
def rescore(model: str, nbest: str, as_json: bool, **given: Any) -> None:
    """Order the hypotheses of each list by Σ weight·score, where log P under MODEL (nats) is the score `lm` and the
    number of words the score `length`. Reads JSON lines ({"id", "hypotheses": [{"text", "scores"}], "reference"}),
    Moses' ||| lists, or Kaldi's `utterance-n [cost] text`; writes JSON lines with the order, total and rank."""
    from neuralgram.scoring.rescore import Rescoring, read_nbest, read_references
    from neuralgram.scoring.surprisal import read_lines
    from neuralgram.textmodel import load

    lists = list(read_nbest(read_lines(nbest, unit="line"), nbest, given["form"]))
    if given["references"] is not None:
        read_references(given["references"], lists)
    job = Rescoring.of(load(model), lists, given["weights"])
    tuned = job.tune() if given["tune"] else None
    out = sys.stdout if given["out"] is None else given["out"].open("w", encoding="utf-8", newline="\n")
    try:
        for record in job.ranked():
            if given["best"]:
                print(record["id"], record["hypotheses"][0]["text"] if record["hypotheses"] else "", sep="\t", file=out)
            else:
                print(json.dumps(record, ensure_ascii=False), file=out)
    finally:
        if given["out"] is not None:
            out.close()
    if tuned is not None:
        say(f"word error rate {tuned.before:.4f} before, {tuned.after:.4f} with the weights tuned on these references")
    elif (rates := job.error_rates()) is not None:
        say(f"word error rate {rates[0]:.4f} as given, {rates[1]:.4f} rescored; the best there is {rates[2]:.4f}")
    if as_json and given["out"] is not None:
        emit({"weights": job.weights, "lists": len(lists), "tuned": None if tuned is None else tuned._asdict()})
    else:
        say("weights " + "  ".join(f"{name}={value:.6g}" for name, value in job.weights.items()))
