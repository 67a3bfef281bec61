"""Recipes as they run: figures against models used directly, going on after a stop, the report, refusals."""

import json
import time

import numpy as np
import pytest

from neuralgram import load
from neuralgram.cli import main
from neuralgram.errors import InputError, TextError
from neuralgram.mixture import Mixture, Uniform
from neuralgram.recipes import models, run, table1_report
from neuralgram.recipes import work as works
from neuralgram.recipes.report import Report, fitted_on_valid, write
from neuralgram.recipes.rows import parse_recipe
from neuralgram.recipes.work import Work
from neuralgram.text.corpora import build_corpora
from neuralgram.text.sources import text_document

FILES = {
    "recipe": """
title = "Tiny"
file = "text.txt"
reference = "kn"
first = 3
[texts.main]
tokenizer = "words"
options = { min_count = 2 }
boundary = "stream"
split = "0.7,0.15,0.15"
vocab_from = "all"
""",
    "kn": 'kind = "ngram"\nlabel = "KN"\nsmoothing = "modified-kneser-ney"\norder = 3\n'
    "paper = { valid = 10, test = 9 }\n",
    "di": 'kind = "ngram"\nsmoothing = "deleted-interpolation"\norder = 2\n',
    "classes": 'kind = "ngram"\nsmoothing = "class"\norder = 2\noptions = { classes = 4 }\n',
    "net": """
kind = "network"
tried = 3
model = { context = 3, d_emb = 4, d_hidden = 5, direct = true, head = "sampled", head_options = { samples = 8 } }
training = { epochs = 2.0, batch_size = 32, lr = 0.01, seed = 1, threads = 1, eval_every = 20 }
[[phases]]
model = { head = "softmax", head_options = {} }
training = { epochs = 1.0, lr = 0.003 }
""",
    "half": 'kind = "mixture"\nparts = ["net", "kn"]\nweights = [0.25, 0.75]\n',
    "learned": 'kind = "mixture"\nparts = ["net", "kn"]\nweights = "learned"\nuniform = true\nunseen = true\n',
    "binned": 'kind = "mixture"\nparts = ["half", "di"]\nweights = "binned"\ngroup = "beyond"\n',
}
RECIPE = parse_recipe("tiny", {f"{name}.toml": text for name, text in FILES.items()})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "text.txt"
    rng = np.random.default_rng(3)
    words = np.array(["the", "a", "cat", "dog", "sat", "ran", "on", "by", "mat", "log", "red", "big"])
    path.write_text(" ".join(words[rng.zipf(1.4, 1500) % len(words)]) + " once never")
    return path


@pytest.fixture(scope="module")
def work(data, tmp_path_factory):
    work = Work(RECIPE, data, tmp_path_factory.mktemp("out"), say=lambda _: None)
    run.run(work)
    return work


def finished(work, name):
    row = work.recipe.row(name)
    return work.finished(row), work.tested(row)


@pytest.mark.parametrize("name", ["kn", "di", "classes", "net"])
def test_figures_are_those_of_the_saved_model_on_the_same_tokens(work, name):
    valid, test = finished(work, name)
    corpora = work.corpora(work.recipe.row(name))
    model = load(work.out / "models" / name)
    for part, told in (("valid", valid["valid"]), ("test", test)):
        corpus = corpora.part(part)
        losses = model.model.score(corpus.windows(model.model.context, 3))
        seen = np.isin(corpus.ids[3:], corpora.train.ids)
        assert told["tokens"] == len(corpus) - 3
        assert told["perplexity"] == pytest.approx(np.exp(losses.mean()))
        assert told["seen"] == pytest.approx(np.exp(losses[seen].mean()))
        assert told["known"] == pytest.approx(np.exp(losses[corpus.ids[3:] != model.tokenizer.unknown].mean()))


