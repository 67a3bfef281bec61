"""Kneser–Ney in all its forms: against the equations over dictionaries and KenLM's own tables."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from neuralgram.errors import InputError
from neuralgram.ngram import fit
from neuralgram.text.windows import Corpus
from tests.ngram import naive

V = 7  # token 5 never occurs; 6 is the boundary in units


def _units():
    rng = np.random.default_rng(4)
    return [token for _ in range(60) for token in (*(rng.zipf(1.7, rng.integers(0, 9)) % 5).tolist(), 6)]


UNITS = Corpus(np.array(_units(), np.uint8), V, 6)
STREAM = Corpus(np.array([t for t in _units() if t != 6], np.uint8), V)


class Naive:
    """The textbook, one probability at a time: adjusted counts, discounts, and both forms by recursion."""

    def __init__(self, corpus, order, *, modified, form, thresholds=(), discounts=None):
        self.b, self.form, self.order = corpus.boundary, form, order
        raw = naive.counts(corpus.ids.tolist(), order, corpus.boundary)
        raw = {gram: c for gram, c in raw.items() if c}
        self.a = {}
        for gram, c in raw.items():
            before = len({longer[0] for longer in raw if len(longer) == len(gram) + 1 and longer[1:] == gram})
            self.a[gram] = c if len(gram) == order or not before else before
        limit = [*thresholds, *[thresholds[-1]] * order] if thresholds else [0] * order
        self.kept = {gram for gram, c in raw.items() if len(gram) == 1 or c > limit[len(gram) - 1]}
        self.D = discounts or [self.discount(k, modified) for k in range(1, order + 1)]

    def discount(self, k, modified):
        n = [sum(1 for gram, a in self.a.items() if len(gram) == k and a == i) for i in range(5)]
        y = n[1] / (n[1] + 2 * n[2])
        return [i - (i + 1) * y * n[i + 1] / n[i] if modified else y for i in (1, 2, 3)]

    def off(self, gram):
        return self.D[len(gram) - 1][min(self.a[gram], 3) - 1]

    def after(self, h):
        if len(h) > 1 and h[-1] == self.b:
            return []
        return [(*h, w) for w in range(V) if (*h, w) in self.a]

    def gamma(self, h):
        grams = self.after(h)
        return sum(self.off(g) if g in self.kept else self.a[g] for g in grams) / sum(self.a[g] for g in grams)

    def p(self, h, w):
        if not h:
            grams, unseen = self.after(()), [v for v in range(V) if (v,) not in self.a]
            seen = (self.a[(w,)] - self.off((w,))) / sum(self.a[g] for g in grams) if (w,) in self.a else 0.0
            if self.form == "interpolated":
                return seen + self.gamma(()) / V
            return seen or self.gamma(()) / len(unseen)
        grams = self.after(h)
        if not grams:
            return self.p(h[1:], w)
        gram = (*h, w)
        seen = (
            (self.a[gram] - self.off(gram)) / sum(self.a[g] for g in grams) if gram in self.kept & set(grams) else 0.0
        )
        if self.form == "interpolated":
            return seen + self.gamma(h) * self.p(h[1:], w)
        return seen or self.gamma(h) * self.p(h[1:], w) / (
            1 - sum(self.p(h[1:], g[-1]) for g in grams if g in self.kept)
        )


@pytest.mark.parametrize("corpus", [UNITS, STREAM], ids=["units", "stream"])
@pytest.mark.parametrize("form", ["interpolated", "backoff"])
@pytest.mark.parametrize("name", ["kneser-ney", "modified-kneser-ney"])
@pytest.mark.parametrize("prune", [(), (0, 0, 1)], ids=["whole", "pruned"])
def test_every_form_is_its_equation(corpus, form, name, prune):
    discounts = [[0.6, 1.1, 1.4], [0.5, 0.9, 1.2], [0.7, 1.0, 1.3]] if name.startswith("mod") else [0.6, 0.5, 0.7]
    model = fit(name, corpus, 3, form=form, prune=prune, discounts=discounts)
    rows = [d if isinstance(d, list) else [d] * 3 for d in discounts]
    expected = Naive(corpus, 3, modified=name.startswith("mod"), form=form, thresholds=prune, discounts=rows)
    contexts = np.stack(np.meshgrid(np.arange(V), np.arange(V)), axis=-1).reshape(-1, 2)
    got = np.exp(model.log_probs(contexts))
    for context, row in zip(contexts.tolist(), got, strict=True):
        h = naive.cut(context, corpus.boundary)
        np.testing.assert_allclose(row, [expected.p(h, w) for w in range(V)], atol=1e-12)
    for context in ([-1, 0], [-1, 6], [-1, -1]):  # nothing stands before these
        h = tuple(i for i in context if i >= 0)
        p = [expected.p(h, w) for w in range(V)]
        np.testing.assert_allclose(np.exp(model.log_probs([context])[0]), p, atol=1e-12)
        np.testing.assert_allclose(np.exp(-model.context_nll([context] * V, range(V))), p, atol=1e-12)
        assert (model.orders([context] * V, range(V)) <= len(h) + 1).all()


def test_discounts_come_from_the_counts_of_counts():
    ids = np.random.default_rng(0).zipf(1.3, 6000) % 3000
    raw = naive.counts(ids.tolist(), 3, None)
    left = {}
    for gram in raw:
        left.setdefault(gram[1:], set()).add(gram[0])
    expected = Naive.__new__(Naive)
    expected.a = {gram: c if len(gram) == 3 else len(left.get(gram, ())) or c for gram, c in raw.items()}
    for name, modified in (("kneser-ney", False), ("modified-kneser-ney", True)):
        found = fit(name, Corpus(ids, 3000), 3).config()["discounts"]
        np.testing.assert_allclose(found, [expected.discount(k, modified) for k in (1, 2, 3)])


def test_small_texts_fall_back_with_a_warning():
    corpus = Corpus(np.tile([0, 1, 2], 40), 5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = fit("modified-kneser-ney", corpus, 2)
    assert [str(warning.message).split(":")[0] for warning in said] == ["order 1", "order 2"]
    assert "the usual fixed ones, 0.5, 1, 1.5, as KenLM does" in str(said[0].message)
    assert model.config()["discounts"] == [[0.5, 1.0, 1.5]] * 2


def _occurring(*n):
    """A stream of n[0] tokens that occur once, n[1] that occur twice, …, and how often each token does."""
    times = np.repeat(np.arange(1, len(n) + 1), n)
    return np.random.default_rng(0).permutation(np.repeat(np.arange(len(times)), times)), times


@pytest.mark.parametrize("name", ["kneser-ney", "modified-kneser-ney"])
@pytest.mark.parametrize("form", ["interpolated", "backoff"])
@pytest.mark.filterwarnings("ignore")
def test_what_occurs_more_often_never_ranks_below(name, form):
    """All the ways in which few tokens occur 1, 2, 3, 4 and 5 times; where none occurs four times, D3 was 3."""
    for n in itertools.product((0, 1, 4), repeat=5):
        if not any(n):
            continue
        ids, times = _occurring(*n)
        model = fit(name, Corpus(ids, len(times) + 1), 1, form=form)
        p = np.exp(model.log_probs(np.empty((1, 0), int))[0])
        by_times = [float(p[:-1][times == i][0]) for i in np.unique(times)]
        assert (np.diff(by_times) > 0).all(), (n, model.config()["discounts"], by_times)
        assert p.sum() == pytest.approx(1)


def test_a_discount_that_would_turn_the_order_round_is_replaced_with_a_note():
    ids, times = _occurring(20, 6, 2, 0, 1)
    with pytest.warns(UserWarning, match=r"order 1: 20, 6, 2 and 0 n-grams .* 3 times would rank below 2: D3"):
        model = fit("modified-kneser-ney", Corpus(ids, len(times) + 1), 1)
    Y = 20 / (20 + 12)
    D1, D2 = 1 - 2 * Y * 6 / 20, 2 - 3 * Y * 2 / 6  # Chen & Goodman's; theirs for three is 3 − 4·Y·0/2 = 3
    np.testing.assert_allclose(model.config()["discounts"], [[D1, D2, D2 + 0.5]])


@pytest.mark.parametrize("form", ["interpolated", "backoff"])
@pytest.mark.filterwarnings("ignore")
def test_tuning_keeps_the_order_even_where_held_out_text_lacks_what_is_frequent(form):
    ids, times = _occurring(20, 6, 3, 2)
    valid = Corpus(np.concatenate([np.flatnonzero(times == 2), [len(times)]]).repeat(3), len(times) + 1)
    model = fit("modified-kneser-ney", Corpus(ids, len(times) + 1), 1, form=form, discounts="tuned", valid=valid)
    left = np.arange(1, 4) - np.array(model.config()["discounts"][0])
    assert (np.diff(left) >= -1e-12).all(), left


def test_pruning_leaves_out_rare_ngrams_and_keeps_the_sum():
    whole, pruned = (
        fit("modified-kneser-ney", UNITS, 3, prune=p, discounts=[[0.5, 1, 1.5]] * 3) for p in ((), (0, 1, 2))
    )
    raw = naive.counts(UNITS.ids.tolist(), 3, 6)
    for k, limit in ((2, 1), (3, 2)):
        assert pruned.table.trie.size(k) == sum(1 for gram, c in raw.items() if len(gram) == k and c > limit)
        assert whole.table.trie.size(k) == sum(1 for gram, c in raw.items() if len(gram) == k and c)


def test_tuned_discounts_are_a_valley_of_the_held_out_loss():
    rng = np.random.default_rng(7)
    ids = (rng.zipf(1.3, 5000) % 2000 + np.arange(5000) % 3) % 2000
    train, valid = Corpus(ids[:4000], 2000), Corpus(ids[4000:], 2000)
    for form in ("interpolated", "backoff"):
        options = {"form": form, "valid": valid}
        model = fit("modified-kneser-ney", train, 3, discounts="tuned", **options)
        best, D = model.score(valid.windows(2)).sum(), np.array(model.config()["discounts"])
        assert best < fit("modified-kneser-ney", train, 3, **options).score(valid.windows(2)).sum()
        for k in range(3):
            for i in range(3):
                for step in (-0.1, 0.1):
                    moved = D.copy()
                    moved[k, i] = np.clip(moved[k, i] + step, 1e-3, i + 1)
                    other = fit("modified-kneser-ney", train, 3, form=form, discounts=moved.tolist())
                    assert other.score(valid.windows(2)).sum() > best - 0.02 * abs(best) / 100


def test_nothing_is_left_to_back_off_to_where_every_word_was_seen():
    """After 0 every token of the vocabulary follows: the row is the discounted counts, scaled to sum to 1."""
    ids = np.array([0, 1, 0, 2, 0, 3, 0, 0, 1, 2, 0, 1, 3, 3, 1])
    model = fit("modified-kneser-ney", Corpus(ids, 4), 2, form="backoff", discounts=[[0.5, 1.0, 1.5]] * 2)
    rows = np.exp(model.log_probs([[0], [1], [2], [3]]))
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-12)
    kept = np.array([0.5, 3 - 1.5, 0.5, 0.5])  # 0 is followed by 0 once, 1 three times, 2 and 3 once
    np.testing.assert_allclose(rows[0], kept / kept.sum(), atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_agreement_with_kenlm(order, data):
    """KenLM's own estimates from the same text, within 1e-4 in log10 for every token of another text (here: 1e-5)."""
    kenlm = pytest.importorskip("kenlm", reason="the kenlm module is not installed")
    folder = data("kenlm")
    train, probe = (_lines(folder / name) for name in ("brown3000.txt", "probe300.txt"))
    names = sorted({word for line in train for word in line})
    number = {word: i for i, word in enumerate(names)}
    unknown, boundary = len(names), len(names) + 1  # <unk> is a word of KenLM's that this text lacks

    def corpus(lines):
        ids = [i for line in lines for i in (*(number.get(word, unknown) for word in line), boundary)]
        return Corpus(np.array(ids), boundary + 1, boundary)

    theirs = kenlm.Model(str(folder / f"brown3000.o{order}.arpa.gz"), _quiet(kenlm))
    expected = [entry for line in probe for entry in theirs.full_scores(" ".join(line))]
    model = fit("modified-kneser-ney", corpus(train), order)
    windows = corpus(probe).windows(order - 1)
    got = -model.score(windows) / np.log(10)
    assert len(got) == 8352
    np.testing.assert_allclose(got, [entry[0] for entry in expected], atol=1e-5)
    np.testing.assert_array_equal(model.table.longest(*windows.slice(0, 8352)), [entry[1] for entry in expected])
    perplexity = {3: 455.3, 5: 453.8}.get(order)
    if perplexity:
        known = corpus(probe).ids != unknown
        assert 10 ** -got.mean() == pytest.approx(perplexity, abs=0.05)
        assert 10 ** -got[known].mean() == pytest.approx({3: 292.98, 5: 292.20}[order], abs=0.005)
        assert (~known).sum() == 676


def _lines(path):
    return [line.split() for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def _quiet(kenlm):
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    return config


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"form": "katz"}, "form 'katz'"),
        ({"unigrams": "none"}, "unigrams 'none'"),
        ({"discounts": "guess"}, "discounts 'guess'"),
        ({"discounts": [[0.5, 1, 1.5]]}, "expected for each order"),
        ({"discounts": [[0.5, 1, 4.0]] * 2}, "expected for each order"),
        ({"discounts": "tuned"}, "no held-out text"),
        ({"prune": (1, 1)}, "pruning thresholds"),
        ({"prune": (0, 2, 1)}, "pruning thresholds"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        fit("modified-kneser-ney", UNITS, 2, **options)
