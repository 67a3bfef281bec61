"""Mixtures: the weighted sum, weights by maximum likelihood, bins, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from neuralgram.errors import InputError, ModelDirError
from neuralgram.mixture import Mixture, Uniform
from neuralgram.ngram import fit
from neuralgram.ngram.context_bins import ContextBins
from neuralgram.text.windows import Corpus

RNG = np.random.default_rng(8)
V = 12
IDS = (np.cumsum(RNG.integers(0, 3, 1500)) + RNG.zipf(1.7, 1500)) % (V - 1)
TRAIN, VALID = Corpus(IDS[:1000], V), Corpus(IDS[1000:], V)
PARTS = [fit("add-k", TRAIN, 3, k=0.1), fit("add-k", TRAIN, 2, k=1.0), Uniform(V)]


def test_the_weighted_sum_of_parts_of_different_widths():
    mixture = Mixture(PARTS, [0.5, 0.3, 0.2])
    contexts = VALID.windows(2).slice(0, 30)[0]
    p = [np.exp(part.log_probs(contexts[:, 2 - part.context :])) for part in PARTS]
    np.testing.assert_allclose(np.exp(mixture.log_probs(contexts)), 0.5 * p[0] + 0.3 * p[1] + 0.2 * p[2], atol=1e-14)


def test_learned_weights_are_the_maximum_of_the_likelihood():
    mixture = Mixture.learned(PARTS, VALID)
    best = mixture.score(VALID.windows(2)).sum()
    assert mixture.weights.shape == (1, 3)
    for change in RNG.normal(0, 0.05, (40, 3)):
        other = np.maximum(mixture.weights[0] + change, 0)
        assert Mixture(PARTS, other / other.sum()).score(VALID.windows(2)).sum() > best - 1e-3


def test_binned_weights_are_learned_bin_by_bin():
    mixture = Mixture.binned(PARTS, VALID, TRAIN)
    bins = ContextBins.of(TRAIN, 2)
    contexts, targets = VALID.windows(2).slice(0, 10**6)
    q = bins(contexts)
    p = np.stack([np.exp(-part.context_nll(contexts[:, 2 - part.context :], targets)) for part in PARTS], axis=1)
    for bin in np.unique(q):
        weights = np.full(3, 1 / 3)
        for _ in range(1000):
            weights = (weights * p[q == bin] / (p[q == bin] @ weights)[:, None]).mean(axis=0)
        np.testing.assert_allclose(mixture.weights[bin], weights, atol=1e-5)
    losses = -np.log((mixture.weights[q] * p).sum(axis=1))
    np.testing.assert_allclose(mixture.context_nll(contexts, targets), losses, atol=1e-12)
    assert losses.sum() <= Mixture.learned(PARTS, VALID).score(VALID.windows(2)).sum() + 1e-3


def test_zeros_give_inf_and_never_nan():
    zero = [fit("mle", Corpus(np.array([0, 1] * 9), V), 2), fit("mle", Corpus(np.array([0, 2] * 9), V), 2)]
    mixture = Mixture(zero, [0.5, 0.5])
    assert mixture.context_nll([[0]], [5])[0] == np.inf
    assert mixture.context_nll([[0]], [1])[0] == pytest.approx(np.log(2))
    assert Mixture(zero, [0.0, 1.0]).context_nll([[0]], [1])[0] == np.inf
    assert not np.isnan(mixture.log_probs([[0], [1], [2], [7]])).any()
    learned = Mixture.learned(zero, Corpus(np.array([0, 1, 0, 1, 0, 5, 0, 1, 0, 2]), V))
    assert not np.isnan(learned.weights).any()


def test_a_uniform_part_is_the_floor():
    mixture = Mixture([fit("mle", Corpus(np.array([0, 1] * 9), V), 2), Uniform(V)], [0.9, 0.1])
    assert mixture.context_nll([[0]], [5])[0] == pytest.approx(-np.log(0.1 / V))


def test_a_floor_among_some_tokens_gives_them_all_it_has():
    floor = Uniform(V, [7, 2, 7])
    expected = [0.5 if v in (2, 7) else 0.0 for v in range(V)]
    np.testing.assert_allclose(np.exp(floor.log_probs(np.empty((1, 0)))[0]), expected, atol=1e-15)
    again = Uniform.from_state(floor.config(), floor.state())
    nll = again.context_nll(np.empty((3, 0)), [2, 3, 7])
    np.testing.assert_allclose(nll, [np.log(2), np.inf, np.log(2)])
    for among in ([], [V], [-1]):
        with pytest.raises(InputError):
            Uniform(V, among)


def test_mixtures_are_mixed_again_and_stored():
    inner = Mixture.binned(PARTS[:2], VALID, TRAIN)
    outer = Mixture([inner, Uniform(V)], [0.8, 0.2])
    contexts = RNG.integers(0, V, (20, 2))
    expected = 0.8 * np.exp(inner.log_probs(contexts)) + 0.2 / V
    np.testing.assert_allclose(np.exp(outer.log_probs(contexts)), expected, atol=1e-14)
    for mixture in (inner, outer):
        again = Mixture.from_state(mixture.config(), mixture.state(), mixture.parts)
        np.testing.assert_array_equal(again.log_probs(contexts), mixture.log_probs(contexts))
    with pytest.raises(ModelDirError, match="2 parts: 1 were found"):
        Mixture.from_state(outer.config(), outer.state(), [inner])


def units(V):
    return Corpus(np.array([0, 1, V - 1, 2, V - 1]), V, V - 1)


@pytest.mark.parametrize(
    ("parts", "weights", "said"),
    [
        ([], [], "no models"),
        ([PARTS[0], Uniform(V + 1)], [0.5, 0.5], "part 2 is over 13 symbols, part 1 over 12"),
        ([Uniform(V), PARTS[0], fit("mle", units(V), 2)], [0.4, 0.3, 0.3], "part 3 has boundary 11, part 2 has None"),
        (PARTS, [0.5, 0.5], "expected 3 weights"),
        (PARTS, [0.5, 0.6, -0.1], "expected 0 or more, summing to 1"),
        (PARTS, [0.5, 0.6, 0.1], "expected 0 or more, summing to 1"),
        (PARTS, [np.nan, 0.5, 0.5], "expected 0 or more, summing to 1"),
    ],
)
def test_what_is_refused(parts, weights, said):
    with pytest.raises(InputError, match=said):
        Mixture(parts, weights)


def test_held_out_text_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="held-out text over 5 symbols"):
        Mixture.learned(PARTS, Corpus(np.array([1, 2, 3]), 5))
    with pytest.raises(InputError, match="2 held-out tokens"):
        Mixture.learned(PARTS, Corpus(np.array([1, 2]), V))
