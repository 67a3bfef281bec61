"""A setting is written once: what its field says is the option, the page, the check and the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
import pytest

from neuralgram.errors import InputError
from neuralgram.families import ESTIMATORS, TOKENIZERS, options
from neuralgram.neural.config import NPLMConfig
from neuralgram.settings import check, described, setting, shown
from neuralgram.training.config import MixSettings, NgramSettings, TextSettings, TrainConfig

# What a job is given besides settings: what it reads and writes, and how it answers.
JOB = {"texts", "out", "overwrite", "valid", "test", "resume", "device", "as_json", "models", "train", "count"}


def of(*owners: type) -> set[str]:
    return {one.key for owner in owners for one in described(owner)}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("train.train_nplm", of(NPLMConfig, TrainConfig, TextSettings) | set(options(TOKENIZERS)) - {"vocab"}),
        ("train.train_ngram", of(NgramSettings, TextSettings) | set(options(TOKENIZERS)) | set(options(ESTIMATORS))),
        ("runs.mix", of(MixSettings) | {"field", "encoding", "errors"}),
    ],
)
def test_a_command_has_the_options_of_its_settings_and_no_others(command: str, expected: set[str]) -> None:
    module, name = command.split(".")
    made: click.Command = getattr(import_module(f"neuralgram.cli.{module}"), name)
    assert {parameter.name for parameter in made.params} - JOB == expected - {"vocab"}


@dataclass(frozen=True)
class Toy:
    pair: tuple[float, float] = setting((0.5, 0.25), help="Two.", low=0, high=1)
    many: tuple[int, ...] = setting((), help="Any number of them.")
    sizes: int | Sequence[int] = setting(3, help="One or several.")
    name: str | None = setting(None, help="A name.", choices={"a": "m:A", "b": "m:B"})
    share: float = setting(0.5, help="A share.", low=0, below=1)

    def __post_init__(self) -> None:
        check(self)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pair": (0.5,)}, r"pair \(0.5,\): expected 2 numbers"),
        ({"pair": 0.5}, "pair 0.5: expected 2 numbers"),
        ({"pair": (0.5, 2)}, "pair 2: expected a number of at least 0 and at most 1"),
        ({"many": 1}, "many 1: expected a list of numbers"),
        ({"many": (1, 0.5)}, "many 0.5: expected a whole number"),
        ({"name": "c"}, "name 'c': expected one of a, b"),
        ({"share": 1}, "share 1: expected a number of at least 0 and below 1"),
        ({"share": "0.5"}, "share '0.5': expected a number"),
        ({"share": float("nan")}, "share nan: expected a number"),
    ],
)
def test_what_a_field_does_not_allow_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Toy(**given)


def test_lists_become_tuples_and_whole_numbers_floats() -> None:
    made = Toy(pair=[1, 0], many=[1, 2, 3])  # type: ignore[arg-type]
    assert (made.pair, made.many) == ((1.0, 0.0), (1, 2, 3))
    assert isinstance(made.pair[0], float)
    assert [shown(value) for value in (made.pair, made.many, (), None, True, 1e-8, {"samples": 256})] == [
        "1,0", "1,2,3", "none", "none", "yes", "1e-08", "samples=256",
    ]  # fmt: skip
