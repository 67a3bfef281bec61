"""mle, add-k and longest-match against their definitions over dictionaries, and the figures of the literature."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralgram.errors import InputError
from neuralgram.ngram import counts_on_disk, fit
from neuralgram.ngram.add_k import AddK, tune
from neuralgram.ngram.counts import Counts
from neuralgram.text.windows import Corpus
from tests.ngram import naive


def closed(units, V):
    """A corpus of units with the boundary symbol V − 1."""
    ids = [token for unit in units for token in (*unit, V - 1)]
    return Corpus(np.array(ids, np.uint8), V, V - 1)


LINES = closed([[0, 1, 2, 1], [], [0, 1], [2, 2, 2, 2, 2], [1]], 6)
STREAM = Corpus(np.array([0, 1, 2, 0, 1, 0, 1, 2, 3, 0, 0, 2], np.uint8), 5)


CASES = [
    pytest.param(corpus, order, id=f"{'lines' if corpus.boundary else 'stream'}-{order}")
    for corpus in (LINES, STREAM)
    for order in (1, 2, 3, 5)
]


def of_order(counts, k):
    grams = counts.trie.ngrams(k).tolist()
    return {tuple(gram): int(c) for gram, c in zip(grams, counts.counts[k - 1], strict=True) if c}


def every_context(V, length, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.integers(0, V, (60, length)), np.repeat(np.arange(V)[:, None], length, axis=1)])


@pytest.mark.parametrize(("corpus", "order"), CASES)
def test_counts_are_those_of_a_dictionary(corpus, order):
    counts = Counts.of(corpus, order)
    expected = naive.counts(corpus.ids.tolist(), order, corpus.boundary)
    for k in range(1, order + 1):
        assert of_order(counts, k) == {gram: c for gram, c in expected.items() if len(gram) == k and c}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=6), st.integers(1, 4))
def test_counts_of_any_units(units, order):
    corpus = closed(units, 5)
    counts = Counts.of(corpus, order)
    expected = naive.counts(corpus.ids.tolist(), order, 4)
    for k in range(1, order + 1):
        assert of_order(counts, k) == {gram: c for gram, c in expected.items() if len(gram) == k and c}


@pytest.mark.parametrize("boundary", [None, 29], ids=["stream", "units"])
@pytest.mark.parametrize("chunk", [1, 7, 100, 2999, 3000])
def test_counting_on_disk_is_counting_in_memory(boundary, chunk):
    ids = np.random.default_rng(0).zipf(1.4, 3000) % 30
    corpus = Corpus(ids if boundary is None else np.append(ids, boundary), 30, boundary)
    corpus = Corpus(corpus.ids[: 40 * chunk], 30, boundary) if chunk < 100 else corpus
    whole = Counts.of(corpus, 4)
    unigrams, higher = counts_on_disk.orders(corpus, 4, chunk)
    np.testing.assert_array_equal(unigrams, whole.counts[0])
    for k, found in enumerate(higher, 2):
        np.testing.assert_array_equal(found.keys, whole.trie.keys[k - 2])
        np.testing.assert_array_equal(found.counts, whole.counts[k - 1])
        np.testing.assert_array_equal(found.suffixes, whole.suffixes[k - 1])


def test_a_memory_limit_changes_nothing():
    ids = np.random.default_rng(0).zipf(1.2, 30000) % 10000
    corpus = Corpus(ids.astype(np.uint16), 10000)
    whole, bounded = (fit("modified-kneser-ney", corpus, 3, memory_limit=limit) for limit in (None, 1 << 20))
    for name, values in whole.state().items():
        np.testing.assert_array_equal(bounded.state()[name], values)


@pytest.mark.parametrize(("corpus", "order"), CASES)
def test_mle_is_the_relative_frequency(corpus, order):
    V, b = corpus.vocab_size, corpus.boundary
    found = naive.counts(corpus.ids.tolist(), order, b)
    contexts = every_context(V, order - 1)
    rows = np.exp(fit("mle", corpus, order).log_probs(contexts))
    for context, row in zip(contexts.tolist(), rows, strict=True):
        after = naive.followers(found, naive.cut(context, b), V, b)
        expected = [c / sum(after) for c in after] if sum(after) else [1 / V] * V
        np.testing.assert_allclose(row, expected, atol=1e-12)


@pytest.mark.parametrize(("corpus", "order"), CASES)
def test_add_k_is_the_equation(corpus, order):
    V, b = corpus.vocab_size, corpus.boundary
    found = naive.counts(corpus.ids.tolist(), order, b)
    contexts = every_context(V, order - 1)
    rows = np.exp(fit("add-k", corpus, order, k=0.3).log_probs(contexts))
    for context, row in zip(contexts.tolist(), rows, strict=True):
        after = naive.followers(found, naive.cut(context, b), V, b)
        np.testing.assert_allclose(row, [(c + 0.3) / (sum(after) + 0.3 * V) for c in after], atol=1e-12)


@pytest.mark.parametrize(("corpus", "order"), CASES)
def test_longest_match_reads_the_longest_context_seen(corpus, order):
    V, b = corpus.vocab_size, corpus.boundary
    found = naive.counts(corpus.ids.tolist(), order, b)
    contexts = every_context(V, order - 1)
    rows = np.exp(fit("longest-match", corpus, order).log_probs(contexts))
    for context, row in zip(contexts.tolist(), rows, strict=True):
        h = naive.cut(context, b)
        while not sum(naive.followers(found, h, V, b)):
            h = h[1:]
        after = naive.followers(found, h, V, b)
        np.testing.assert_allclose(row, [c / sum(after) for c in after], atol=1e-12)


def test_longest_match_forgets_the_sheep():
    """After "the sheep ate the" a 4-gram reads "ate the"; three meals of five there are meat or fish."""
    text = """the lion ate the meat . the wolf ate the fish . the fox ate the meat . the cow ate the hay .
    the goat ate the grass . the sheep grazed . the cow grazed . the goat grazed . the lion hunted ."""
    words = text.split()
    names = sorted(set(words))
    corpus = Corpus(np.array([names.index(w) for w in words]), len(names))
    model = fit("longest-match", corpus, 4)
    context = [[names.index(w) for w in ("sheep", "ate", "the")]]
    assert model.matched(context).tolist() == [2]
    assert model.orders(context, [0]).tolist() == [3]
    p = np.exp(model.log_probs(context))[0]
    assert p[names.index("meat")] + p[names.index("fish")] == pytest.approx(0.6)
    assert p[names.index("hay")] + p[names.index("grass")] == pytest.approx(0.4)


EXTREMES = (5e-324, 1e-320, 1e-308, 1e-30, 0.1, 1.0, 7.0, 1e16, 1e200, 1e308, 1.7976931348623157e308)


@pytest.mark.parametrize("k", EXTREMES)
@pytest.mark.parametrize(("corpus", "order"), CASES)
def test_add_k_is_the_equation_for_any_k(corpus, order, k):
    """Against exact decimals: kV is more than a float holds, k/c(h) less."""
    V, b = corpus.vocab_size, corpus.boundary
    found = naive.counts(corpus.ids.tolist(), order, b)
    model = fit("add-k", corpus, order, k=k)
    contexts = every_context(V, order - 1)[::7]
    rows = model.log_probs(contexts)
    for context, row in zip(contexts.tolist(), rows, strict=True):
        after = naive.followers(found, naive.cut(context, b), V, b)
        whole = sum(after) + Decimal(k) * V
        np.testing.assert_allclose(row, [float(((c + Decimal(k)) / whole).ln()) for c in after], rtol=1e-12)
    for w in range(V):
        np.testing.assert_allclose(-model.context_nll(contexts, np.full(len(contexts), w)), rows[:, w], rtol=1e-12)
    tuned = tune(corpus, corpus, order, (k,))
    assert np.isfinite(tuned.losses).all()


@pytest.mark.parametrize("floor", [5e-324, 1e-320, 1e-300, 1e-17, 0.5, 1.0])
@pytest.mark.parametrize("name", ["mle", "longest-match"])
def test_with_any_floor_every_loss_is_finite_and_right(name, floor):
    model = fit(name, Corpus(np.array([0, 1, 0, 1, 1]), 7), 2, floor=floor)
    expected = [float(((1 - Decimal(floor)) * p + Decimal(floor) / 7).ln()) for p in (0, 1, 0, 0, 0, 0, 0)]
    np.testing.assert_allclose(model.log_probs([[0]])[0], expected, rtol=1e-12, atol=1e-15)
    losses = model.context_nll(np.zeros((7, 1), int), np.arange(7))
    np.testing.assert_allclose(-losses, expected, rtol=1e-12, atol=1e-15)


def test_unseen_words_lose_infinitely_much_without_a_floor():
    corpus = Corpus(np.array([0, 1, 0, 1]), 3)
    assert fit("mle", corpus, 2).context_nll([[0]], [2])[0] == np.inf
    assert fit("mle", corpus, 2, floor=0.3).context_nll([[0]], [2])[0] == pytest.approx(-np.log(0.1))
    assert fit("longest-match", corpus, 2, floor=0.3).context_nll([[0]], [1])[0] == pytest.approx(-np.log(0.8))


def test_tuning_finds_the_least_of_the_losses_each_model_has():
    """Each loss of the grid is the mean loss of that model, all orders on the same tokens."""
    rng = np.random.default_rng(1)
    ids = np.cumsum(rng.integers(0, 3, 900)) % 7
    train, valid = Corpus(ids[:700], 7), Corpus(ids[700:], 7)
    tuned = tune(train, valid, 4, (0.01, 0.1, 1.0))
    for n in range(1, 5):
        for i, k in enumerate(tuned.ks):
            losses = AddK.fit(train, n, k=k).score(valid.windows(n - 1, first=3))
            assert tuned.losses[n - 1, i] == pytest.approx(losses.mean(), abs=1e-12)
    assert tuned.loss == tuned.losses.min() == tuned.losses[tuned.order - 1, tuned.ks.index(tuned.k)]
    model = AddK.fit(train, 4, valid=valid)
    assert model.order <= 4
    assert model.score(valid.windows(model.context, first=3)).mean() <= tuned.loss + 1e-12


def test_tuning_respects_units():
    valid = closed([[0, 1, 2], [2, 1], []], 6)
    tuned = tune(LINES, valid, 3, (0.5,))
    for n in range(1, 4):
        losses = AddK.fit(LINES, n, k=0.5).score(valid.windows(n - 1))
        assert tuned.losses[n - 1, 0] == pytest.approx(losses.mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"smoothing": "add-q"}, "smoothing 'add-q'"),
        ({"smoothing": "mle", "k": 1.0}, "mle takes no option k"),
        ({"smoothing": "add-k"}, "neither k nor held-out text"),
        ({"smoothing": "add-k", "k": 0.0}, "k = 0"),
        ({"smoothing": "mle", "floor": 2.0}, "floor 2"),
        ({"smoothing": "mle", "order": 0}, "order 0"),
        ({"smoothing": "mle", "order": 2.5}, "order 2.5"),
        ({"smoothing": "mle", "order": True}, "order True"),
        ({"smoothing": "mle", "order": "2"}, "order 2"),
        ({"smoothing": "mle", "order": 10**30}, "order 1000"),
        ({"smoothing": ["mle"]}, "smoothing"),
        *[({"smoothing": "add-k", "k": k}, "k = ") for k in (-1.0, np.nan, np.inf, 10**400, "0.1", True, [1.0])],
        *[({"smoothing": "mle", "floor": f}, "floor ") for f in (-1e-320, 1.0000001, np.nan, "0.1", True, None)],
        *[({"smoothing": "class", "classes": c}, "classes: expected") for c in (0, -1, 2.5, "3", True, None)],
        *[({"smoothing": "class", "sweeps": s}, "sweeps") for s in (-1, 2.5, "3", None)],
        *[({"smoothing": "deleted-interpolation", "iterations": i}, "iterations of EM") for i in (0, 1.5, "5", None)],
        *[({"smoothing": "kneser-ney", "prune": p}, "prun") for p in ((0, 1.5), (0, "1"), (0, -1), (1,), (0, 1, 2))],
        *[({"smoothing": "kneser-ney", "discounts": d}, "discounts") for d in (0.5, None, [None, None], [0.5, np.nan])],
        *[({"smoothing": "mle", "memory_limit": m}, "memory limit of ") for m in (0, -1, 2.0**30, "1", 1 << 19)],
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        fit(**({"corpus": STREAM, "order": 2} | options))


def test_an_empty_corpus_is_refused():
    with pytest.raises(InputError, match="empty"):
        fit("mle", Corpus(np.array([], np.uint8), 3), 2)
