"""Every figure of the documents, from the lessons that print them; and what a reader may change."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from neuralgram import InputError, NeuralgramError
from neuralgram.lessons import LESSONS, Page, lesson
from neuralgram.lessons.base import AbandonedError, while_wanted
from neuralgram.tracing.names import parse_changes

QUICK = [name for name, made in LESSONS.items() if not made.seconds]


@pytest.mark.parametrize("name", QUICK)
def test_figures_hold_as_written(name: str) -> None:
    page = lesson(name).run()
    assert page.sections
    assert [check for check in page.checks if not check.holds] == []


@pytest.mark.parametrize("name", QUICK)
def test_terminal_notebook_and_json(name: str) -> None:
    page = lesson(name).run()
    for width in (60, 80, 120):
        text = page.render(width)
        assert lesson(name).title in text
        assert "≠" not in text
        assert max(map(len, text.splitlines())) <= width
    assert json.loads(json.dumps(page.to_json()))["name"] == name
    assert lesson(name).title in page._repr_html_()


@pytest.mark.parametrize("name", QUICK)
def test_every_number_opens(name: str) -> None:
    for section in lesson(name).run().sections:
        for step in section.steps:
            for index in np.ndindex(step.value.shape):
                assert step[index].value == float(step.value[index])
                assert str(step[index])


def test_three_tokens() -> None:
    page = lesson("three-tokens").run()
    np.testing.assert_allclose(page.step("p").value, [0.761784, 0.215739, 0.022477], atol=5e-7)
    assert page.step("ℓ").value == pytest.approx(0.272092, abs=5e-7)
    np.testing.assert_allclose(page.step("∂y").value, [-0.238216, 0.215739, 0.022477], atol=5e-7)
    assert page.step("∂a").value[0] == pytest.approx(-0.260692, abs=5e-7)
    assert page.step("slope").value[0] == pytest.approx(0.419974, abs=5e-7)
    assert page.step("δ").value[0] == pytest.approx(-0.109484, abs=5e-7)
    turned = lesson("three-tokens").run([("window[0]", "c"), ("window[1]", "a")])
    np.testing.assert_allclose(turned.step("y").value, [-1.761594, 0.5, 1.761594], atol=5e-7)


@pytest.mark.parametrize(("window", "probability"), [("the cat", 0.4), ("the dog", 0.395), ("cat the", 0.324)])
def test_five_words_contexts(window: str, probability: float) -> None:
    first, second = window.split()
    page = lesson("five-words").run([("window[0]", first), ("window[1]", second)])
    assert page.step("p").value[3] == pytest.approx(probability, abs=5e-4)


def test_five_words_update_table() -> None:
    table = lesson("five-words").run().sections[-2]
    after = {table.row(i): float(table.table[1].value[i]) for i in table.row_numbers}
    before = {table.row(i): float(table.table[0].value[i]) for i in table.row_numbers}
    expected = {"C(the)[0]": 0.2193, "C(the)[1]": -0.0976, "C(cat)[0]": 0.8480, "C(cat)[1]": 0.4265, "b(sat)": 0.42}
    for name, value in expected.items():
        assert after[name] == pytest.approx(value, abs=5e-5)
    assert [after[name] == before[name] for name in ("C(dog)[0]", "C(dog)[1]", "C(sat)[0]", "C(sat)[1]")] == [True] * 4
    assert before["P(sat | window)"] == pytest.approx(0.4000, abs=5e-5)
    assert after["P(sat | window)"] == pytest.approx(0.4811, abs=5e-5)


def test_softmax_and_perplexity() -> None:
    page = lesson("softmax").run()
    np.testing.assert_allclose(page.step("p").value, [0.659, 0.242, 0.099], atol=5e-4)
    np.testing.assert_allclose(page.step("∂z").value, page.step("Δ").value, atol=1e-9)
    assert page.step("ℓ").value == pytest.approx(0.417, abs=5e-4)
    assert lesson("perplexity").run().step("perplexity").value == pytest.approx(math.sqrt(8), abs=1e-12)
    huge = lesson("softmax").run([("z[0]", 1000)])
    np.testing.assert_allclose(huge.step("p").value, [1, 0, 0], atol=1e-12)


def test_xor_and_its_hidden_points() -> None:
    page = lesson("xor").run()
    np.testing.assert_array_equal(page.step("h").value, [[0, 0], [1, 0], [1, 0], [2, 1]])
    np.testing.assert_array_equal(page.step("y").value, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("sizes", "total"),
    [
        ({"V": 16383, "c": 4, "m": 30, "h": 100}, 2_158_273),
        ({"V": 20000, "c": 3, "m": 50, "h": 200}, 5_050_200),
    ],
)
def test_parameter_counts(sizes: dict[str, int], total: int) -> None:
    page = lesson("size").run(list(sizes.items()))
    assert page.step("numbers").value[-1] == total
    with_direct = lesson("size").run([*sizes.items(), ("direct", 1)])
    V, c, m, h = sizes.values()
    assert with_direct.step("numbers").value[-1] == V * (1 + (c + 1) * m + h) + h * (1 + c * m)
    assert with_direct.step("with W").value == with_direct.step("numbers").value[-1]


def test_a_changed_number_changes_what_depends_on_it_and_says_so() -> None:
    page = lesson("five-words").run(parse_changes(["H[0][1]=0.3", "C[cat][0] = −0.8", "target=ran"]))
    assert page.values["H"][0, 1] == 0.3
    assert page.values["C"][1, 0] == -0.8
    x = np.array([0.2, -0.1, -0.8, 0.4])
    a = np.tanh([np.dot([0.5, 0.3, 0.8, 0.1], x), np.dot([-0.4, 0.6, 0.1, 0.9], x)])
    np.testing.assert_allclose(page.step("a").value, a, atol=1e-15)
    assert page.formula("∂y", 4).filled.endswith("− 1")
    text = page.render(100)
    assert "Changed: H[0][1] = 0.3" in text
    assert "0.6640 in the original" in text
    assert lesson("five-words").run().values["H"][0, 1] == -0.2  # the lesson itself is untouched


def test_a_saturated_unit_passes_nothing_back() -> None:
    """tanh(50.5) is 1 in floating point: its slope is 0, and ∂a is Uᵀ(p − e_w) all the same."""
    page = lesson("three-tokens").run([("C[a][0]", 100.0)])
    z = np.exp(np.array([1 + 100.0, 0.5, -1 - 1.0]) - 101)
    back = np.array([1, 0, -1]) @ (z / z.sum() - [1, 0, 0])
    assert {check.what: check.value for check in page.checks}["∂a"] == pytest.approx(back)
    assert {check.what: check.value for check in page.checks}["δ"] == 0


def test_a_lesson_that_trains_ends_when_nobody_waits_for_it() -> None:
    asked = []

    def wanted() -> bool:
        asked.append(1)
        return len(asked) < 8

    with pytest.raises(AbandonedError), while_wanted(wanted):
        lesson("animals").run([("steps", 5000.0)])
    assert len(asked) == 8  # one question an update, and none after the answer no


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("five-words", "Q[0]=1", "expected one of window, target, lr, C, H, d, U, b"),
        ("five-words", "H[0]=1", "shape"),
        ("five-words", "H[0][9]=1", "expected 0 … 3"),
        ("five-words", "H[0][1]=nan", "expected a number"),
        ("five-words", "H[0][1]=abc", "expected a number"),
        ("five-words", "window[0]=cow", "expected one of the, cat"),
        ("five-words", "window[0]=1.5", "expected one of the, cat"),
        ("five-words", "lr=-1", "from 0"),
        ("size", "V=2.5", "a whole number"),
        ("perplexity", "p[0]=0", "to 1"),
        ("perplexity", "p[0]", "expected NAME"),
        ("five-words", "Q=1", r"^'Q': expected one of window, target, lr, C, H, d, U, b$"),
        ("five-words", "C[cow][0]=1", r"\[cow\] in 'C\[cow\]\[0\]': expected 0 … 4, or one of the, cat, dog, sat, ran"),
        ("five-words", "U[the][x]=1", r"\[x\] in .*: expected 0 … 1$"),
        ("three-tokens", "H[0][0]=1e300", "expected a number from −1 000 000 to 1 000 000"),
        ("xor", "u[0]=-1e7", "expected a number from −1 000 000 to 1 000 000"),
        ("size", "c=100", r"V = 16 383, c = 100: V\^101 is above 10\^300; choose a smaller V or c"),
        ("story", "steps=20001", "expected a whole number from 1 to 20 000"),
    ],
)
def test_impossible_changes_are_refused(name: str, change: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        lesson(name).run(parse_changes([change]))


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("end", ["least", "most"])
def test_numbers_as_far_out_as_they_may_be_are_worked_out_or_refused_in_a_line(name: str, end: str) -> None:
    """Each by itself and all together, with warnings as errors: nothing overflows on the way."""
    made = lesson(name)
    every: list[tuple[str, float | str]] = []
    for place, parameter in made.parameters.items():
        if not parameter.words:
            where = [place + "".join(f"[{i}]" for i in index) for index in np.ndindex(parameter.value.shape)]
            every += [(text, getattr(parameter, end)) for text in where]
    for change in (every, *([one] for one in every)):
        page = worked_out(name, change)
        if page is not None:
            assert np.isfinite([check.value for check in page.checks if "exp y" not in check.what]).all()
            assert max(map(len, page.render(80).splitlines())) <= 80
            json.dumps(page.to_json())


def worked_out(name: str, changes: list[tuple[str, float | str]]) -> Page | None:
    """The page, or None where the numbers are refused."""
    try:
        return lesson(name).run(changes)
    except InputError:
        return None


def test_a_set_without_a_number_lists_what_can_be_set() -> None:
    made = lesson("five-words")
    with pytest.raises(InputError, match=r"'H': expected NAME.*, NAME one of window, target, lr, C, H, d, U, b$"):
        parse_changes(["H"], list(made.parameters))


def test_unknown_lesson() -> None:
    with pytest.raises(InputError, match="expected one of unit, gates"):
        lesson("nothing")


@pytest.mark.slow
def test_the_animals() -> None:
    page = lesson("animals").run()
    assert [check for check in page.checks if not check.holds] == []
    table = dict(zip(["fish", "meat", "grass", "hay"], page.step("P").value, strict=False))
    assert table["fish"][2] + table["meat"][2] == pytest.approx(0.6, abs=0.01)
    assert table["grass"][3] + table["hay"][3] > 0.9
    assert "≠" not in page.render(80)


@pytest.mark.slow
def test_the_story_with_and_without_weight_decay() -> None:
    page = lesson("story").run()
    assert [check for check in page.checks if not check.holds] == []
    rival, kept, free = page.step("best add-k").value, page.step("held out").value, page.step("held out, none").value
    assert kept[0] == pytest.approx(26, abs=0.5)
    assert kept[-1] < rival
    assert free[-1] > 10 > 2 * rival - 1 > free.min()
    chart = page.sections[0].chart
    assert chart is not None
    assert "best add-k n-gram" in chart.levels


def test_log_V() -> None:
    page = lesson("log-v").run()
    assert [check for check in page.checks if not check.holds] == []
    np.testing.assert_allclose(page.step("log V").value, [3.26, 2.77], atol=5e-3)
    assert (page.step("first loss").value[:, -1] > 20).all()


def test_a_rate_that_diverges_is_one_line() -> None:
    with pytest.raises(NeuralgramError, match="diverged"):
        lesson("story").run([("lr", 10), ("weight_decay", 1), ("steps", 500)])
