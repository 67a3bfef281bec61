"""One prediction and one update as the page draws them, without a browser: FACTS 2b, and every number that opens."""

from __future__ import annotations

import numpy as np
import pytest

import neuralgram as ng
from neuralgram.serving.explorer.drawing import Drawing, inputs_of
from neuralgram.serving.explorer.inside import Window, looked, stages, traced
from neuralgram.serving.explorer.markup import Numbers, opened, section_html, word
from neuralgram.serving.explorer.snapshot import five_words
from neuralgram.serving.explorer.wires import bundles
from neuralgram.tracing.steps import Check, Section


@pytest.mark.parametrize(("window", "probability"), [([0, 1], 0.400), ([0, 2], 0.395), ([1, 0], 0.324)])
def test_the_five_words_have_their_published_probabilities(window: list[int], probability: float):
    made = traced(five_words(), Window(window, 3, 0.2))
    assert made.target.probability == pytest.approx(probability, abs=5e-4)


def test_the_update_of_the_five_words():
    made = traced(five_words(), Window([0, 1], 3, 0.2))
    assert made.update.probability_after == pytest.approx(0.4811, abs=5e-5)
    numbers = Numbers()
    html = Drawing(made, numbers).html()
    shown = {key: value.text for key, value in numbers.values.items()}
    assert sum(text == "0.4000" for text in shown.values()) >= 1
    assert all(f'data-n="{key}"' in html for key in shown)
    for key, value in shown.items():  # every number drawn opens, with the value it shows
        _, formula = opened(made.all_sections, key.split("|", 1)[1].removesuffix("|x"))
        assert formula.value == pytest.approx(float(value.replace("−", "-")), abs=5e-5)


def test_a_number_marks_what_goes_into_it():
    made = traced(five_words(), Window([0, 1], 3, 0.2))
    numbers = Numbers()
    drawing = Drawing(made, numbers)
    formulas = {
        key: opened(made.all_sections, key.split("|", 1)[1].removesuffix("|x"))[1].symbol for key in numbers.values
    }

    def inputs(symbol: str) -> list[str]:
        key = next(k for k, s in formulas.items() if s == symbol and not k.endswith("|x"))
        return [formulas[k] for k in inputs_of(drawing, key)]

    assert inputs("z[1]") == ["C[the][0]", "C[the][1]", "C[cat][0]", "C[cat][1]"]
    assert inputs("a[1]") == ["z[1]"]
    assert inputs("y[sat]") == ["a[0]", "a[1]"]
    assert sorted(inputs("p[sat]")) == ["y[cat]", "y[dog]", "y[ran]", "y[sat]", "y[the]"]
    assert inputs_of(drawing, None) == inputs_of(drawing, "stop|0|0|0|0") == []


@pytest.mark.parametrize("head", ["adaptive", "tree", "mos"])
def test_a_network_with_another_head_is_drawn_with_its_own_way_to_p(head: str):
    model = ng.TextModel(ng.NPLM(5, 2, 3, 4, head=head, rng=ng.PCG32(2)), five_words().tokenizer)
    made = traced(model, Window([0, 1], 3, 0.2))
    numbers, p = Numbers(), np.exp(model.model.log_probs([[0, 1]])[0])
    drawing = Drawing(made, numbers)
    html = drawing.html(stages(made)[2].marked)
    titles = [column.split('"')[0] for column in html.split('<div class="stage ')[1:]]
    assert [title.split()[0] for title in titles] == ["C", "x", "h", "p"]
    assert [title for title in titles if title.endswith("on")] == ["p on"]
    assert [bundle.joint.letter for bundle in bundles(drawing, "flow")] == ["H"]  # no one matrix leads to P
    bars = [value for value in numbers.values.values() if value.bar is not None]
    np.testing.assert_allclose([value.bar for value in bars], p, atol=1e-6)
    path = stages(made)
    assert [stop.name for stop in path][2:4] == ["hidden → probabilities", "loss and its gradient"]
    assert path[2].sections == tuple(range(2, len(made.sections)))
    for key in numbers.values:
        assert opened(made.all_sections, key.split("|", 1)[1].removesuffix("|x")) is not None
        assert set(inputs_of(drawing, key)) <= set(numbers.values)


def test_the_path_has_its_stops_forward_and_back():
    made = traced(five_words(), Window([0, 1], 3, 0.2))
    path = stages(made)
    assert [stop.name for stop in path][:4] == [
        "words → rows of C",
        "x → hidden units",
        "hidden → scores",
        "scores → probabilities",
    ]
    assert path[-1].name == "before → after"
    assert len(path) == 10
    difference = made.check("H[0][0]", "C[1][0]", "b[3]")
    assert max(d.error for d in difference) < 1e-8


def test_windows_in_an_address_are_ids_or_words():
    model = five_words()
    assert looked(model, "0.2", "3") == ([0, 2], 3)
    assert looked(model, "the dog", "sat") == ([0, 2], 3)
    assert looked(model, "", "") == ([], None)
    for wrong in ("0.9", "0", "the horse"):
        with pytest.raises(ValueError, match="expected"):
            looked(model, wrong, "3")


def test_a_number_that_is_gone_opens_nothing():
    made = traced(five_words(), Window([0, 1], 3, 0.2))
    for key in ("99|0|0", "0|0", "x", "0|0|99|0", ""):
        assert opened(made.all_sections, key) is None


def test_markup_escapes_what_a_text_holds():
    assert "<b>" not in word("<b>")
    made = traced(five_words(), Window([0, 1], 3, 0.2))
    html = section_html(made.sections[0], Numbers(), 'x"><script>')
    assert "<script>" not in html


def test_a_relation_is_shown_with_its_numbers_and_a_figure_beside_the_published_one():
    checks = (
        Check("below", 1.0, 1.0, 0.0, "4.7 < 5.1"),
        Check("above", 0.0, 1.0, 0.0, "1 > 2"),
        Check("p", 0.4, 0.5, 1e-3),
    )
    numbers = Numbers()
    html = section_html(Section("The figures", checks=checks), numbers, "s")
    shown = [numbers.values[f"s|{part}|{i}"].text for i in range(3) for part in ("check", "verdict")]
    assert shown == ["4.7 < 5.1", "as published", "1 > 2", "not so here", "0.4000", "changed"]
    assert html.count("<td>0.5</td>") == 1
