"""The contract of every counting model and mixture, run over whatever is registered."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest

from neuralgram import ngram
from neuralgram.text.windows import Corpus


def closed(units, V):
    """A corpus of units with the boundary symbol V − 1."""
    ids = [token for unit in units for token in (*unit, V - 1)]
    return Corpus(np.array(ids, np.uint8), V, V - 1)


def _random(seed, count, V):
    return np.random.default_rng(seed).zipf(1.5, count) % V


# Token V − 2 of each vocabulary (and others) never occurs: the unknown symbol of a text without unknown words.
CORPORA = {
    "lines": closed([_random(i, i % 7, 8) for i in range(60)], 10),
    "stream": Corpus(_random(3, 400, 8), 9),
    "one line": closed([[0, 1, 2, 0]], 5),
    "one type": Corpus(np.zeros(30, np.uint8), 3),
    "no singletons": Corpus(np.tile([0, 1, 2], 40), 5),
    "empty lines": closed([[], [], [0], []], 3),
    "one token": Corpus(np.array([1]), 2),
    "one symbol": Corpus(np.zeros(5, np.uint8), 1),
}
OPTIONS = {"add-k": {"k": 0.1}, "class": {"classes": 3}}
NEEDS_HELD_OUT = ("deleted-interpolation",)


def fitted(name, corpus, order):
    options = dict(OPTIONS.get(name, {}))
    if name in NEEDS_HELD_OUT:
        options["valid"] = Corpus(np.tile(corpus.ids, 5), corpus.vocab_size, corpus.boundary)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small texts have discounts that fall back, which warns
        return ngram.fit(name, corpus, order, **options)


def probes(corpus, length):
    """Contexts seen, random ones, and each token alone, repeated."""
    V = corpus.vocab_size
    seen, _ = corpus.windows(length).slice(0, 40)
    random = np.random.default_rng(0).integers(0, V, (40, length))
    return np.concatenate([seen, random, np.repeat(np.arange(V)[:, None], length, axis=1)])


ALL = [
    pytest.param(name, text, n, id=f"{name}-{text}-{n}")
    for name in ngram.ESTIMATORS
    for text in CORPORA
    for n in (1, 2, 4)
]


@pytest.mark.parametrize(("name", "text", "order"), ALL)
def test_rows_sum_to_one_and_losses_are_gathered_from_them(name, text, order):
    model = fitted(name, CORPORA[text], order)
    contexts = probes(CORPORA[text], model.context)
    rows = model.log_probs(contexts)
    assert rows.dtype == np.float64
    assert rows.shape == (len(contexts), model.vocab_size)
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1, atol=1e-9)
    for target in range(model.vocab_size):
        losses = model.context_nll(contexts, np.full(len(contexts), target))
        np.testing.assert_allclose(losses, -rows[:, target], atol=1e-9)


@pytest.mark.parametrize(("name", "text", "order"), ALL)
def test_a_batch_is_its_rows(name, text, order):
    corpus = CORPORA[text]
    model = fitted(name, corpus, order)
    contexts, targets = corpus.windows(model.context).slice(0, 30)
    alone = [model.context_nll(c[None], t[None])[0] for c, t in zip(contexts, targets, strict=True)]
    np.testing.assert_array_equal(model.context_nll(contexts, targets), alone)
    np.testing.assert_array_equal(model.score(corpus.windows(model.context), 7)[:30], alone)
    rows = model.log_probs(probes(corpus, model.context))
    np.testing.assert_array_equal(rows, [model.log_probs(c[None])[0] for c in probes(corpus, model.context)])


@pytest.mark.parametrize(("name", "text", "order"), ALL)
def test_storing_changes_nothing(name, text, order):
    corpus = CORPORA[text]
    model = fitted(name, corpus, order)
    config = json.loads(json.dumps(model.config()))
    for again in (ngram.from_state(config, model.state()), pickle.loads(pickle.dumps(model))):
        contexts = probes(corpus, model.context)
        np.testing.assert_array_equal(again.log_probs(contexts), model.log_probs(contexts))
        assert (again.vocab_size, again.context, again.boundary) == (corpus.vocab_size, model.context, corpus.boundary)
        assert again.config() == model.config()


@pytest.mark.parametrize("name", ngram.ESTIMATORS)
def test_texts_are_sampled(name):
    model = fitted(name, CORPORA["lines"], 3)
    ids = model.generate([9, 9], 50, seed=1)
    assert len(ids) == 50
    assert ids == model.generate([9, 9], 50, seed=1)
