"""Counting beside a network, and the best of both: chosen and mixed on the validation part, told in full."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralgram import load
from neuralgram.ngram import fit
from neuralgram.rng import PCG32
from neuralgram.text.corpora import Corpora, build_corpora
from neuralgram.training.jobs.ngram import advice, count_beside, counted_record

WORDS = ("the cat sat", "a dog ran", "the bird saw a cat", "an old dog slept", "the cat ate the bird", "it was late")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    draws = PCG32(3)
    path.write_text("".join(WORDS[draws.next_uint32() % len(WORDS)] + ".\n" for _ in range(400)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpora(text: Path) -> Corpora:
    return build_corpora([text], boundary="line", split="0.8,0.1,0.1")


@pytest.fixture
def told(run: Callable[..., tuple[int, str, str]]) -> Callable[..., dict[str, Any]]:
    """`told(*arguments)` → what the command prints with --json."""

    def call(*arguments: Any) -> dict[str, Any]:
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return dict(json.loads(out))

    return call


@pytest.mark.filterwarnings("ignore:order")  # of so small a text
def test_the_order_counted_is_the_best_of_all_that_are_shorter_and_the_next(corpora: Corpora) -> None:
    valid = corpora.part("valid")
    made = count_beside(corpora)
    assert made is not None
    n = made.model.context + 1
    losses = {}
    for order in range(3, min(n + 1, 8) + 1):
        model = fit("modified-kneser-ney", corpora.train, order)
        losses[order] = model.score(valid.windows(order - 1)).mean()
    assert min(losses, key=lambda order: losses[order]) == n
    assert made.model.score(valid.windows(n - 1)).mean() <= losses[n]  # tuning is kept only where it gains


def test_nothing_is_counted_beside_without_a_validation_part(text: Path) -> None:
    assert count_beside(build_corpora([text], boundary="line")) is None


def test_both_predict_the_same_tokens_of_a_stream(text: Path) -> None:
    corpora = build_corpora([text], boundary="stream", split="0.8,0.1,0.1")
    made = count_beside(corpora)
    assert made is not None
    record = counted_record(made, corpora, 12)
    assert record["order"] < 12
    assert record["valid"]["first_scored"] == 12
    losses = made.model.score(corpora.part("valid").windows(made.model.context, 12))
    assert record["valid"]["perplexity"] == pytest.approx(np.exp(losses.mean()))


def test_advice_is_given_only_where_counting_is_better_and_goes_by_the_test_part() -> None:
    better, worse = {"perplexity": 4.0}, {"perplexity": 5.0}
    said = advice({"valid": better, "test": worse}, {"valid": worse, "test": better}, True)
    assert said is not None
    assert "perplexity 4.000 of the test part against 5.000, 20% less" in said
    assert "train best" in said
    assert "--max-time" in said
    assert "--max-time" not in str(advice({"valid": worse, "test": None}, {"valid": better, "test": None}, False))
    assert advice({"valid": worse, "test": better}, {"valid": better, "test": worse}, True) is None
    assert advice({"valid": better, "test": better}, {"valid": better, "test": better}, True) is None


def test_train_nplm_counts_beside_unless_told_not_to(
    text: Path, tmp_path: Path, told: Callable[..., dict[str, Any]]
) -> None:
    options = ("--boundary", "line", "--steps", 3, "--threads", 1, "--out")
    found = told("train", "nplm", text, *options, tmp_path / "a")
    counted = found["counted"]
    alone = told("train", "ngram", text, "--boundary", "line", "--order", counted["order"], "--out", tmp_path / "b",
                "--discounts", counted["discounts"])  # fmt: skip
    for part in ("valid", "test"):
        assert counted[part]["perplexity"] == pytest.approx(alone[part]["perplexity"], rel=1e-12)
    assert "counting was better" in found["advice"]
    without = told("train", "nplm", text, *options, tmp_path / "c", "--no-count")
    assert without["counted"] is without["advice"] is None
    state = [load(tmp_path / name).model.state() for name in "ac"]
    assert all(np.array_equal(value, state[1][name]) for name, value in state[0].items())  # it changes no weight
