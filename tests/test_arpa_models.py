"""ARPA files at the level of strings: KenLM's own file as a model, and ours out and in again."""

import json

import pytest

import neuralgram as ng
from neuralgram.cli import main
from neuralgram.errors import InputError, ModelDirError
from neuralgram.exporting.arpa import Arpa
from neuralgram.ngram import fit
from neuralgram.text.strings import encode_units
from neuralgram.text.tokenizers import Words
from neuralgram.textmodel import TextModel

TEXT = "the cat sat on the mat\nthe dog sat\na cat ran\n" * 3 + "a dog ran on\nan owl\n"


def counting(smoothing="modified-kneser-ney", boundary="line"):
    words = Words.train([TEXT], min_count=2)
    corpus = encode_units(words, boundary, [TEXT])
    return TextModel(fit(smoothing, corpus, 3), words, boundary)


@pytest.mark.filterwarnings("ignore:order")
@pytest.mark.parametrize("name", ["m.arpa", "m.arpa.gz"])
@pytest.mark.parametrize("boundary", ["line", "stream"])
def test_out_and_in_again(tmp_path, name, boundary):
    model = counting(boundary=boundary)
    Arpa.write(model, tmp_path / name)
    again = ng.load(tmp_path / name)
    assert again.boundary == boundary
    text = "the cat ran on a zebra\nthe mat\n"
    assert [s.nats for s in again.score(text)] == pytest.approx([s.nats for s in model.score(text)], abs=1e-6)


def test_kenlms_file_gives_its_published_perplexity(data):
    model = ng.load(data("kenlm/brown3000.o3.arpa.gz"))
    scores = model.score(data("kenlm/probe300.txt").read_text(encoding="utf-8"))
    unknown = [s for s in scores if s.id == model.tokenizer.unknown]
    assert (len(scores), len(unknown)) == (8352, 676)
    assert model.perplexity(data("kenlm/probe300.txt").read_text(encoding="utf-8")) == pytest.approx(455.3, abs=0.05)


@pytest.mark.filterwarnings("ignore:order")
def test_what_has_no_arpa_file_is_refused(tmp_path):
    words = Words.train([TEXT])
    model = TextModel(fit("add-k", encode_units(words, "line", [TEXT]), 2, k=1.0), words, "line")
    with pytest.raises(InputError, match="add-k has no ARPA file"):
        Arpa.write(model, tmp_path / "m.arpa")
    (tmp_path / "notes.txt").write_text("no model")
    with pytest.raises(ModelDirError, match="expected a model directory, or an ARPA file"):
        ng.load(tmp_path / "notes.txt")


@pytest.mark.filterwarnings("ignore:order")
@pytest.mark.parametrize("name", ["m.arpa", "m.arpa.gz"])
def test_every_command_takes_an_arpa_file_as_a_model(tmp_path, capsys, name):
    counting().save(tmp_path / "m")
    text, arpa = tmp_path / "text", tmp_path / name
    text.write_text(TEXT)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert stopped.value.code == 0, captured.err
        return json.loads(captured.out)

    run("export", tmp_path / "m", "--to", "arpa", "--out", arpa, "--json")
    for arguments in ((arpa, tmp_path / "m", text), (tmp_path / "m", arpa, "--text", text)):
        one, two = run("eval", *arguments, "--json")["models"]
        assert one["nats"] == pytest.approx(two["nats"], abs=1e-4)
    told, of_directory = run("info", arpa, "--json"), run("info", tmp_path / "m", "--json")
    same = ("kind", "vocab_size", "context", "parameters", "unit", "boundary")
    assert {name: told[name] for name in same} == {name: of_directory[name] for name in same}
    assert told["model"]["smoothing"] == "arpa"
    run("predict", arpa, "the cat", "--json")
    run("generate", arpa, "the cat", "--json")
    run("trace", arpa, "the cat", "--json")
    run("export", arpa, "--to", "arpa", "--out", tmp_path / "again.arpa", "--json")
    assert ng.load(tmp_path / "again.arpa").perplexity(TEXT) == pytest.approx(ng.load(arpa).perplexity(TEXT), rel=1e-6)
    run("mix", arpa, arpa, "--uniform", "--weights", "0.5,0.4,0.1", "--out", tmp_path / "mixed", "--json")
    assert ng.load(tmp_path / "mixed").model.parts[0].size() == ng.load(arpa).model.size()
