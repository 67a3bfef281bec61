"""`trace`, `neighbors`, `lesson` and `check` as a user meets them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neuralgram import NPLM, PCG32
from neuralgram.checking import grading
from neuralgram.cli import main
from neuralgram.ngram import fit
from neuralgram.pitfalls import PITFALLS
from neuralgram.text.tokenizers import tokenizer_class
from neuralgram.textmodel import TextModel

Run = Callable[..., tuple[int, str, str]]
FIVE = {
    "emb.weight": [[0.2, -0.1], [0.8, 0.4], [0.7, 0.5], [-0.3, 0.9], [-0.4, 1.0]],
    "hidden.weight": [[0.5, -0.2, 0.8, 0.1], [-0.4, 0.6, 0.1, 0.9]],
    "hidden.bias": [0, 0],
    "out.weight": [[-0.4, 0.2], [-0.2, -0.1], [-0.1, -0.2], [1, 0.6], [0.6, 0.9]],
    "out.bias": [0, 0, 0, 0.3, 0.1],
}
WORDS = "the the the the the cat cat cat cat dog dog dog sat sat ran"  # in frequency order: ids 0 … 4


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five words as a network, and the same words counted."""
    folder = tmp_path_factory.mktemp("models")
    tokenizer = tokenizer_class("words").train([WORDS])
    network = NPLM(5, 2, 2, 2, direct=False, rng=PCG32(0))
    network.load_state_dict(FIVE)
    TextModel(network, tokenizer).save(folder / "five")
    text_model = TextModel(network, tokenizer)
    TextModel(fit("add-k", text_model.corpus(WORDS), 2, k=0.5), tokenizer).save(folder / "counts")
    return folder


def test_trace_of_the_five_words(run: Run, models: Path) -> None:
    code, out, _ = run("trace", models / "five", "the cat", "--target", "sat", "--lr", 0.2, "--json")
    made = json.loads(out)
    assert code == 0
    assert [place["symbol"] for place in made["window"]] == ["the", "cat"]
    assert made["target"]["probability"] == pytest.approx(0.4, abs=5e-5)
    assert made["target"]["rank"] == 1
    assert made["update"]["probability_after"] == pytest.approx(0.4811, abs=5e-5)
    code, out, _ = run("trace", models / "five", "the cat", "--target", "sat", "--lr", 0.2)
    assert code == 0
    for expected in ("the cat → sat", "0.6640", "1.1388", "0.4811", "0.8480", "z = d + H x"):
        assert expected in out


def test_trace_opens_checks_and_prints_gradients(run: Run, models: Path) -> None:
    asked = ("--open", "a[0]", "--check", "C[cat][0]", "--check", "H[0][1]", "--gradient", "b")
    code, out, _ = run("trace", models / "five", "the cat", "--target", "sat", *asked)
    assert code == 0
    assert "a[0] = tanh(z[0]) = tanh(0.8) = 0.664" in out
    assert "C[cat][0]" in out
    _, out, _ = run("trace", models / "five", "the cat", "--target", "sat", *asked, "--json")
    made = json.loads(out)
    assert [check["symbol"] for check in made["checks"]] == ["C[cat][0]", "H[0][1]"]
    assert max(check["error"] for check in made["checks"]) < 1e-8
    np.testing.assert_allclose(made["gradients"]["b"], np.array([0.1041, 0.1089, 0.1131, -0.6, 0.274]), atol=5e-5)
    assert made["formulas"][0]["filled"] == "tanh(0.8)"


