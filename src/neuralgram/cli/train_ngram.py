"""`neuralgram train ngram TEXT… --out DIR`: a counting model."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from neuralgram.cli.common import emit, held_out_lines, json_option, say
from neuralgram.cli.corpus_options import corpus_options
from neuralgram.cli.options import family_options, setting_options
from neuralgram.families import ESTIMATORS
from neuralgram.numbers import figure, spaced
from neuralgram.training.config import NgramSettings


@click.command("ngram")
@corpus_options
@setting_options(NgramSettings)
@family_options(ESTIMATORS)
@json_option
def command(as_json: bool, **given: Any) -> None:
    """Count TEXT… into a smoothed n-gram model. Its distribution sums to 1 in every context."""
    from neuralgram.training.jobs.ngram import count_texts

    given["command"] = shlex.join(["neuralgram", *sys.argv[1:]])
    record = count_texts(given, say=say)
    if as_json:
        emit(record)
        return
    chosen = ", ".join(
        f"{name} {value}" for name, value in record["model"].items() if not isinstance(value, (list, dict))
    )
    print(f"{chosen}\ncounted {spaced(record['tokens'])} tokens in {figure(record['seconds'], 3)} s")
    for line in held_out_lines(record):
        print(line)
    print(f"model               {record['path']}")
