"""What is refused before a text is read, in the user's own words; and what standard input is called."""

from __future__ import annotations

import io
import json

import pytest

import neuralgram as ng
from neuralgram.text import passes
from neuralgram.training.jobs import texts

TEXT = "the cat sat on the mat and the dog sat on the log\n" * 40


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nplm", "--lr", "-1"], "lr -1"),
        (["nplm", "--context", "0"], "context 0: expected"),
        (["nplm", "--head", "softest"], "head 'softest'"),
        (["nplm", "--d-hidden", "0", "--no-direct"], "nothing is left to predict from"),
        (["nplm", "--optimizer", "sgdd"], "sgdd"),
        (["nplm", "--split", "0.9,0.3"], "add up to 1.2"),
        (["nplm", "--encoding", "base64"], "encoding 'base64'"),
        (["nplm", "--tokenizer", "letters"], "unknown tokenizer 'letters'"),
        (["nplm", "--valid", "nowhere.txt"], "no such file: nowhere.txt"),
        (["ngram", "--order", "0"], "order 0"),
        (["ngram", "--smoothing", "good"], "smoothing 'good'"),
        (["ngram", "--k", "0.1"], "modified-kneser-ney takes no option k"),
        (["ngram", "--unigrams", "none"], "unigrams 'none'"),
        (["ngram", "--prune", "1,1"], "pruning thresholds [1, 1]"),
        (["ngram", "--test", "nowhere.txt"], "no such file: nowhere.txt"),
        (["ngram", "--tokenizer", "bytes", "--vocab-size", "300"], "--vocab-size: the bytes tokenizer takes no "
         "options; expected --tokenizer chars or words or bpe"),
        (["ngram", "--tokenizer", "bpe", "--lowercase"], "--lowercase: the bpe tokenizer takes --vocab-size; "
         "expected --tokenizer words"),
        (["ngram", "--tokenizer", "chars", "--split-punctuation"], "--split-punctuation: the chars tokenizer takes "
         "--vocab-size, --min-count; expected --tokenizer words"),
        (["ngram", "--tokenizer", "some.json", "--min-count", "2"], "--min-count: some.json is a finished tokenizer"),
    ],
)  # fmt: skip
def test_refused_before_the_text_is_read(run, text, tmp_path, monkeypatch, arguments, message):
    def read(*_):
        raise AssertionError("the text was read")

    monkeypatch.setattr(passes, "read_documents", read)
    monkeypatch.setattr(texts, "read_documents", read)
    code, _, err = run("train", arguments[0], text, "--out", tmp_path / "m", *arguments[1:])
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert not (tmp_path / "m").exists()


def test_a_chosen_tokenizer_that_does_not_take_an_option_names_it(run, text, tmp_path):
    code, _, err = run("train", "ngram", text, "--out", tmp_path / "m", "--lowercase")
    assert code == 2
    assert "--lowercase: the chars tokenizer takes --vocab-size, --min-count; expected --tokenizer words" in err


def test_an_option_reaches_the_tokenizer_under_its_own_name(run, text, tmp_path):
    options = ("--tokenizer", "words", "--vocab-size", "4", "--lowercase")
    assert run("train", "ngram", text, "--out", tmp_path / "m", "--order", "2", *options)[0] == 0
    told = json.loads((tmp_path / "m" / "neuralgram.json").read_text())
    assert told["data"]["options"] == {"max_vocab": 4, "lowercase": True}
    assert sorted(ng.load(tmp_path / "m").tokenizer.symbols()) == ["<unk>", "on", "sat", "the"]


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"abc \xff def", (), "standard input: byte 4 is not utf-8"),
        (b"abc \xff def", ("--tokenizer", "chars"), "standard input: byte 4 is not utf-8"),
        (b'{"text": "a"}\n{"no": 1}\n', ("--field", "text"), "standard input, line 2: fields 'no'"),
    ],
)
def test_standard_input_is_called_standard_input(run, tmp_path, monkeypatch, data, options, message):
    monkeypatch.setattr("sys.stdin", Stdin(data))
    code, _, err = run("train", "ngram", "-", "--out", tmp_path / "m", *options)
    assert code == 2
    assert message in err
    assert "standard-input" not in err


def test_a_model_of_standard_input_says_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", Stdin(TEXT.encode()))
    assert run("train", "ngram", "-", "--out", tmp_path / "m", "--order", "2")[0] == 0
    told = json.loads((tmp_path / "m" / "neuralgram.json").read_text())
    assert told["data"]["sources"]["texts"] == ["standard input"]
    assert ng.load(tmp_path / "m").perplexity("the cat") > 1


@pytest.mark.parametrize(("options", "told", "tokens"), [([], 1, 1800), (["1.0"], 0, 2000), (["0.8,0.1,0.1"], 0, 1600)])
def test_counting_says_what_it_holds_out_and_how_to_count_all(run, text, tmp_path, options, told, tokens):
    given = [word for split in options for word in ("--split", split)]
    code, out, err = run(
        "train", "ngram", text, "--out", tmp_path / "m", "--order", "2", "--boundary", "line", "--json", *given
    )
    assert (code, json.loads(out)["tokens"]) == (0, tokens)
    assert err.count("--split 1.0 learns from all of the text") == told


def test_fixed_discounts_are_a_note_that_says_what_happened(run, text, tmp_path):
    _, _, err = run("train", "ngram", text, "--out", tmp_path / "m", "--tokenizer", "chars", "--order", "2")
    [note] = [line for line in err.splitlines() if "order 1" in line]
    assert note.startswith("note: order 1: ")
    assert "takes the usual fixed ones, 0.5, 1, 1.5, as KenLM does" in note
    assert "warning" not in err


def test_one_model_is_no_mixture_without_a_floor(run, text, tmp_path):
    run("train", "ngram", text, "--out", tmp_path / "m", "--order", "2", "--split", "0.9,0.1")
    code, _, err = run("mix", tmp_path / "m", "--out", tmp_path / "mix", "--weights", "1")
    assert (code, "alone is that model: give a second MODEL, --uniform or --unseen" in err) == (2, True)
    assert not (tmp_path / "mix").exists()
    code, out, _ = run("mix", tmp_path / "m", "--out", tmp_path / "mix", "--uniform", "--weights", "0.9,0.1", "--json")
    assert code == 0
    V = ng.load(tmp_path / "m").model.vocab_size
    p = [ng.load(tmp_path / name).predict("the ", 1)[0].probability for name in ("m", "mix")]
    assert p[1] == pytest.approx(0.9 * p[0] + 0.1 / V)
    assert json.loads(out)["parts"][-1] == "uniform"


def test_what_a_unit_is_and_what_is_left_out_is_said(run, tmp_path):
    text = tmp_path / "lines.txt"
    text.write_text("the cat sat on the mat in the evening sun.\n" * 120)
    for command in (("ngram",), ("nplm", "--steps", "1")):
        argument = ("train", *command, text, "--out", tmp_path / "m", "--overwrite", "--tokenizer", "words")
        said = "".join(run(*argument)[1:])
        assert "unit           document   each document (a file, a JSON line) is a unit, and that it ends is" in said
        parts = "parts          1 081 train, 61 valid, 61 test tokens (0.9,0.05,0.05)"
        assert f"{parts}; --split 1.0 learns from all of the text" in said
        assert "hint: 120 lines of 43 bytes on average, 100% of them ending as sentences do; if each" in said
        said = "".join(run(*argument, "--split", "1.0", "--boundary", "line")[1:])
        assert "unit           line       each line is a unit, and that it ends is predicted too" in said
        assert "parts  " not in said
        assert "hint" not in said
