"""The contract of every counting model and mixture, run over whatever is registered."""

from __future__ import annotations

import inspect
import json
import pickle
import tracemalloc
import warnings
from functools import cache

import numpy as np
import pytest

from neuralgram import ngram
from neuralgram.errors import InputError
from neuralgram.families import ESTIMATORS, KINDS, member
from neuralgram.lm import LanguageModel
from neuralgram.mixture import Mixture, Uniform
from neuralgram.settings import described
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


def mixed(name, corpus, order):
    """Two models of different widths and a floor, mixed in the way `name` says."""
    parts = [fitted("kneser-ney", corpus, order), fitted("longest-match", corpus, 1), Uniform(corpus.vocab_size)]
    held_out = Corpus(np.tile(corpus.ids, 5), corpus.vocab_size, corpus.boundary)
    if name == "mixture-given":
        return Mixture(parts, [0.5, 0.3, 0.2])
    return Mixture.learned(parts, held_out) if name == "mixture-learned" else Mixture.binned(parts, held_out, corpus)


MIXTURES = ("mixture-given", "mixture-learned", "mixture-binned")


@cache
def made(name, text, order):
    """The model of that name fitted to that text; models never change, so each is made once."""
    return mixed(name, CORPORA[text], order) if name in MIXTURES else fitted(name, CORPORA[text], order)


ALL = [
    pytest.param(name, text, n, id=f"{name}-{text}-{n}")
    for name in (*ESTIMATORS, *MIXTURES)
    for text in CORPORA
    for n in (1, 3)
]


@pytest.mark.parametrize(("name", "text", "order"), ALL)
def test_rows_sum_to_one_and_losses_are_gathered_from_them(name, text, order):
    model = made(name, text, order)
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
    model = made(name, text, order)
    contexts, targets = corpus.windows(model.context).slice(0, 20)
    alone = [model.context_nll(c[None], t[None])[0] for c, t in zip(contexts, targets, strict=True)]
    np.testing.assert_array_equal(model.context_nll(contexts, targets), alone)
    np.testing.assert_array_equal(model.score(corpus.windows(model.context), 7)[:20], alone)
    some = probes(corpus, model.context)[::9]
    np.testing.assert_array_equal(model.log_probs(some), [model.log_probs(c[None])[0] for c in some])


@pytest.mark.parametrize(("name", "text", "order"), ALL)
def test_storing_changes_nothing(name, text, order):
    corpus = CORPORA[text]
    model = made(name, text, order)
    config = json.loads(json.dumps(model.config()))
    stored = member(KINDS, model.kind, "kind").from_state(config, model.state(), model.parts)
    for again in (stored, pickle.loads(pickle.dumps(model))):
        contexts = probes(corpus, model.context)
        np.testing.assert_array_equal(again.log_probs(contexts), model.log_probs(contexts))
        assert (again.vocab_size, again.context, again.boundary) == (corpus.vocab_size, model.context, model.boundary)
        assert again.boundary == corpus.boundary or not model.says_boundary
        assert again.config() == model.config()


