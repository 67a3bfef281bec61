"""A new tokenizer is one file and one line: options, texts, model directories and scoring find it."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

import neuralgram as ng
import neuralgram.cli.train  # its options are made before the toy is there, so that no other test meets it
from neuralgram.cli import main
from neuralgram.cli.options import family_options
from neuralgram.errors import InputError
from neuralgram.families import TOKENIZERS
from neuralgram.text.corpora import build_corpora, load_corpora
from neuralgram.text.pieces import cut_pieces
from neuralgram.text.sources import text_document
from neuralgram.text.strings import encode_texts, encode_units, place_text
from neuralgram.text.tokenizers import load_tokenizer, tokenizer_class
from neuralgram.training.jobs.ngram import count_texts

TEXT = "abcabcabd\nabcab\n" * 20


@pytest.fixture(autouse=True)
def _one_line(monkeypatch):
    monkeypatch.setitem(TOKENIZERS, "chunks", "tests.text.toy:Chunks")


def test_its_options_are_those_of_the_command():
    command = family_options(TOKENIZERS)(click.Command("train", callback=lambda **given: click.echo(given["size"])))
    assert "--size INTEGER  Of chunks: characters of a chunk. [2]" in " ".join(
        CliRunner().invoke(command, ["--help"]).output.split()
    ).replace("INTEGER Of", "INTEGER  Of")
    assert CliRunner().invoke(command, ["--size", "3"]).output == "3\n"
    with pytest.raises(InputError, match="size 0: expected a whole number of at least 1"):
        tokenizer_class("chunks").train(["abc"], size=0)
    with pytest.raises(InputError, match="option 'sise' of the chunks tokenizer: expected one of size"):
        build_corpora([text_document(TEXT)], tokenizer="chunks", options={"sise": 3})


def test_it_is_the_librarys_and_loads_again(tmp_path):
    made = tokenizer_class("chunks").train([TEXT], size=3)
    again = load_tokenizer(made.to_json())
    assert (type(again), again.size, again.hash) == (type(made), 3, made.hash)
    for text in (TEXT, "", "ab", "abcxyz\n\nab"):
        ids, offsets = made.encode_with_offsets(text)
        theirs = made.library.encode(text)
        assert (ids.tolist(), [tuple(pair) for pair in offsets.tolist()]) == (theirs.ids, theirs.offsets)
    assert made.decode(made.encode(TEXT)) == TEXT
    assert "".join(made.decode_stream(made.encode(TEXT).tolist())) == TEXT


@pytest.mark.parametrize("boundary", ["stream", "line", "document"])
def test_it_is_learned_from_a_text_and_reads_it(tmp_path, boundary):
    corpora = build_corpora(
        [text_document(TEXT)],
        tokenizer="chunks",
        options={"size": 3},
        boundary=boundary,
        split="0.8,0.2",
        vocab_from="all",
        folder=tmp_path,
    )
    made = corpora.tokenizer
    units = TEXT.splitlines() if boundary == "line" else [TEXT]
    expected = [i for text in units for i in made.encode(text).tolist()]
    whole = encode_units(made, boundary, [TEXT])
    assert [i for i in whole.ids.tolist() if i != whole.boundary] == expected
    assert load_corpora(tmp_path).train.ids.tolist() == corpora.train.ids.tolist()
    read = made.look_up_lines if boundary == "line" else made.look_up
    pieces = cut_pieces([TEXT], 7, cut=made.cut(boundary))
    assert [i for piece in pieces for i in read(piece).tolist()] == read(TEXT).tolist()
    ids, starts = encode_texts(made, boundary, ["abcab", "", "abd"])
    assert ids[starts[0] : starts[1]].tolist() == place_text(made, boundary, "abcab")[0].tolist()


def test_a_model_over_it_is_trained_kept_told_of_and_traced(tmp_path, capsys):
    text, out = tmp_path / "text.txt", tmp_path / "model"
    text.write_text(TEXT)
    given = {"texts": [str(text)], "out": out, "tokenizer": "chunks", "size": 3, "boundary": "line"}
    count_texts({**given, "smoothing": "add-k", "order": 2, "k": 0.1}, say=lambda _: None)
    with pytest.raises(InputError, match=r"--size: the words tokenizer takes .*; expected --tokenizer chunks"):
        count_texts({**given, "out": tmp_path / "no", "tokenizer": "words", "smoothing": "mle", "order": 1})
    with pytest.raises(SystemExit, match="0"):
        main(["info", str(out), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["tokenizer"], told["data"]["options"]) == ("chunks", {"size": 3})
    model = ng.load(out)
    assert [token.symbol for token in model.score("abcabc")] == ["abc", "abc", "<end>"]
    assert "abc" in [candidate.symbol for candidate in model.predict("", 2)]
    assert ng.trace(model, "abc").step("p").value.sum() == pytest.approx(1)
    with pytest.raises(InputError, match="the chunks tokenizer: a page of its own cannot cut text so"):
        model.tokenizer.for_page()
