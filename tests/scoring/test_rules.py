"""Rules of filtering: bounds, exact quantiles, buckets with stored cut-offs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralgram.errors import InputError
from neuralgram.scoring.rules import (
    Bounds,
    Buckets,
    histogram_bin,
    nth_smallest,
    quantile_bounds,
    read_cutoffs,
    share,
    write_cutoffs,
)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=64), min_size=1, max_size=60), st.data())
def test_the_nth_smallest_is_the_nth_of_the_sorted(values: list[float], data: st.DataObject) -> None:
    known = sorted(v for v in values if not math.isnan(v))
    if known:
        n = data.draw(st.integers(0, len(known) - 1))
        assert nth_smallest(np.array(values), n) == known[n]


def test_quantiles_hold_the_ranks_asked_for() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1000.0))
    values = np.concatenate([values, [np.nan] * 7])
    bounds = quantile_bounds(values, 0.1, 0.6)
    kept = [v for v in values.tolist() if bounds(v).kept]
    assert (min(kept), max(kept), len(kept)) == (100.0, 599.0, 500)
    assert len([v for v in values.tolist() if quantile_bounds(values, 0, 1)(v).kept]) == 1000


def test_equal_values_are_all_in() -> None:
    bounds = quantile_bounds(np.array([1.0, 2, 2, 2, 3]), 0, 0.4)
    assert [bounds(v).kept for v in (1, 2, 3)] == [True, True, False]


def test_no_value_no_quantile() -> None:
    with pytest.raises(InputError, match="no unit could be scored"):
        quantile_bounds(np.array([np.nan]), 0, 0.5)


def test_bounds_say_why() -> None:
    rule = Bounds(10, 100)
    assert rule(10).kept
    assert rule(100).kept
    assert rule(100.5).reason == "perplexity 100.5 above 100"
    assert rule(9).reason == "perplexity 9 below 10"
    assert rule(math.nan).reason == "nothing to score"
    with pytest.raises(InputError, match="smaller number first"):
        Bounds(2, 1)


def test_buckets() -> None:
    rule = Buckets(100, 200, ("head",))
    assert [rule(v).bucket for v in (100, 150, 200, 201, math.nan)] == ["head", "middle", "middle", "tail", "tail"]
    assert [rule(v).kept for v in (100, 150, 300)] == [True, False, False]
    with pytest.raises(InputError, match="bucket best"):
        Buckets(1, 2, ("best",))


def test_cutoffs_are_kept_by_language(tmp_path: Path) -> None:
    path = tmp_path / "cutoffs.json"
    write_cutoffs(path, "fi", 300.0, 700.5)
    write_cutoffs(path, "en", 1.0, 2.0)
    assert read_cutoffs(path, "fi") == (300.0, 700.5)
    with pytest.raises(InputError, match=r"no cut-offs for 'sv', only for 'en', 'fi'; --learn-cutoffs"):
        read_cutoffs(path, "sv")
    path.write_text("[1]")
    with pytest.raises(InputError, match="expected cut-offs by language"):
        read_cutoffs(path, "fi")


@pytest.mark.parametrize(("text", "expected"), [("0.1:0.6", (0.1, 0.6)), (":0.5", (0, 0.5)), ("0.2:", (0.2, 1))])
def test_shares(text: str, expected: tuple[float, float]) -> None:
    assert share(text) == expected


@pytest.mark.parametrize("text", ["0.5", "0.6:0.1", "a:b", "-1:0.5", "0:2", ":"])
def test_shares_that_are_none(text: str) -> None:
    if text == ":":
        assert share(text) == (0, 1)
        return
    with pytest.raises(InputError, match="expected two shares"):
        share(text)


def test_bins_are_six_a_factor_of_ten() -> None:
    assert [histogram_bin(v) for v in (0.5, 1, 1.5, 10, 100, 1e30, math.inf)] == [0, 0, 1, 6, 12, 59, 59]