@pytest.mark.parametrize(
    ("name", "parts"), [("half", ["net", "kn"]), ("learned", ["net", "kn"]), ("binned", ["half", "di"])]
)
def test_a_mixture_row_is_the_mixture_model(work, name, parts):
    """Summed from kept losses, it gives what `Mixture` gives of the models themselves."""
    valid, test = finished(work, name)
    corpora = work.corpora(work.recipe.row(name))

    def model_of(part):
        if part == "half":
            return Mixture([model_of("net"), model_of("kn")], [0.25, 0.75])
        return load(work.out / "models" / part).model

    models_ = [model_of(part) for part in parts]
    if name == "half":
        made = Mixture(models_, [0.25, 0.75])
    elif name == "learned":
        never = np.setdiff1d(np.arange(corpora.vocab_size), corpora.train.ids)
        floors = [Uniform(corpora.vocab_size), Uniform(corpora.vocab_size, never)]
        made = Mixture.learned([*models_, *floors], corpora.valid, iterations=models.ITERATIONS)
        np.testing.assert_allclose(valid["weights"], made.weights, atol=2e-3)
    else:
        made = Mixture.binned(models_, corpora.valid, corpora.train, iterations=models.ITERATIONS)
        np.testing.assert_allclose(valid["weights"], made.weights, atol=1e-6)
    for part, told in (("valid", valid["valid"]), ("test", test)):
        assert told["nats"] == pytest.approx(made.score(corpora.part(part).windows(made.context, 3)).mean(), rel=1e-6)


def test_learned_weights_are_no_worse_than_given_ones_and_validation_is_marked(work):
    learned, half = finished(work, "learned")[0], finished(work, "half")[0]
    assert len(learned["weights"][0]) == 4  # the floors are the last
    assert learned["valid"]["nats"] <= half["valid"]["nats"] + 1e-9
    marked = {row.name for row in work.recipe.rows if fitted_on_valid(work, row)}
    assert marked == {"di", "learned", "binned"}


def test_a_finished_row_is_not_made_again_and_a_changed_one_is(work, data, monkeypatch):
    calls = []
    monkeypatch.setattr(models, "counted", lambda *_: calls.append("counted") or 1 / 0)
    monkeypatch.setattr(models, "network", lambda *_: calls.append("network") or 1 / 0)
    run.run(Work(RECIPE, data, work.out, say=lambda _: None))
    assert calls == []
    changed = {**FILES, "di": FILES["di"].replace("order = 2", "order = 3")}
    other = parse_recipe("tiny", {f"{name}.toml": text for name, text in changed.items()})
    fresh = Work(other, data, work.out, say=lambda _: None)
    assert fresh.finished(other.row("kn")) is not None
    assert fresh.finished(other.row("di")) is None
    assert fresh.finished(other.row("binned")) is None  # a mixture of it
    with pytest.raises(ZeroDivisionError):
        run.run(fresh)
    assert calls == ["counted"]


def test_a_killed_training_goes_on_and_ends_in_the_same_figures(work, data, tmp_path, monkeypatch):
    from neuralgram.training import run as runs

    monkeypatch.setattr(runs, "SAVE_SECONDS", 0.0)  # a checkpoint after every update
    count = {"updates": 0}
    save = runs.Run._save

    def killed(self):
        save(self)
        time.sleep(0.02)
        count["updates"] += 1
        if count["updates"] == 25:
            raise SystemExit("killed")

    monkeypatch.setattr(runs.Run, "_save", killed)
    again = Work(RECIPE, data, tmp_path, say=lambda _: None)
    with pytest.raises(SystemExit):
        run.run(again, ["net"])
    assert again.finished(RECIPE.row("net")) is None
    assert (tmp_path / "models" / "net" / "run" / "0" / "checkpoint.safetensors").exists()
    monkeypatch.setattr(runs.Run, "_save", save)
    run.run(again, ["net"])
    told = finished(again, "net")[0]
    assert told["valid"] == finished(work, "net")[0]["valid"]
    assert told["seconds"] > told["seconds_before"] > 24 * 0.02  # what the killed run took counts
    assert finished(work, "net")[0]["seconds_before"] == 0
    assert not list((tmp_path / "models").rglob("checkpoint*"))