@pytest.mark.parametrize("name", [*ESTIMATORS, *MIXTURES])
def test_texts_are_sampled(name):
    model = made(name, "lines", 3)
    ids = model.generate([9, 9], 50, seed=1)
    assert len(ids) == 50
    assert ids == model.generate([9, 9], 50, seed=1)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_settings_are_the_options_of_fit(name):
    estimator = ngram.estimator(name)
    options = {one.name: one for one in described(estimator.Settings)}
    assert set(options) == {*ngram.takes(name)} - {"valid"}
    for option, parameter in inspect.signature(estimator.fit).parameters.items():
        if option in options:
            assert parameter.default == options[option].default
    assert all(one.about.help for one in options.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_counting_keeps_within_its_memory(name, tmp_path):
    """300 000 tokens, 96 bytes each while an order is counted: on disk from 1 MiB on, and the same model."""
    file = np.memmap(tmp_path / "ids", np.uint8, "w+", shape=(300_000,))
    file[:] = np.random.default_rng(0).zipf(1.5, len(file)) % 20
    corpus, held_out = Corpus(file, 21), Corpus(np.arange(500) % 20, 21)
    options = {"classes": 3} if name == "class" else {}
    if "valid" in ngram.takes(name):
        options["valid"] = held_out
    ngram.fit(name, held_out, 2, memory_limit=1 << 20, **options)  # what is imported at the first call is not counted
    peaks, models = [], []
    for limit in (None, 1 << 20):
        tracemalloc.start()
        models.append(ngram.fit(name, corpus, 2, memory_limit=limit, **options))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] > 10 << 20
    assert peaks[1] < 3 << 20
    for array, values in models[0].state().items():
        np.testing.assert_array_equal(models[1].state()[array], values)


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("text", CORPORA)
def test_a_mixture_loses_at_most_the_weighted_mean_of_its_parts(name, text):
    corpus = CORPORA[text]
    mixture = made(name, text, 3)
    contexts = probes(corpus, mixture.context)
    for target in range(corpus.vocab_size):
        targets = np.full(len(contexts), target)
        losses = [part.context_nll(contexts[:, mixture.context - part.context :], targets) for part in mixture.parts]
        q = 0 if mixture.bins is None else mixture.bins(contexts)
        with np.errstate(invalid="ignore"):
            shares = mixture.weights[q] * np.stack(losses, axis=1)
        bound = np.where(mixture.weights[q] > 0, shares, 0.0).sum(axis=1)
        assert (mixture.context_nll(contexts, targets) <= bound + 1e-12).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_mixed_with_itself_is_itself(name):
    corpus = CORPORA["lines"]
    model = made(name, "lines", 3)
    contexts = probes(corpus, 2)
    np.testing.assert_allclose(
        Mixture([model, model], [0.3, 0.7]).log_probs(contexts), model.log_probs(contexts), atol=1e-12
    )


class Counted(LanguageModel):
    """Answers as a coin does, and says how many windows it was asked at once."""

    vocab_size, context, score_batch = 2, 1, 5000

    def __init__(self):
        self.asked = []

    def log_probs(self, contexts):
        return np.log(np.full((len(contexts), 2), 0.5))

    def context_nll(self, contexts, targets):
        self.asked.append(len(targets))
        return np.full(len(targets), np.log(2.0))


def test_a_stream_is_scored_in_the_batches_the_model_likes():
    model = Counted()
    assert model.perplexity(np.zeros(7001, int)) == pytest.approx(2)
    assert model.asked == [5000, 2000]
    model.nll(np.zeros(9, int), 3)
    assert model.asked[2:] == [3, 3, 2]


def test_what_is_asked_of_a_model_that_gives_no_more_than_the_two_answers():
    model = Counted()
    assert (model.kind, model.called, model.parts, model.boundary, model.says_boundary) == (
        "model", "Counted", (), None, False,
    )  # fmt: skip
    assert (model.config(), model.state(), model.size()[:2]) == ({"vocab_size": 2, "context": 1}, {}, (0, "numbers"))
    assert model.explain(np.array([0]), [1]) == ()
    assert model.seen([[0]]) is None
    assert repr(model) == "<Counted: V 2, context 1>"
    assert "vocabulary" in model._repr_html_()
    for ask in (lambda: model.unnormalized([[0]], [1]), lambda: Counted.from_state(model.config(), {})):
        with pytest.raises(InputError, match="Counted"):
            ask()


@pytest.mark.parametrize(("name", "text", "order"), ALL)
def test_the_likeliest_are_the_first_of_the_sorted_row(name, text, order):
    model = made(name, text, order)
    contexts = probes(CORPORA[text], model.context)[::7]
    rows = model.log_probs(contexts)
    found = model.top(contexts, 3)
    for row, ids, log_p in zip(rows, *found, strict=True):
        by_hand = sorted(range(len(row)), key=lambda i: (-row[i], i))[:3]
        assert ids.tolist() == by_hand
        assert log_p.tolist() == row[by_hand].tolist()
    with pytest.raises(InputError, match="k = 0"):
        model.top(contexts, 0)