def test_trace_of_counts(run: Run, models: Path) -> None:
    code, out, _ = run("trace", models / "counts", "the", "--target", "cat")
    assert code == 0
    assert "add-k, order 2" in out
    assert "p = (c(h w) + k) / (c(h) + k·V), k = 0.5, V = 5" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("the cat", "--lr", "0.1"), "without a target"),
        (("the cat", "--target", "the cat"), "is 2 tokens"),
        (("the cat", "--target", "sat", "--check", "Q[0]"), "expected one of"),
        (("the cat", "--target", "sat", "--check", "C[cow][0]"), "cow"),
        (("the cat", "--open", "nothing[0]"), "no step"),
        (("the", "--target", "sat"), "1 tokens"),
        (("the cat", "--top", "0"), "at least 1"),
    ],
)
def test_trace_refuses_in_one_line(run: Run, models: Path, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("trace", models / "five", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_neighbors(run: Run, models: Path) -> None:
    code, out, _ = run("neighbors", models / "five", "cat", "-k", 2, "--json")
    made = json.loads(out)
    assert code == 0
    assert [neighbor["symbol"] for neighbor in made["neighbors"]] == ["dog", "the"]
    cosine = (0.8 * 0.7 + 0.4 * 0.5) / (np.hypot(0.8, 0.4) * np.hypot(0.7, 0.5))
    assert made["neighbors"][0]["value"] == pytest.approx(cosine, abs=1e-6)
    code, out, _ = run("neighbors", models / "five", "cat", "--metric", "euclidean")
    assert (code, "distance" in out) == (0, True)
    code, _, err = run("neighbors", models / "counts", "cat")
    assert code == 2
    assert "no vectors" in err


def test_lesson_lists_runs_and_changes(run: Run) -> None:
    code, out, _ = run("lesson")
    assert code == 0
    assert "five-words" in out
    assert len(json.loads(run("lesson", "--json")[1])["lessons"]) == 12
    code, out, _ = run("lesson", "five-words", "--set", "H[0][1]=0.3", "--set", "window[1]=dog")
    assert code == 0
    assert "Changed: H[0][1] = 0.3, window[1] = dog" in out
    assert "in the original" in out
    made = json.loads(run("lesson", "xor", "--json")[1])
    assert made["name"] == "xor"
    assert all(check["holds"] for section in made["sections"] for check in section["checks"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "expected one of unit"),
        (("xor", "--set", "W[0][0]"), "expected NAME[INDEX]=NUMBER, such as H[0][1]=0.3, NAME one of W, b, u, c"),
        (("xor", "--set", "Z=1"), "expected one of W, b, u, c"),
        (("--set", "W=1"), "without a lesson"),
    ],
)
def test_lesson_refuses_in_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("lesson", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_check_names_the_pitfall(run: Run, tmp_path: Path) -> None:
    student = Path(__file__).parent.parent / "checking" / "student.py"
    module = tmp_path / "my_nplm.py"
    shutil.copy(student, module)
    code, out, _ = run("check", module)
    assert code == 0
    assert "20 of 20 hold" in out
    module.write_text(student.read_text(encoding="utf-8").replace("= table", "= 0 * table"), encoding="utf-8")
    code, out, _ = run("check", module)
    assert code == 1
    assert "Likely: the table C is read outside the graph (table-outside-graph)" in out
    assert ", expected 0.188856" in out
    code, out, _ = run("check", module, "--json")
    assert code == 1
    assert [pitfall["name"] for pitfall in json.loads(out)["module"]["pitfalls"]] == ["table-outside-graph"]


@pytest.mark.parametrize(
    ("survived", "share", "code"),
    [((), "100%", 0), (("clip-ignored",), "94%", 0), (("table-outside-graph",), "94%", 1)],
)
def test_check_says_what_tests_did_not_notice(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: tuple[str, ...], share: str, code: int
) -> None:
    killed = tuple(name for name in PITFALLS if name not in survived)
    monkeypatch.setattr(grading, "grade_tests", lambda *_, **__: grading.Grade(killed, survived, ()))
    found, out, _ = run("check", tmp_path / "my_nplm.py", "--tests", tmp_path)
    assert found == code
    assert f"Your tests notice {share} of 16 faults; 70% are asked for." in out
    required = "NOT noticed" if "table-outside-graph" in survived else "noticed"
    assert f"the table C is read outside the graph (table-outside-graph): {required}." in out
    assert [line.split("(")[1].split(")")[0] for line in out.splitlines() if "unnoticed:" in line] == list(survived)
    made = json.loads(run("check", tmp_path / "my_nplm.py", "--tests", tmp_path, "--json")[1])["tests"]
    assert (made["share"], made["required_killed"]) == (len(killed) / 16, required == "noticed")


def test_check_refuses_in_one_line(run: Run, tmp_path: Path) -> None:
    code, _, err = run("check", tmp_path / "none.py")
    assert code == 2
    assert "no such Python file" in err
    code, _, err = run("check", tmp_path / "none.py", "--tests", tmp_path)
    assert code == 2
    assert "no tests" in err
