"""Word classes: each move against the criterion worked out anew, and the class model against its equation."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

from neuralgram.errors import InputError
from neuralgram.ngram import fit
from neuralgram.ngram import word_classes as rooms
from neuralgram.ngram.class_model import ClassModel
from neuralgram.ngram.counts import Counts
from neuralgram.ngram.word_classes import Classes, exchange
from neuralgram.text.windows import Corpus

RNG = np.random.default_rng(5)


def criterion(ids, class_of):
    """F = Σ φ(N(g, h)) − Σ φ(N(g, ·)) − Σ φ(N(·, h)) from the text, in a plain table."""
    size = class_of.max() + 1
    table = np.zeros((size, size))
    for left, right in pairwise(ids):
        table[class_of[left], class_of[right]] += 1

    def phi(x):
        return sum(v * np.log(v) for v in x.ravel() if v > 0)

    return phi(table) - phi(table.sum(axis=1)) - phi(table.sum(axis=0))


@pytest.mark.parametrize("boundary", [None, 14])
def test_every_move_goes_to_the_best_class(boundary):
    ids = RNG.zipf(1.5, 500) % 14
    if boundary is not None:
        ids = np.append(np.where(np.arange(500) % 9 == 8, boundary, ids), boundary)
    V, C = 15, 4
    class_of = np.arange(V) % C
    if boundary is not None:
        class_of[boundary] = C
    state = rooms._Exchange(Counts.of(Corpus(ids, V, boundary), 2), class_of.copy(), class_of.max() + 1, C)
    text = ids if boundary is None else np.append(boundary, ids)
    for w in [*range(14), *range(14)]:
        before = state.class_of.copy()
        values = []
        for g in range(C):
            tried = before.copy()
            tried[w] = g
            values.append(criterion(text, tried))
        state.move(w)
        if (before == before[w]).sum() > 1:
            assert criterion(text, state.class_of) == pytest.approx(max(values), abs=1e-9)
        kept = state.phi.sum() - sum(v * np.log(v) for v in np.append(state.left, state.right) if v > 0)
        assert kept == pytest.approx(criterion(text, state.class_of), abs=1e-9)


def test_words_used_alike_are_clustered():
    """Articles, animals and verbs in turn: three classes find them exactly."""
    ids = np.stack([RNG.integers(0, 3, 400), RNG.integers(3, 8, 400), RNG.integers(8, 12, 400)], axis=1).ravel()
    found = exchange(Corpus(ids, 13), 3)
    groups = [set(found.class_of[start:stop].tolist()) for start, stop in ((0, 3), (3, 8), (8, 12))]
    assert [len(group) for group in groups] == [1, 1, 1]
    assert len(set.union(*groups)) == 3


def test_classes_of_odd_texts():
    one = exchange(Corpus(np.zeros(5, np.uint8), 3), 4)
    assert (one.class_of.tolist(), one.total) == ([0, 0, 0], 1)
    many = exchange(Corpus(np.array([2, 0, 1, 3]), 4, 3), 10)
    assert sorted(many.class_of.tolist()) == [0, 1, 2, 3]
    assert many.class_of[3] == 3
    empty = exchange(Corpus(np.array([2, 2]), 3, 2), 10)
    assert (empty.class_of.tolist(), empty.total) == ([0, 0, 1], 2)
    with pytest.raises(InputError, match="0 classes"):
        exchange(Corpus(np.array([1]), 2), 0)


@pytest.mark.parametrize("unigrams", ["uniform", "unseen"])
def test_the_class_model_is_its_equation(unigrams):
    V = 9  # 7 is never seen, 8 is the boundary
    ids = np.where(np.arange(400) % 7 == 6, 8, RNG.zipf(1.6, 400) % 7)
    corpus = Corpus(np.append(ids, 8), V, 8)
    classes = Classes(np.array([0, 1, 1, 0, 2, 2, 2, 2, 3]), 4)
    D = [[0.5, 0.9, 1.3]] * 3
    model = ClassModel.fit(corpus, 3, classes=classes, discounts=D, unigrams=unigrams)
    text = Corpus(classes.class_of[corpus.ids], 4, 3)
    over = fit("modified-kneser-ney", text, 3, discounts=D, unigrams=unigrams)
    c = np.bincount(corpus.ids, minlength=V)
    n1, n2 = (c == 1).sum(), (c == 2).sum()
    off = n1 / (n1 + 2 * n2) if n1 and n2 else 0.5
    p = np.zeros(V)
    for w, g in enumerate(classes.class_of):
        members = [v for v in range(V) if classes.class_of[v] == g]
        unseen = [v for v in members if c[v] == 0]
        sharers = unseen if unseen and unigrams == "unseen" else members
        freed = off * (len(members) - len(unseen))
        p[w] = (max(c[w] - off, 0) + (freed / len(sharers) if w in sharers else 0)) / c[members].sum()
    contexts = RNG.integers(0, V, (40, 2))
    expected = np.exp(over.log_probs(classes.class_of[contexts]))[:, classes.class_of] * p
    np.testing.assert_allclose(np.exp(model.log_probs(contexts)), expected, atol=1e-12)
    np.testing.assert_allclose(expected.sum(axis=1), 1, atol=1e-12)
    grams = set(zip(*(text.ids[i : len(text) - 2 + i] for i in range(3)), strict=True))
    targets = RNG.integers(0, V, 40)
    for context, w, order in zip(contexts, targets, model.orders(contexts, targets), strict=True):
        gram = tuple(classes.class_of[[*context, w]])
        assert (order == 3) == (gram in grams and 3 not in gram[:2]) or 3 in gram


def test_given_classes_are_checked():
    corpus = Corpus(np.array([0, 1, 2]), 3, 2)
    for classes in (Classes(np.array([0, 1]), 2), Classes(np.array([0, 1, 5]), 3), Classes(np.array([0, 1, 1]), 2)):
        with pytest.raises(InputError, match="given classes"):
            ClassModel.fit(corpus, 2, classes=classes)


def test_fallbacks_of_class_discounts_are_quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit("class", Corpus(RNG.integers(0, 9, 300), 9), 2, classes=3)
