"""What a trace looks like in a terminal: nothing invisible, nothing cut off, everything told apart."""

from __future__ import annotations

import re
import sys
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from neuralgram import NPLM, PCG32, Mixture  # noqa: E402  # after the skip
from neuralgram.mixture import Uniform  # noqa: E402
from neuralgram.ngram import fit  # noqa: E402
from neuralgram.numbers import figure, number  # noqa: E402
from neuralgram.text.tokenizers import tokenizer_class  # noqa: E402
from neuralgram.text.tokenizers.base import visible  # noqa: E402
from neuralgram.textmodel import TextModel  # noqa: E402
from neuralgram.tracing import trace  # noqa: E402
from neuralgram.tracing.render import cell  # noqa: E402
from neuralgram.training import events  # noqa: E402
from neuralgram.training.progress import Display  # noqa: E402

TEXT = "the hen\tsat; the\nhen and the hen sat and the men sat\n" * 4
TOKENIZER = tokenizer_class("chars").train([TEXT])
V = TOKENIZER.vocab_size


def network(context: int, width: int = 3, **options: object) -> TextModel:
    return TextModel(NPLM(V, context, width, 14, rng=PCG32(1), **options), TOKENIZER)


def counting(order: int, name: str = "modified-kneser-ney", **options: object) -> TextModel:
    corpus = network(1).corpus(TEXT)
    if name != "add-k":
        options["discounts"] = [[0.5, 1.0, 1.5]] * order
    return TextModel(fit(name, corpus, order, **options), TOKENIZER)


def test_white_space_can_be_seen() -> None:
    assert [visible(token) for token in (" ", "\n", "\t", "", " a", "a b", "\x07", "é", "猫")] == [
        "␣", "⏎", "⇥", "∅", "␣a", "a␣b", "\\x07", "é", "猫",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [network(3), network(2, head="tree"), counting(4), counting(3, "add-k", k=0.5), counting(3, "class", classes=4)],
    ids=["network", "tree", "kneser-ney", "add-k", "class"],
)
def test_no_token_is_invisible_anywhere_in_a_trace(model: TextModel) -> None:
    options = {"lr": 0.1} if isinstance(model.model, NPLM) else {}
    made = trace(model, "the hen\t\n ", target=" ", top=V, **options)
    names = [made.title, made.subtitle]
    for section in made.all_sections:
        names += [section.title, section.text, *section.marks.values()]
        for step in section.steps:
            for index in np.ndindex(step.value.shape):
                names += [step[index].symbol, step[index].general]
    shown = "\x00".join(names).replace("\n" + made.subtitle.split("\n")[-1], "")
    assert "␣" in shown
    assert not re.search(r"[\t\r]|[\[({]\s|\s[\])}]|  ", shown)
    for section in made.all_sections:
        assert not any(re.search(r"^\s|\s$|\n", section.row(i)) for i in section.row_numbers)
    assert made.formula("p[ ]").value == made.formula("p[␣]").value == pytest.approx(made.target.probability)


def test_words_that_stand_twice_are_told_apart_by_their_place() -> None:
    made = trace(network(4), "e e ", target="e")
    names = [made.step("∂x").rows(k) for k in range(12)]
    assert len(set(names)) == 12
    assert (names[0], names[-1]) == ("e w(t−4)·0", "␣ w(t−1)·2")
    assert made.step("Hx").columns == ("d", "e w(t−4)", "␣ w(t−3)", "e w(t−2)", "␣ w(t−1)")
    assert trace(network(3), "the", target="e").step("∂x").rows(0) == "t·0"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "model", [network(12), network(20), counting(13), counting(11, "add-k", k=1)],
    ids=["network of 12", "network of 20", "13-gram", "add-k of 11"],
)  # fmt: skip
def test_long_windows_are_not_cut(model: TextModel, width: int) -> None:
    made = trace(model, TEXT[-40:], target="e")
    text = made.render(width)
    assert max(map(len, text.splitlines())) <= width
    for section in made.all_sections:
        lines = _lines(text, section.title)
        for step in section.table:
            if step.value.ndim == 2 and not step.columns:
                continue  # coordinates: the first ones that fit
            for row in section.row_numbers:
                for value in np.atleast_1d(step.value[row]):
                    assert any(re.search(rf"(^|\s){re.escape(cell(float(value)))}(\s|$)", line) for line in lines)
        body = [line for line in lines if re.match(r" {3}\S", line)]
        assert not any(re.search(r"\d…", line) for line in body), body
        for equation in (step.equation for step in section.steps if step.equation and len(step.equation) < width - 12):
            assert any(equation in line for line in lines), equation


def test_contexts_of_a_text_that_repeats_itself_are_told_apart() -> None:
    bow = trace(counting(13), "the the the the ").step("bow")
    assert len({bow.rows(j) for j in range(13)}) == 13
    assert bow.rows(12) == "t … h e ␣ (12 tokens)"


def _lines(text: str, title: str) -> list[str]:
    found = re.search(rf"(?m)^\d+  {re.escape(title)}\n((?:.+\n)*)", text)
    assert found, title
    return found[1].splitlines()


def test_coordinates_that_do_not_fit_are_left_out_with_a_mark() -> None:
    made = trace(network(2, width=40), "th")
    lines = _lines(made.render(80), "Look up the window's words in C")
    head = next(line for line in lines if line.split()[:1] == ["word"])
    kept = len(head.split()) - 2
    assert 2 <= kept < 40
    assert head.split() == ["word", *map(str, range(kept)), "…"]
    C = made.step("C").value
    assert [line.split()[1 : kept + 1] for line in lines[-2:]] == [[cell(x) for x in row[:kept]] for row in C]
    whole = trace(network(2, width=4), "th").render(80)
    assert "…" not in _lines(whole, "Look up the window's words in C")[3]


def test_a_mixture_names_the_part_of_every_step() -> None:
    parts = [counting(3).model, network(2).model, Uniform(V)]
    made = trace(TextModel(Mixture(parts, [0.5, 0.25, 0.25]), TOKENIZER), "the", target="e")
    titles = [section.title for section in made.all_sections]
    names = ("p1, modified-kneser-ney of order 3: ", "p2, network: ", "p3, uniform: ")
    assert titles[0] == "The mixture"
    assert all(title.startswith(names) for title in titles[1:])
    for name, part in zip(names, made.parts, strict=True):
        own = [title.removeprefix(name) for title in titles if title.startswith(name)]
        assert own == [section.title for section in part.trace.all_sections]
    numbers = [int(line.split()[0]) for line in made.render(80).splitlines() if re.match(r"\d+  ", line)]
    assert all(b == a + 1 for a, b in pairwise(numbers))


@pytest.mark.parametrize(
    ("value", "text"), [(91406, "91 406"), (1707, "1 707"), (9999, "9 999"), (2_158_273, "2 158 273")]
)
def test_thousands_are_set_apart_alike_everywhere(value: int, text: str) -> None:
    assert number(value) == text
    assert figure(value) == text
    assert number(-value) == "−" + text
    assert (number(0), number(-0.0)) == ("0", "0")


def test_training_speaks_of_numbers_in_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    Display(sys.stdout)(events.Started(0, 12345, 1234, 10, 64, 91406, 3.3, 1, "fp32"))
    assert "91 406 parameters; 12 345 steps of 64 windows, 1 234 an epoch" in capsys.readouterr().out


def test_a_notebook_shows_the_same_signs() -> None:
    html = trace(network(3), "he ", target="n")._repr_html_()
    assert "<th>␣</th>" in html
    assert "<th> </th>" not in html
