"""Counting models and mixtures: the numbers a trace shows make the probability the model gives."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from neuralgram.families import ESTIMATORS
from neuralgram.lm import LanguageModel
from neuralgram.ngram import arpa, fit
from neuralgram.ngram.model import NgramModel
from neuralgram.text.windows import Corpus
from neuralgram.tracing import trace
from tests.ngram import naive
from tests.ngram.test_kneser_ney import STREAM, UNITS, Naive

V = 9
IDS = np.array([1, 2, 3, 8, 1, 2, 4, 8, 5, 2, 3, 8, 1, 2, 3, 4, 8, 6, 2, 3, 8, 5, 2, 4, 4, 8] * 2)
CORPUS = Corpus(IDS, V, 8)
OPTIONS: dict[str, dict[str, float]] = {"add-k": {"k": 0.1}}
CONTEXTS = ([1, 2], [7, 7], [8, 5], [7, 2])


def fitted(name: str) -> LanguageModel:
    needed = dict(OPTIONS.get(name, {}))
    try:
        return fit(name, CORPUS, 3, **needed)
    except ValueError as error:
        if "held-out" not in str(error) and "valid" not in str(error):
            pytest.skip(f"{name} asks for more: {error}")
        return fit(name, CORPUS, 3, valid=CORPUS, **needed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_explained(name: str) -> None:
    model = fitted(name)
    for context in CONTEXTS:
        made = trace(model, context, target=3)
        log_p = model.log_probs([context])[0]
        assert made.kind == "counting"
        np.testing.assert_allclose(made.step("p").value, np.exp(log_p), atol=1e-12)
        assert made.target.nats == pytest.approx(-log_p[3])
        assert made.target.rank == 1 + int((log_p > log_p[3]).sum())
        json.dumps(made.to_json())
        assert made.summary in made.render(80)
        for section in made.all_sections:
            for step in section.steps:
                for index in np.ndindex(step.value.shape):
                    assert step[index].value == step.value[index] or np.isnan(step.value[index])


def test_add_k_shows_its_counts() -> None:
    made = trace(fitted("add-k"), [1, 2], target=3)
    counts, total = made.step("c(h w)").value, made.step("c(h)").value
    assert counts[3].tolist() == [list(IDS).count(3), _pairs(2, 3), 4]  # 1 2 3 stands twice in each half
    assert total[2] == 6
    assert made.step("p").value[3] == pytest.approx((4 + 0.1) / (6 + 0.1 * V))
    assert made.formula("p[3]").filled == "(4 + 0.1) / (6 + 0.1·9)"


def _pairs(first: int, second: int) -> int:
    return sum(pair == (first, second) for pair in pairwise(IDS.tolist()))


def test_longest_match_says_which_context_it_reads() -> None:
    made = trace(fitted("longest-match"), [7, 2], target=3)
    contexts = made.sections[0]
    assert contexts.marks[1].startswith("← read (order 2)")
    assert made.formula("p[3]").filled == f"{_pairs(2, 3)} / {list(IDS).count(2)}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["kneser-ney", "modified-kneser-ney"])
def test_back_off_multiplies_to_the_probability(name: str) -> None:
    if name not in ESTIMATORS:
        pytest.skip(f"{name} is not among the estimators")
    for context in CONTEXTS:
        made = trace(fitted(name), context)
        weights, listed = made.step("weights").value, made.step("p(w|h′)").value
        np.testing.assert_allclose(weights * listed, made.step("p").value, rtol=1e-12)
        orders, bow = made.step("order").value, made.step("bow").value
        for word in range(V):
            assert weights[word] == pytest.approx(np.prod(bow[int(orders[word]) :]))
        assert made.step("D").value.shape == (3, 3)


def test_a_model_of_no_known_kind_shows_its_distribution() -> None:
    class Uniform(LanguageModel):
        vocab_size, context = 4, 1

        def log_probs(self, contexts: object) -> np.ndarray:
            return np.full((len(self.check_windows(contexts)), 4), -np.log(4))

        def context_nll(self, contexts: object, targets: object) -> np.ndarray:
            return np.full(len(self.check_windows(contexts, targets)), np.log(4))

    made = trace(Uniform(), [2], target=1)
    assert made.kind == "model"
    assert made.target.bits == pytest.approx(2)
    assert made.update is None


def test_a_mixture_shows_its_parts_and_weights() -> None:
    from neuralgram.mixture import Mixture

    parts = [fit("add-k", CORPUS, 2, k=0.5), fit("longest-match", CORPUS, 3)]
    mixture = Mixture(parts, [0.25, 0.75])
    made = trace(mixture, [1, 2], target=3)
    assert made.kind == "mixture"
    assert [part.weight for part in made.parts] == [0.25, 0.75]
    one, two = (float(np.exp(part.log_probs([[1, 2][2 - part.context :]])[0, 3])) for part in parts)
    assert made.target.probability == pytest.approx(0.25 * one + 0.75 * two)
    assert made.step("p_i").value[3].tolist() == pytest.approx([one, two])
    assert made.formula("p[3]").filled.startswith("0.25·")
    assert [part["weight"] for part in made.to_json()["parts"]] == [0.25, 0.75]
    assert "The mixture" in made.render(80)


def test_a_binned_mixture_shows_the_weights_of_its_bin() -> None:
    from neuralgram.mixture import Mixture
    from neuralgram.ngram.context_bins import ContextBins

    parts = [fit("add-k", CORPUS, 2, k=0.5), fit("longest-match", CORPUS, 3, floor=0.1)]
    bins = ContextBins.of(CORPUS)
    share = np.linspace(0.1, 0.9, len(bins))
    mixture = Mixture(parts, np.stack([share, 1 - share], axis=1), bins)
    found = set()
    for context in ([1, 2], [7, 7]):
        made = trace(mixture, context)
        found.add(made.parts[0].weight)
        shares = [np.exp(part.trace.log_p) for part in made.parts]
        total = sum(part.weight * p for part, p in zip(made.parts, shares, strict=True))
        np.testing.assert_allclose(total, np.exp(mixture.log_probs([context])[0]), atol=1e-12)
    assert len(found) == 2


def arithmetic(text: str) -> float:
    """The value of a formula as it is written out, four decimals a number."""
    value: float = eval(text.replace("·", "*").replace("−", "-").replace(" ", ""), {"__builtins__": {}})
    return value


@pytest.mark.parametrize("corpus", [UNITS, STREAM], ids=["units", "stream"])
@pytest.mark.parametrize("form", ["interpolated", "backoff"])
@pytest.mark.parametrize("prune", [(), (0, 0, 1)], ids=["whole", "pruned"])
def test_counts_discounts_and_every_order_of_kneser_ney(corpus: Corpus, form: str, prune: tuple[int, ...]) -> None:
    discounts = [[0.6, 1.1, 1.4], [0.5, 0.9, 1.2], [0.7, 1.0, 1.3]]
    fitted = fit("modified-kneser-ney", corpus, 3, form=form, prune=prune, discounts=discounts)
    model = NgramModel.from_state(fitted.config(), fitted.state())  # the counts are saved
    expected = Naive(corpus, 3, modified=True, form=form, thresholds=prune, discounts=discounts)
    kept = {gram: a for gram, a in expected.a.items() if gram in expected.kept}
    for context in ([0, 1], [1, 0], [6, 0], [0, 6], [5, 5], [5, 0]):
        made = trace(model, context, top=7)
        whole = naive.cut(context, corpus.boundary)
        for j in range(3):
            h = whole[len(whole) - j :] if j <= len(whole) else None
            after = [] if h is None else expected.after(h)
            counts = [kept.get((*h, w), 0) if (*h, w) in after else 0 for w in range(7)] if h is not None else [0] * 7
            assert made.step("a(hw)").value[:, j].tolist() == counts
            assert made.step("Σa").value[j] == sum(expected.a[gram] for gram in after)
            assert made.step("γ").value[j] == pytest.approx(expected.gamma(h) if after else 1.0)
            assert made.step("n").value[j].tolist() == [counts.count(1), counts.count(2), sum(c > 2 for c in counts)]
            p = [expected.p(whole if h is None else h, w) for w in range(7)]
            np.testing.assert_allclose(made.step("p_j").value[:, j], p, atol=1e-12)
        np.testing.assert_array_equal(made.step("D").value, discounts)
        np.testing.assert_allclose(made.step("p_j").value[:, -1], made.step("p").value, atol=1e-12)
        for name in ("p_j", "γ"):
            for index in np.ndindex(made.step(name).value.shape):
                formula = made.step(name)[index]
                if formula.filled:
                    assert arithmetic(formula.filled) == pytest.approx(formula.value, abs=2e-3), str(formula)


@pytest.mark.parametrize("unigrams", ["uniform", "unseen"])
def test_the_unigrams_formula_says_where_the_freed_part_goes(unigrams: str) -> None:
    model = fit("modified-kneser-ney", STREAM, 1, unigrams=unigrams, discounts=[[0.6, 1.1, 1.4]])
    made = trace(model, [])
    counts = [int((STREAM.ids == w).sum()) for w in range(7)]
    freed = sum([0.6, 1.1, 1.4][min(c, 3) - 1] for c in counts if c) / sum(counts)
    unseen = counts.count(0)
    for w, c in enumerate(counts):
        own = (c - [0.6, 1.1, 1.4][min(c, 3) - 1]) / sum(counts) if c else 0.0
        share = freed / 7 if unigrams == "uniform" else freed / unseen * (c == 0)
        formula = made.formula(f"p_j[{w}][0]")
        assert formula.value == pytest.approx(own + share)
        assert arithmetic(formula.filled) == pytest.approx(formula.value, abs=1e-3)


def test_a_table_without_counts_says_so_in_a_line(tmp_path: Path) -> None:
    model = fit("modified-kneser-ney", UNITS, 3, discounts=[[0.6, 1.1, 1.4]] * 3)
    arpa.write_arpa(model, list("abcdefg"), tmp_path / "m.arpa")
    older = {name: array for name, array in model.state().items() if not name.startswith("counts.")}
    for bare in (arpa.read_arpa(tmp_path / "m.arpa").model, NgramModel.from_state(model.config(), older)):
        made = trace(bare, [0, 1], target=2)
        assert "The counts behind these numbers are not in the model" in " ".join(made.render(80).split())
        assert "Σa" not in [step.name for section in made.sections for step in section.steps]
        assert made.target.nats == pytest.approx(trace(model, [0, 1], target=2).target.nats, abs=1e-6)


def test_a_class_model_shows_the_counts_of_its_classes() -> None:
    from neuralgram.ngram.word_classes import Classes

    class_of = np.array([0, 0, 1, 1, 2, 2, 3])
    model = fit("class", UNITS, 2, classes=Classes(class_of, 4), discounts=[[0.6, 1.1, 1.4]] * 2)
    text = Corpus(class_of[UNITS.ids], 4, 3)
    pairs = naive.counts(text.ids.tolist(), 2, 3)
    for word in range(5):
        made = trace(model, [word], top=7)
        h = (int(class_of[word]),)
        assert made.step("a(hw)").value[:, 1].tolist() == [pairs[(*h, g)] for g in range(4)]
        assert made.step("Σa").value[1] == sum(pairs[(*h, g)] for g in range(4))
        np.testing.assert_allclose(made.step("p_j").value[:, 1][class_of], made.step("P(class | h)").value, atol=1e-12)
