"""Surprisal by word, completing a half-typed word, and rescoring."""

from __future__ import annotations

import io
import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuralgram as ng
from neuralgram.errors import InputError, TextError
from neuralgram.scoring import rescore
from neuralgram.scoring.completing import complete, half_typed
from neuralgram.scoring.surprisal import COLUMNS, Reader
from tests.scoring.conftest import STORY, make, run

LINES = ["the cat sat on the mat", "a bird", "  two  spaces ", "the zebra sat", "."]


@pytest.fixture(scope="session")
def pieces(folder: Path) -> Path:
    """Kneser–Ney over BPE, whose tokens carry the space before a word."""
    out = folder / "pieces"
    given = ["--boundary", "line", "--tokenizer", "bpe", "--vocab-size", "300", "--split", "1.0", "--order", "3"]
    make("ngram", folder / "story.txt", "--out", out, *given)
    return out


@pytest.mark.parametrize("name", ["words", "network", "pieces"])
@pytest.mark.parametrize("line", ["the cat sat on the mat", "a dog", "a  dog ate"])
def test_the_words_of_a_line_sum_to_the_line(name: str, line: str, request: pytest.FixtureRequest) -> None:
    model = ng.load(request.getfixturevalue(name))
    found = Reader(model).words(line)
    assert [word.word for word in found] == [*line.split(), "<end>"]
    total = math.fsum(token.nats for token in model.score(line)) / math.log(2)
    assert math.fsum(word.bits for word in found) == pytest.approx(total, abs=1e-9)
    assert all(line[word.start : word.end] == word.word for word in found[:-1])


def test_a_word_of_pieces_has_its_probability_as_a_word(pieces: Path) -> None:
    """P(word, then a space or the end) summed over all ways to go on, against the rule of the literature."""
    model = ng.load(pieces)
    line = "the cat sat"
    found = Reader(model).words(line)
    tokens = model.score(line)

    def ends_here(text: str) -> float:
        p = np.exp(model.model.log_probs(model.window(text)[None, :])[0])
        return float(
            sum(p[i] for i, piece in enumerate(model.tokenizer.pieces) if piece[:1] == b" ") + p[model.boundary_id]
        )

    own = sum(token.nats for token in tokens if 3 < token.end <= 7)
    expected = (own - math.log(ends_here("the cat")) + math.log(ends_here("the"))) / math.log(2)
    assert found[1].word == "cat"
    assert found[1].bits == pytest.approx(expected, abs=1e-9)


