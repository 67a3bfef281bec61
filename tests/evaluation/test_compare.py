"""The paired bootstrap against the normal theory of a mean, and what it refuses."""

import numpy as np
import pytest

from neuralgram.evaluation.compare import difference


def test_the_interval_is_that_of_a_mean_of_independent_gaps():
    rng = np.random.default_rng(1)
    gaps = rng.normal(0.1, 1.0, 400)
    reference = rng.exponential(5.0, 400)
    found = difference(reference + gaps, reference, np.arange(400))
    half = 1.96 * gaps.std() / np.sqrt(400)
    assert found.nats == pytest.approx(gaps.mean())
    assert found.low == pytest.approx(gaps.mean() - half, abs=0.012)
    assert found.high == pytest.approx(gaps.mean() + half, abs=0.012)


def test_a_difference_is_a_ratio_of_sums_not_a_mean_of_means():
    losses = np.array([4.0, 1.0, 1.0, 1.0])
    found = difference(losses, np.zeros(4), np.array([0, 1]))
    assert found.nats == 7 / 4
    assert found.groups == 2


def test_dependent_tokens_widen_the_interval():
    rng = np.random.default_rng(2)
    gaps = np.repeat(rng.normal(0, 1, 50), 20)
    alone = difference(gaps, np.zeros(1000), np.arange(1000))
    grouped = difference(gaps, np.zeros(1000), np.arange(0, 1000, 20))
    assert (grouped.high - grouped.low) / (alone.high - alone.low) == pytest.approx(np.sqrt(20), rel=0.15)


def test_equal_models_are_never_decided_and_one_group_gives_no_interval():
    same = np.ones(10)
    assert not difference(same, same, np.arange(10)).decided
    assert difference(same + 1, same, np.arange(10)).decided
    assert not difference(same + 1, same, np.array([0])).decided


def test_an_impossible_token_gives_no_interval():
    found = difference(np.array([np.inf, 1.0]), np.ones(2), np.arange(2))
    assert found.nats == np.inf
    assert not found.decided
