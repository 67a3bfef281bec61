"""Choosing a token, against the rule written out with PCG32."""

import math

import numpy as np
import pytest

from neuralgram import PCG32, InputError, Sampling
from neuralgram.sampling import Chooser

Y = np.array([1.0, 3.0, 2.5, -1.0, 3.0])


def by_the_rule(y, temperature, seed, draws):
    rng, out = PCG32(seed), []
    for _ in range(draws):
        weights = [math.exp((v - max(y)) / temperature) for v in y]
        bar, running = rng.uniform() * sum(weights), 0.0
        for token, weight in enumerate(weights):
            running += weight
            if running > bar:
                out.append(token)
                break
    return out


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_rule(temperature):
    choose = Chooser(Sampling(temperature), seed=11)
    assert [choose(Y) for _ in range(50)] == by_the_rule(Y.tolist(), temperature, 11, 50)


def test_greedy_takes_the_lowest_of_equals():
    assert Chooser(Sampling(0.0), 0)(Y) == 1
    assert Chooser(Sampling(1e-4), 0).weights(Y)[[1, 4]].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("sampling", "kept"),
    [
        (Sampling(top_k=1), [1]),
        (Sampling(top_k=2), [1, 4]),
        (Sampling(top_k=5), [0, 1, 2, 3, 4]),
        (Sampling(top_k=99), [0, 1, 2, 3, 4]),
        (Sampling(top_p=0.01), [1]),
        (Sampling(top_p=0.5), [1, 4]),
        (Sampling(top_p=1.0), [0, 1, 2, 3, 4]),
        (Sampling(banned=(1, 4)), [0, 2, 3]),
        (Sampling(temperature=0, banned=(1, 4)), [2]),
    ],
)
def test_what_may_be_drawn(sampling, kept):
    weights = Chooser(sampling, 0).weights(Y)
    assert np.flatnonzero(weights).tolist() == kept
    assert weights.sum() == pytest.approx(1)
    if sampling.temperature:
        assert weights[kept] == pytest.approx(np.exp(Y[kept]) / np.exp(Y[kept]).sum())
    choose = Chooser(sampling, 3)
    assert {choose(Y) for _ in range(300)} <= set(kept)


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1.0}, {"temperature": math.nan}, {"temperature": math.inf}, {"top_k": 0}, {"top_p": 0.0},
     {"top_p": 1.5}, {"top_p": math.nan}],
)  # fmt: skip
def test_wrong_settings_are_named(wrong):
    with pytest.raises(InputError, match=str(next(iter(wrong.values())))):
        Sampling(**wrong)


def test_nothing_left_to_draw():
    with pytest.raises(InputError, match="banned"):
        Chooser(Sampling(banned=(0, 1)), 0)(np.zeros(2))
    with pytest.raises(InputError, match="not a number"):
        Chooser(Sampling(), 0)(np.full(3, np.nan))


def test_a_temperature_near_zero_is_greedy_and_silent():
    assert Chooser(Sampling(1e-308), seed=1).weights(Y[:3]).tolist() == [0, 1, 0]