def test_the_table_is_what_pandas_reads(words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("\n".join(LINES) + "\n")
    assert run("surprisal", words, source) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == list(COLUMNS)
    assert all(len(row) == len(header) for row in rows)
    table = [dict(zip(header, row, strict=True)) for row in rows]
    fourth = [row for row in table if row["item"] == "4"]
    assert [row["word"] for row in fourth] == ["the", "zebra", "sat", "<end>"]
    assert [row["unknown"] for row in fourth] == ["FALSE", "TRUE", "FALSE", "FALSE"]
    assert fourth[0]["previous_bits"] == "NA"
    assert fourth[1]["previous_bits"] == fourth[0]["bits"]
    count = " ".join(STORY).split().count("the")
    assert float(fourth[0]["log_frequency"]) == pytest.approx(math.log(count), abs=1e-6)
    assert fourth[1]["log_frequency"] == "NA"


def test_frequencies_of_ones_own(words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.txt").write_text("the zebra\n")
    (tmp_path / "counts.tsv").write_text("zebra\t7\n")
    assert run("surprisal", words, tmp_path / "in.txt", "--frequencies", tmp_path / "counts.tsv") == 0
    assert f"\t{math.log(7):.6f}\t" in capsys.readouterr().out.splitlines()[2]
    (tmp_path / "counts.tsv").write_text("zebra seven\n")
    assert run("surprisal", words, tmp_path / "in.txt", "--frequencies", tmp_path / "counts.tsv") == 2
    assert "expected a word, a tab and its count" in capsys.readouterr().err


# ---- half-typed words ----


def test_a_half_typed_word_is_completed(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ng.load(words)
    assert half_typed(model, "the d") == "d"
    assert half_typed(model, "the dog") == ""
    p = np.exp(model.model.log_probs(model.window("the")[None, :])[0])
    symbols = model.tokenizer.symbols()
    whole = sum(p[i] for i, symbol in enumerate(symbols) if symbol.startswith("d"))
    best = complete(model, "the d", 3)[0]
    assert best.word == "dog"
    assert best.probability == pytest.approx(p[symbols.index("dog")])
    assert best.given_prefix == pytest.approx(p[symbols.index("dog")] / whole)
    assert run("predict", words, "the d", "-k", 1, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["completes"] == "d"
    assert found["candidates"][0]["symbol"] == "dog"


def test_over_characters_a_word_is_searched_to_its_end(network: Path) -> None:
    """The probability of each word found is that of its letters and of an end after them, summed by hand."""
    model = ng.load(network)
    for found in complete(model, "the ca", 3):
        assert found.word.startswith("ca")
        text, nats = "the ", 0.0
        for letter in found.word:
            nats -= model.model.log_probs(model.window(text)[None, :])[0][model.tokenizer.id_of(letter)]
            text += letter
        p = np.exp(model.model.log_probs(model.window(text)[None, :])[0])
        nats -= math.log(p[model.tokenizer.id_of(" ")] + p[model.boundary_id])
        assert found.probability == pytest.approx(math.exp(-nats), rel=1e-6)


def test_nothing_to_complete(words: Path) -> None:
    with pytest.raises(InputError, match="nothing to complete"):
        complete(ng.load(words), "the ", 3)


# ---- rescoring ----

NBEST = [
    {
        "id": "a",
        "hypotheses": [{"text": "the cat sad", "score": -1.0}, {"text": "the cat sat", "score": -1.2}],
        "reference": "the cat sat",
    },
    {
        "id": "b",
        "hypotheses": [{"text": "the dog", "score": -2.0}, {"text": "a dock", "score": -1.9}],
        "reference": "the dog",
    },
]


def test_the_order_is_by_the_weighted_sum(words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jiwer")
    path = tmp_path / "n.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in NBEST))
    assert run("rescore", words, path, "--weight", "lm=0.5", "--weight", "score=2") == 0
    told = capsys.readouterr()
    model = ng.load(words)
    for line, listed in zip(told.out.splitlines(), NBEST, strict=True):
        record = json.loads(line)
        totals = {
            h["text"]: 2 * h["score"] - 0.5 * math.fsum(t.nats for t in model.score(h["text"]))
            for h in listed["hypotheses"]  # type: ignore[attr-defined]
        }
        assert [h["text"] for h in record["hypotheses"]] == sorted(totals, key=lambda text: -totals[text])
        assert record["hypotheses"][0]["total"] == pytest.approx(max(totals.values()), abs=1e-6)
    assert "word error rate 0.2000 as given" in told.err


def test_moses_and_kaldi_lists_are_read() -> None:
    moses = [
        "0 ||| the cat ||| LM= -3 -1 TM: WP= 2 ||| -4.5\n".replace("TM: ", ""),
        "0 ||| a cat ||| LM= -2 -1 WP= 2 ||| -4\n",
    ]
    (one,) = rescore.read_nbest(moses)
    assert one.hypotheses[0].scores == {"LM": -3, "LM_1": -1, "WP": 2}
    kaldi = list(rescore.read_nbest(["utt-x-1 3.5 the cat", "utt-x-2 4 a cat", "utt-y-1 a dog"]))
    assert [(k.id, [h.text for h in k.hypotheses]) for k in kaldi] == [
        ("utt-x", ["the cat", "a cat"]),
        ("utt-y", ["a dog"]),
    ]
    assert kaldi[0].hypotheses[0].scores == {"score": -3.5}
    with pytest.raises(TextError, match="line 1: 'nothing'"):
        list(rescore.read_nbest(["nothing here"]))
    with pytest.raises(TextError, match="'nan': expected a finite number"):
        list(rescore.read_nbest(["0 ||| a ||| LM= nan"]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_line_search_finds_the_fewest_errors_there_are(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    tables = [rng.integers(-3, 4, size=(rng.integers(1, 6), 2)) / 2 for _ in range(4)]
    errors = [rng.integers(0, 5, size=len(table)) for table in tables]
    weights = rng.normal(size=2)
    value, found = rescore._search_line(tables, errors, weights, 0)
    grid = np.linspace(-40, 40, 4001) + 0.00317  # no two hypotheses are equally good there
    lines = np.stack([grid, np.full(len(grid), weights[1])])
    tried = sum(wrong[(table @ lines).argmax(axis=0)] for table, wrong in zip(tables, errors, strict=True))
    assert found <= tried.min()
    assert rescore._errors(tables, errors, np.array([value, weights[1]])) == found


def test_tuned_weights_are_never_worse() -> None:
    pytest.importorskip("jiwer")
    lists = []
    for i, (right, wrong) in enumerate(product(["a b c", "d e"], ["x y", "a", "q r s"])):
        hypotheses = [
            rescore.Hypothesis(wrong, {"am": 1.0, "lm": -3.0}),
            rescore.Hypothesis(right, {"am": 0.0, "lm": -2.5}),
        ]
        lists.append(rescore.NBest(str(i), hypotheses, right))
    tuned = rescore.tune(lists, ["am", "lm"], {"am": 1.0, "lm": 0.1})
    assert tuned.before == pytest.approx(1.0, abs=0.4)
    assert tuned.after == 0.0
    assert tuned.weights["lm"] * 0.5 > tuned.weights["am"]


def test_a_score_of_our_name_is_refused(words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.jsonl"
    path.write_text(json.dumps({"hypotheses": [{"text": "a", "scores": {"lm": 1}}]}))
    assert run("rescore", words, path) == 2
    assert "has a score named 'lm' already" in capsys.readouterr().err
    assert run("rescore", words, path, "--weight", "am") == 2
    assert io.StringIO(capsys.readouterr().err).read().count("\n") == 1
