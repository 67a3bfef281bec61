"""Deleted interpolation against its equation, bins as printed in the paper, EM against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuralgram.errors import InputError
from neuralgram.ngram import fit
from neuralgram.ngram.context_bins import ContextBins, bin_count, bin_of, em
from neuralgram.text.windows import Corpus
from tests.ngram import naive

V = 7
RNG = np.random.default_rng(2)
UNITS = [t for _ in range(80) for t in (*(RNG.zipf(1.6, RNG.integers(0, 8)) % 5).tolist(), 6)]
CUT = UNITS.index(6, 250) + 1
TRAIN, VALID = Corpus(np.array(UNITS[:CUT]), V, 6), Corpus(np.array(UNITS[CUT:]), V, 6)
STREAMS = Corpus(TRAIN.ids[TRAIN.ids != 6], V), Corpus(VALID.ids[VALID.ids != 6], V)


def test_bins_are_the_printed_formula():
    """T = 800 000: l(0) = ⌈log T⌉ = 14, l(1) = ⌈log(T/2)⌉ = 13, l(e) and upwards by the formula."""
    x = np.array([0, 1, 2, 10, 1000, 799_999, 2_000_000])
    assert bin_of(x, 800_000).tolist() == [14, 13, 13, 12, 7, 0, 0]
    assert bin_count(800_000) == 15
    for frequency in range(300):
        assert bin_of(np.array([frequency]), 500)[0] == max(0, math.ceil(-math.log((1 + frequency) / 500)))
    assert bin_count(1) == 1


def naive_em(p, q, count, iterations):
    weights = [[1 / p.shape[1]] * p.shape[1] for _ in range(count)]
    for _ in range(iterations):
        sums = [[0.0] * p.shape[1] for _ in range(count)]
        for row, bin in zip(p, q, strict=True):
            total = sum(w * x for w, x in zip(weights[bin], row, strict=True))
            for i, (w, x) in enumerate(zip(weights[bin], row, strict=True)):
                sums[bin][i] += w * x / total
        weights = [[s / sum(row) for s in row] if sum(row) else old for row, old in zip(sums, weights, strict=True)]
    return np.array(weights)


def test_em_is_its_definition_and_empty_bins_take_the_pooled_weights():
    p = RNG.random((200, 3)) * [1, 0.2, 2]
    q = RNG.integers(0, 3, 200) * 2
    got = em(p, q, 6, 5)
    expected = naive_em(p, q, 6, 5)
    pooled = naive_em(p, np.zeros(200, int), 1, 5)[0]
    np.testing.assert_allclose(got[[0, 2, 4]], expected[[0, 2, 4]], atol=1e-12)
    np.testing.assert_allclose(got[[1, 3, 5]], np.tile(pooled, (3, 1)), atol=1e-12)


@pytest.mark.parametrize(("train", "valid"), [(TRAIN, VALID), STREAMS], ids=["units", "stream"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_equation(train, valid, order):
    model = fit("deleted-interpolation", train, order, valid=valid)
    b, T = train.boundary, len(train)
    found = naive.counts(train.ids.tolist(), order, b)

    def components(context):
        rows = [np.full(V, 1 / V)]
        for length in range(order):
            h = naive.cut(context[len(context) - length :], b)
            after = np.array(naive.followers(found, h, V, b))
            rows.append(after / after.sum() if after.sum() and len(h) == length else rows[-1])
        h = naive.cut(context, b)
        return np.array(rows), max(0, math.ceil(-math.log((1 + sum(naive.followers(found, h, V, b))) / T)))

    contexts, targets = valid.windows(order - 1).slice(0, 10**6)
    pairs = [components(tuple(context)) for context in contexts.tolist()]
    p = np.array([rows[:, target] for (rows, _), target in zip(pairs, targets, strict=True)])
    q = np.array([bin for _, bin in pairs])
    used = np.unique(q)
    np.testing.assert_allclose(model.alphas[used], naive_em(p, q, len(model.alphas), 5)[used], atol=1e-12)
    probes = RNG.integers(0, V, (50, order - 1))
    for context, row in zip(probes.tolist(), np.exp(model.log_probs(probes)), strict=True):
        rows, bin = components(tuple(context))
        np.testing.assert_allclose(row, model.alphas[bin] @ rows, atol=1e-12)


def test_context_bins_count_contexts_back_to_the_boundary():
    bins = ContextBins.of(TRAIN, 2)
    found = naive.counts(TRAIN.ids.tolist(), 2, 6)
    for context in RNG.integers(0, V, (60, 3)).tolist():
        h = naive.cut(context[1:], 6)
        frequency = found.get(h, 0)
        expected = max(0, math.ceil(-math.log((1 + frequency) / len(TRAIN))))
        assert bins(np.array([context]))[0] == min(expected, len(bins) - 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "fits its weights to held-out text"),
        ({"valid": VALID, "iterations": 0}, "0 iterations"),
        ({"valid": STREAMS[1]}, "another vocabulary or boundary"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        fit("deleted-interpolation", TRAIN, 2, **options)