def test_a_phase_goes_on_with_the_weights_before_it(work):
    first, second = finished(work, "net")[0]["training"]
    assert first["config"]["lr"] == 0.01
    assert second["config"]["lr"] == 0.003
    assert second["config"]["batch_size"] == 32
    assert load(work.out / "models" / "net").model.settings.head == "softmax"
    assert second["first_loss"] < np.log(12)  # not a fresh network's log V


def test_whole_files_are_held_out_by_turns():
    files = [text_document(f"w{i} x{i}", f"f{i}") for i in range(20)]
    whole = build_corpora(files, tokenizer="words", boundary="stream")
    made = works.held_out_files(whole, 10)
    words = {name: {whole.tokenizer.symbol(int(i)) for i in made.part(name).ids} for name in ("train", "valid", "test")}
    assert words["test"] == {"w9", "x9", "w19", "x19"}
    assert words["valid"] == {"w4", "x4", "w14", "x14"}
    assert len(words["train"]) == 32
    assert made.documents["test"].names == ("f9", "f19")
    assert made.documents["test"].starts.tolist() == [0, 2]
    with pytest.raises(TextError, match="at least 30 files"):
        works.held_out_files(whole, 30)


def test_the_report_says_what_was_found_in_three_forms(work, tmp_path):
    report = Report(work, work.recipe.rows)
    assert report.ratio("half", "kn", "valid") == pytest.approx(
        finished(work, "half")[0]["valid"]["perplexity"] / finished(work, "kn")[0]["valid"]["perplexity"]
    )
    lines, figures = table1_report.sections(report)
    text = "\n".join(lines)
    kn = finished(work, "kn")
    assert f"| KN | 3 |  |  |  |  |  |  | {kn[0]['valid']['perplexity']:.3f} |" in text
    assert "| 10 | 9 |" in text
    assert "- 3: net" in text  # configurations tried
    assert figures["beyond"][0]["row"] == "binned"
    best = min(["half", "learned"], key=lambda name: finished(work, name)[0]["valid"]["perplexity"])
    told = {found["ratio"]: found for found in figures["ratios"]}["best mixture over best Kneser–Ney"]
    assert told["rows"] == (best, "kn")
    assert told["test"] == pytest.approx(finished(work, best)[1]["perplexity"] / kn[1]["perplexity"])
    made = write(work, work.recipe.rows, table1_report.sections, "the command")
    assert json.loads(made["json"].read_text())["rows"]["kn"]["test"]["perplexity"] == kn[1]["perplexity"]
    assert made["picture"].read_bytes()[:4] == b"\x89PNG"
    assert "Made by `the command`" in made["markdown"].read_text()


def test_refusals(data, tmp_path):
    with pytest.raises(InputError, match=r"give text.txt with --data"):
        Work(RECIPE, None, tmp_path)
    with pytest.raises(InputError, match="no such file"):
        Work(RECIPE, tmp_path / "none", tmp_path)
    with pytest.raises(InputError, match="is a file"):
        Work(RECIPE, data, data)


def test_the_command_from_end_to_end(tmp_path, capsys):
    for _ in range(2):  # the second time everything is there
        with pytest.raises(SystemExit) as stopped:
            main(["reproduce", "tales", "--out", str(tmp_path), "--quick", "--rows", "bigram,kn4", "--json"])
        assert not stopped.value.code
        made = json.loads(capsys.readouterr().out)
    text = (tmp_path / "report.md").read_text()
    assert "mean nothing" in text
    assert f"Made by `neuralgram reproduce tales --out {tmp_path.name} --rows 'bigram,kn4' --quick`." in text
    assert made["markdown"] == str(tmp_path / "report.md")
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "table1", "--out", str(tmp_path)])
    assert stopped.value.code == 2
    assert "give brown.zip with --data" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["reproduce", "table1", "--out", "unused", "--list", "--rows", "paper"])
    assert len(capsys.readouterr().out.splitlines()) == 21
