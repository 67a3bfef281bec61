"""What every model tells of a prediction: panels that end in its own P, whoever shows them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neuralgram import NPLM, PCG32, Mixture
from neuralgram.explanation import Panel, Quantity, history
from neuralgram.families import ESTIMATORS, HEADS
from neuralgram.lm import LanguageModel
from neuralgram.mixture import Uniform
from neuralgram.tracing import trace
from tests.tracing.scattered import scattered
from tests.tracing.test_counting_trace import V, fitted


def network(head: str) -> NPLM:
    return scattered(NPLM(V, 2, 3, 4, rng=PCG32(2), head=head).double())


class Toy(LanguageModel):
    """Half of P from each of two parts: one kind more, in one place."""

    kind = "toy"

    def __init__(self) -> None:
        self.parts = (Uniform(V), Uniform(V, among=[1, 3]))
        self.vocab_size, self.context = V, 2

    def log_probs(self, contexts: object) -> np.ndarray:
        rows = [np.exp(part.log_probs(self.check_windows(contexts)[:, :0])) for part in self.parts]
        return np.log((rows[0] + rows[1]) / 2)

    def context_nll(self, contexts: object, targets: object) -> np.ndarray:
        return -self.log_probs(contexts)[np.arange(len(targets)), targets]

    def explain(self, context: np.ndarray, words: object) -> tuple[Panel, ...]:
        length = np.array([0.0, 1.0, 2.0])
        ends = Panel(
            "Ends of the window",
            (Quantity("j", length, columns=(), opened=lambda i, spelled: (f"of {spelled(int(context[-1]))}", "")),),
            lambda j, spelled: history(context, j, spelled),
            "h",
            marks={1: "read"},
        )
        p = np.exp(self.log_probs(context[None])[0])
        return ends, Panel("Half and half", (Quantity("p", p, formula="{q} / 2", inputs={"q": 2 * p}),))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*ESTIMATORS, *HEADS, "mixture", "toy"])
def test_the_panels_of_any_model_end_in_its_own_P(name: str) -> None:
    made = {"mixture": lambda: Mixture([fitted("add-k"), network("tree")], [0.25, 0.75]), "toy": Toy}
    build = made.get(name, lambda: fitted(name) if name in ESTIMATORS else network(name))
    model = build()
    context = np.array([1, 2])
    panels = model.explain(context, [3, 1, 0])
    p = next(quantity for panel in panels for quantity in panel.quantities if quantity.name == "p")
    np.testing.assert_allclose(p.value, np.exp(model.log_probs(context[None])[0]), atol=1e-12)
    shown = trace(model, context, target=3)
    titles = [panel.title for panel in panels if panel.about is None]
    assert [section.title for section in shown.sections if section.title in titles] == titles


def test_a_kind_nobody_knows_is_traced_by_what_it_tells() -> None:
    made = trace(Toy(), [4, 2], target=3)
    ends, half = made.sections
    assert [ends.row(j) for j in ends.row_numbers] == ["(no context)", "2", "4 2"]
    assert ends.marks == {1: "read"}
    assert str(ends.steps[0][1]) == "j[2] = of 2 = 1"
    assert half.marks == {3: "target"}
    assert str(half.steps[0][3]) == f"p[3] = q[3] / 2 = {2 * (1 / V + 1 / 2) / 2:.4f} / 2 = {(1 / V + 1 / 2) / 2:.4f}"
    assert [part.weight for part in made.parts] == [0.5, 0.5]
    assert [part.trace.name for part in made.parts] == ["uniform", "uniform"]
    assert made.parts[0].trace.sections[0].title == "The distribution"


def test_a_panel_over_groups_is_told_in_the_words_of_their_members() -> None:
    groups = np.array([0, 1, 1, 0])
    panel = Panel(
        "p",
        (
            Quantity(
                "p", np.array([0.25, 0.75]), opened=lambda i, spelled: (spelled(i[0]), ""), columns=lambda s: [s(1)]
            ),
        ),
    ).over(groups, lambda g, spelled: "{" + " ".join(spelled(int(w)) for w in np.flatnonzero(groups == g)) + "}")
    spelled = "abcd".__getitem__
    (p,) = panel.quantities
    assert panel.rows(1, spelled) == "{b c}"
    assert p.opened((0,), spelled) == ("{a d}", "")
    assert p.columns(spelled) == ["{b c}"]
    assert panel.row_of.tolist() == groups.tolist()
    contexts = Panel("h", (p,), lambda j, spelled: history(np.array([0, 1]), j, spelled))
    both = contexts.over(groups, lambda g, spelled: spelled(2 + g))
    assert both.rows(2, spelled) == "c d"


def test_what_a_head_has_told_keeps_its_numbers() -> None:
    network_ = network("mos").network()
    told = network_.whole.explain(network_.weights, np.array([1, 2]), [3])
    before = [np.array(quantity.value) for panel in told for quantity in panel.quantities]
    network_.whole.log_probs({key: 2 * values for key, values in network_.weights.items()}, np.array([[1, 2]]))
    for quantity, kept in zip((q for panel in told for q in panel.quantities), before, strict=True):
        np.testing.assert_array_equal(quantity.value, kept)


def test_the_numbers_of_a_network_are_its_own() -> None:
    model = network("softmax")
    network_ = model.network()
    kept = network_.weights["emb.weight"].copy()
    with torch.no_grad():
        model.emb.weight.add_(1.0)
    np.testing.assert_array_equal(network_.weights["emb.weight"], kept)
