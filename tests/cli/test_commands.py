"""Commands as a user meets them: what they print, what --json gives, and how they refuse."""

import json
import math
import resource
import subprocess
import sys

import numpy as np
import pytest

import neuralgram as ng
from neuralgram.cli import COMMANDS, main
from neuralgram.text.samples import story

STEPS = ("--steps", "60", "--threads", "1")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "story.txt"
    path.write_text(story(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def network(text, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "network"
    with pytest.raises(SystemExit) as stopped:
        main(["train", "nplm", str(text), "--out", str(out), *STEPS, "--seed", "3"])
    assert stopped.value.code == 0
    return out


@pytest.fixture(scope="module")
def counts(text, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "counts"
    with pytest.raises(SystemExit) as stopped:
        main(["train", "ngram", str(text), "--out", str(out), "--order", "3", "--seed", "3", "--tokenizer", "chars"])
    assert stopped.value.code == 0
    return out


def test_help_answers_at_once_and_loads_nothing_heavy():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "import sys, neuralgram.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('torch', 'numpy', 'rich', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 2  # 0.1 s of a quiet core, however busy the machine is


def test_the_help_of_training_loads_no_pytorch_and_that_of_head_options_says_what_there_is(run):
    code = "import sys, neuralgram.cli as c\ntry: c.main(['train', 'nplm', '--help'])\nexcept SystemExit: pass\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "print('torch' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("False")
    code, out, _ = run("train", "nplm", "--head-option", "help")  # neither a text nor --out is asked for
    assert code == 0
    assert "tree: takes none" in out
    assert "sampled\n  samples: whole number of at least 1. k, noise words a batch. [256]" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--betas", "0.9"], "betas [0.9]: expected 2 numbers"),
        (["--betas", "0.9,x"], "'0.9,x': expected 2 numbers of at least 0 and at most 1, such as 0.9,0.99"),
        (["--betas", "0.9,1.5"], "betas 1.5: expected a number of at least 0 and at most 1"),
        (["--epsilon", "-1"], "epsilon -1.0: expected a number of at least 0"),
        (["--warmup", "2"], "warmup 2.0: expected a number of at least 0 and at most 1"),
        (["--boundary-rate", "-0.1"], "boundary_rate -0.1: expected"),
        (["--activation", "swish"], "activation 'swish': expected one of tanh, relu, sigmoid, identity"),
    ],
)
def test_what_was_missing_among_the_options_is_there_and_checked(run, text, tmp_path, arguments, message):
    code, _, err = run("train", "nplm", text, "--out", tmp_path / "m", *arguments)
    assert code == 2
    assert message in err


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "neuralgram", "predict"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("neuralgram: ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert "Usage: neuralgram" in out


def test_importing_the_package_leaves_pytorch_alone():
    code = "import sys, neuralgram, neuralgram.ngram, neuralgram.textmodel; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_trained_directory_has_its_files_and_its_story(network, text):
    names = {path.name for path in network.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "neuralgram.json", "learning-curve.png"}
    told = json.loads((network / "neuralgram.json").read_text())
    assert told["training"]["steps"] == 60
    assert told["training"]["config"]["seed"] == 3
    assert told["data"]["split"] == "0.9,0.05,0.05"
    assert told["data"]["sources"]["texts"] == [str(text)]
    assert set(told["reasons"]) >= {"tokenizer", "context", "d_hidden", "lr", "batch_size"}
    assert sorted(path.name for path in (network / "run").iterdir()) == ["log.jsonl", "settings.json"]


def test_eval_is_the_sum_over_the_count(run, network, text):
    code, out, _ = run("eval", network, text, "--json", "--tokens")
    [record] = json.loads(out)["models"]
    nats = [token["nats"] for token in record["per_token"]]
    assert code == 0
    assert record["tokens"] == len(nats) == len(story()) + 1  # every character, and the end of the document
    assert record["nats_per_token"] == pytest.approx(sum(nats) / len(nats))
    assert record["perplexity"] == pytest.approx(math.exp(sum(nats) / len(nats)))
    assert record["bits_per_byte"] == pytest.approx(sum(nats) / math.log(2) / len(story().encode()))
    assert record["unknown_rate"] == 0
    model = ng.load(network)
    assert model.perplexity(story()) == pytest.approx(record["perplexity"])


def test_a_part_is_the_split_the_model_was_trained_with(run, network, counts, text):
    _, out, _ = run("eval", network, counts, text, "--part", "test", "--json")
    models = json.loads(out)["models"]
    trained = json.loads((network / "neuralgram.json").read_text())["data"]["tokens"]["test"]
    assert [record["tokens"] for record in models] == [trained, trained]
    assert models[0]["perplexity"] <= models[1]["perplexity"]  # best first
    assert models[0]["difference"] is None
    assert models[1]["difference"]["low"] <= models[1]["difference"]["nats"] <= models[1]["difference"]["high"]
    code, _, err = run("eval", network, __file__, "--part", "test", "--errors", "replace")
    assert (code, "not the text" in err or "is not among" in err) == (2, True)


def test_tables_are_for_people_and_differences_carry_intervals(run, network, counts, text):
    code, out, _ = run("eval", network, counts, text)
    assert code == 0
    assert "perplexity" in out
    assert "[+" in out


def test_predict_and_generate(run, network):
    _, out, _ = run("predict", network, "the ", "-k", "3", "--json")
    candidates = json.loads(out)["candidates"]
    assert len(candidates) == 3
    assert candidates[0]["probability"] >= candidates[1]["probability"] >= candidates[2]["probability"]
    _, one, _ = run("generate", network, "the hen", "-n", "40", "--seed", "5")
    _, two, _ = run("generate", network, "the hen", "-n", "40", "--seed", "5", "--json")
    assert one.startswith("the hen")
    assert one == "the hen" + json.loads(two)["text"] + "\n"
    code, _, _ = run("generate", network)  # an empty prompt works: the model has a boundary symbol
    assert code == 0


def test_info_shows_sizes_and_origin(run, network, counts):
    _, out, _ = run("info", network, "--json")
    record = json.loads(out)
    state = ng.load_nplm(network).state()
    assert record["parameters"] == sum(array.size for array in state.values())
    assert record["kind"] == "nplm"
    code, out, _ = run("info", counts)
    assert code == 0
    assert "modified-kneser-ney" in out


def test_info_says_each_thing_once_and_within_the_terminal(run, counts, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("info", counts)
    lines = out.splitlines()
    keys = [line.split()[0] for line in lines]
    for name in ("smoothing", "order", "form", "unigrams", "discounts", "discounts_from", "prune"):
        assert keys.count(name) == 1
    whole = ("command", "sha256", "texts")  # are never broken
    assert [line for line, key in zip(lines, keys, strict=True) if len(line) > 80 and key not in whole] == []
    model = ng.load(counts).model
    at = keys.index("discounts")
    shown = [[float(word) for word in line.split()[-3:]] for line in lines[at : at + 3]]
    np.testing.assert_allclose(shown, model.config()["discounts"], rtol=1e-5)
    known = sum(model.table.trie.size(k) for k in (1, 2, 3))
    assert lines[keys.index("n-grams")].split()[1:] == f"{known:,}".split(",")
    record = json.loads(run("info", counts, "--json")[1])
    assert (record["parameters"], record["unit"]) == (known, "n-grams")


def test_a_long_list_goes_on_below_its_beginning():
    from neuralgram.cli.info import _lines

    values = [i / 7 for i in range(40)]
    lines = _lines({"weights": values, "seed": 12345, "steps": 12345}, 60)
    assert max(map(len, lines)) <= 60
    assert lines[-2:] == ["seed     12345", "steps    12 345"]
    words = " ".join(lines[:-2]).split()
    np.testing.assert_allclose([float(word) for word in words[1:]], values, rtol=1e-5)
    assert all(line.startswith(" " * 9) for line in lines[1:-2])


def test_info_on_a_text_shows_the_health_of_a_network(run, network, counts, text):
    _, out, _ = run("info", network, text, "--json")
    health = json.loads(out)["health"]
    trained = json.loads((network / "neuralgram.json").read_text())["training"]
    assert health["first_loss"] == pytest.approx(trained["first_loss"])
    assert health["rank"]["rank"] <= health["rank"]["bound"]
    code, out, _ = run("info", network, text)
    assert code == 0
    assert "rank" in out
    code, _, err = run("info", counts, text)
    assert (code, "expected a network" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nplm", "{text}", "--out", "{network}"], "exists already; --overwrite"),
        (["train", "nplm", "{text}", "--out", "{network}", "--resume", "--steps", "61"], "steps was 60, now 61"),
        (["train", "nplm", "/no/such/file", "--out", "{new}"], "no such file: /no/such/file"),
        (["train", "nplm", "{text}", "--out", "{new}", "--context", "0"], "context 0"),
        (["train", "nplm", "{text}", "--out", "{new}", "--d-hidden", "many"], "'many': expected a size"),
        (["train", "nplm", "{text}", "--out", "{new}", "--tokenizer", "letters"], "unknown tokenizer 'letters'"),
        (["train", "nplm", "{text}", "--out", "{new}", "--split", "0.9,0.3"], "add up to 1.2"),
        (["train", "nplm", "{text}", "--out", "{new}", "--lr", "-1"], "lr -1"),
        (["train", "ngram", "{text}", "--out", "{new}", "--split", "1,0,0"], "for all of it write rest or 1.0"),
        (["train", "nplm", "{text}", "--out", "{new}", "--head-option", "=3"], "'=3': expected a name and a number"),
        (["mix", "{network}", "--out", "{new}", "--uniform", "--weights", "1,0", "--part", "valid"], "with --valid"),
        (["neighbors", "{counts}", "a"], "modified-kneser-ney has no vectors"),
        (
            ["trace", "{counts}", "the", "--target", "a", "--lr", "1"],
            "modified-kneser-ney is counted, and makes no step",
        ),
        (["train", "ngram", "{text}", "--out", "{new}", "--smoothing", "good"], "smoothing 'good'"),
        (["train", "ngram", "{text}", "--out", "{new}", "--order", "0"], "order 0"),
        (["eval", "{network}"], "expected at least one MODEL"),
        (["eval", "{new}", "{text}"], "no such model directory"),
        (["eval", "{network}", "{counts}", "--part", "test"], "{counts} is a model: expected a TEXT"),
        (["eval", "{network}", "{counts}", "--part", "test"], "(it was trained on {text})"),
        (["eval", "{counts}", "{network}", "{odd}"], "{counts}: "),
        (["generate", "{network}", "--temperature", "0", "--top-k", "3"], "--top-k at --temperature 0"),
        (["generate", "{network}", "--temperature", "0", "--top-p", "0.5"], "--top-p at --temperature 0"),
        (["info", "{network}", "--field", "text"], "--field without a TEXT"),
        (
            ["mix", "{network}", "{counts}", "--weights", "1,0", "--train", "{text}", "--out", "{new}"],
            "--train without",
        ),
        (["mix", "{network}", "{counts}", "--weights", "1,0", "--field", "x", "--out", "{new}"], "--field without"),
        (["export", "{counts}", "--to", "arpa", "--title", "x", "--out", "{new}"], "option title: arpa has none"),
        (["export", "{network}", "--to", "html", "--text", "{new}", "--out", "{new}"], "No such file"),
        (["predict", "{network}", "the", "-k", "0"], "k = 0"),
        (["predict", "{network}", "ÿ"], "'ÿ' at character 0"),
        (["generate", "{network}", "--temperature", "-1"], "temperature -1"),
        (["generate", "{network}", "-n", "-1"], "n = -1"),
        (["info", "{text}"], "no such model directory"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_line_and_two(run, network, counts, text, tmp_path, arguments, message):
    new = tmp_path / "new"
    (odd := tmp_path / "odd.txt").write_text("the µ", encoding="utf-8")
    named = {"network": network, "counts": counts, "text": text, "new": new, "odd": odd}
    filled, message = [argument.format(**named) for argument in arguments], message.format(**named)
    code, _, err = run(*filled)
    last = err.strip().splitlines()[-1]
    assert code == 2
    assert last.startswith("neuralgram: ")
    assert message in last
    assert not new.exists()  # nothing half-made is left to stumble over
    code, out, _ = run(*filled, "--json")
    assert code == 2
    assert message in json.loads(out)["error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nplm", *STEPS, "--batch-size", "9999999"), "expected at least one batch, 9999999"),
        (("nplm", *STEPS, "--context", "99999999"), "Unable to allocate"),
        (("nplm", *STEPS[:2], "--threads", "100000"), "threads 100000: expected at most 1024"),
        (("nplm", *STEPS, "--boundary", "stream", "--valid", "SHORT"), "the validation part of 1 tokens has nothing"),
        (("nplm", *STEPS, "--boundary", "stream", "--test", "SHORT"), "the test part of 1 tokens has nothing"),
        (("ngram", "--boundary", "stream", "--test", "SHORT"), "the test part of 1 tokens has nothing"),
        (("ngram", "--tokenizer", "bpe", "--vocab-size", "0"), "byte-pair vocabulary of 0"),
        (("ngram", "--encoding", "utf-16"), "story.txt: not utf-16"),
        (("ngram", "--encoding", "base64"), "encoding 'base64': expected one Python knows"),
    ],
)
def test_a_refused_training_leaves_nothing_to_stumble_over(run, text, tmp_path, arguments, message):
    short, out = tmp_path / "short.txt", tmp_path / "model"
    short.write_text("a", encoding="utf-8")
    arguments = [str(short) if word == "SHORT" else word for word in arguments]
    code, _, err = run("train", *arguments[:1], text, "--out", out, *arguments[1:])
    assert (code, "Traceback" in err) == (2, False)
    assert message in err.splitlines()[-1]
    assert not out.exists()


@pytest.mark.parametrize("damage", ["{}", "[1]", "{", ""])
def test_damaged_settings_of_a_stopped_run_are_refused_in_a_line(run, text, tmp_path, damage):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "settings.json").write_text(damage, encoding="utf-8")
    code, _, err = run("train", "nplm", text, "--out", tmp_path, *STEPS, "--resume")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "settings.json: " in err
    assert "start again with --overwrite" in err


def test_overwriting_keeps_the_old_model_until_the_new_one_is_there(run, text, tmp_path):
    out = tmp_path / "m"
    assert run("train", "nplm", text, "--out", out, *STEPS)[0] == 0
    before = ng.load(out).perplexity(story())
    assert run("train", "nplm", text, "--out", out, "--overwrite", "--d-hidden", "-4")[0] == 2
    assert ng.load(out).perplexity(story()) == before
    assert run("train", "nplm", text, "--out", out, "--overwrite", *STEPS, "--seed", "1")[0] == 0
    assert ng.load(out).perplexity(story()) != before


def test_the_same_command_gives_the_same_weights(run, network, text, tmp_path):
    assert run("train", "nplm", text, "--out", tmp_path / "m", *STEPS, "--seed", "3")[0] == 0
    once, again = ng.load_nplm(network).state(), ng.load_nplm(tmp_path / "m").state()
    assert all(np.array_equal(once[name], again[name]) for name in once)


@pytest.mark.parametrize("smoothing", ["mle", "longest-match", "kneser-ney", "modified-kneser-ney", "class"])
def test_a_text_too_short_to_be_split_is_counted_whole(run, tmp_path, smoothing):
    text, out = tmp_path / "line.txt", tmp_path / "model"
    text.write_text("a b a\n", encoding="utf-8")
    how = ("train", "ngram", text, "--boundary", "line", "--tokenizer", "words", "--order", "2", "--out", out)
    code, printed, err = run(*how, "--smoothing", smoothing, "--json")
    assert code == 0, err
    assert "all of the text is counted" in err
    record = json.loads(printed)
    assert (record["tokens"], record["valid"], record["test"]) == (4, None, None)  # a b a and the end of the line
    model = ng.load(out).model
    np.testing.assert_allclose(np.exp(model.log_probs([[0], [1], [2]])).sum(1), 1, atol=1e-12)
    code, _, err = run(*how, "--overwrite", "--split", "0.5,0.5")
    assert (code, "leaves the" in err) == (2, True)


def test_a_list_of_numbers_is_an_option_of_a_head(run, text, tmp_path):
    how = ("--head", "adaptive", "--head-option", "cutoffs=4,9", "--tokenizer", "chars")
    code, _, err = run("train", "nplm", text, "--out", tmp_path / "m", *STEPS, *how)
    assert code == 0, err
    assert ng.load(tmp_path / "m").model.settings.head_options == {"cutoffs": [4, 9]}
