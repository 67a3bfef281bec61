"""`mix`: weights and perplexities against sums worked out from the parts, the saved mixture, and what is refused."""

import json

import numpy as np
import pytest

import neuralgram as ng
from neuralgram.cli import main

TEXT = "the cat sat on the mat and the dog sat on the log while the cat saw the dog run to the mat\n" * 12
HELD_OUT = "the dog sat on the mat and the cat ran to the log\n" * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mix")
    (folder / "text.txt").write_text(TEXT)
    (folder / "held-out.txt").write_text(HELD_OUT)
    for name, options in {
        "one": ["--order", "1"],
        "three": ["--order", "3"],
        "words": ["--tokenizer", "words"],
        "lines": ["--boundary", "line", "--tokenizer", folder / "one" / "tokenizer.json"],
    }.items():
        arguments = ["--order", "2", "--tokenizer", "chars", "--split", "0.8,0.1,0.1", *options]
        with pytest.raises(SystemExit) as stopped:
            main([str(a) for a in ("train", "ngram", folder / "text.txt", "--out", folder / name, *arguments)])
        assert not stopped.value.code
    return folder


def parts_losses(folder, text):
    models = [ng.load(folder / name) for name in ("one", "three")]
    corpus = models[0].corpus(text)
    return np.stack([m.model.score(corpus.windows(m.model.context)) for m in models])


def test_given_weights_make_the_weighted_mean(run, folder, tmp_path):
    code, out, _ = run(
        "mix", folder / "one", folder / "three", "--out", tmp_path / "m", "--weights", "0.25,0.75",
        "--valid", folder / "held-out.txt", "--json",
    )  # fmt: skip
    made = json.loads(out)
    p = np.exp(-parts_losses(folder, HELD_OUT))
    expected = -np.log(0.25 * p[0] + 0.75 * p[1]).mean()
    assert code == 0
    assert made["valid"]["nats_per_token"] == pytest.approx(expected)
    assert made["weights_fitted_on_valid"] is False
    assert ng.load(tmp_path / "m").perplexity(HELD_OUT) == pytest.approx(
        np.exp(expected)
    )  # loaded again with its parts


def test_learned_weights_are_the_best_of_all_and_a_uniform_floor_may_be_a_part(run, folder, tmp_path):
    arguments = ["mix", folder / "one", folder / "three", "--out", tmp_path / "m", "--uniform", "--json"]
    _, out, _ = run(*arguments, "--valid", folder / "held-out.txt")
    made = json.loads(out)
    [weights] = made["weights"]
    assert made["parts"][-1] == "uniform"
    assert made["weights_fitted_on_valid"] is True
    V = ng.load(folder / "one").model.vocab_size
    p = np.exp(-parts_losses(folder, HELD_OUT))
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1 - a, 41)]
    best = min(-np.log(a * p[0] + b * p[1] + max(c, 0) / V + 1e-300).mean() for a, b, c in grid)
    assert sum(weights) == pytest.approx(1)
    assert made["valid"]["nats_per_token"] <= best + 1e-3
    assert made["valid"]["nats_per_token"] >= best - 5e-3


def test_a_floor_for_tokens_that_training_never_holds(run, folder, tmp_path):
    (tmp_path / "text").write_text("a b a b b a a b c d")
    how = ["--tokenizer", "words", "--boundary", "stream", "--split", "8,2", "--vocab-from", "all", "--order", "2"]
    run("train", "ngram", tmp_path / "text", "--out", tmp_path / "counts", *how)
    code, out, err = run(
        "mix", tmp_path / "counts", "--unseen", "--weights", "0.9,0.1", "--out", tmp_path / "m", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["parts"][-1] == "unseen"
    counts, mixed = ng.load(tmp_path / "counts"), ng.load(tmp_path / "m")
    never = [i for i in range(counts.model.vocab_size) if counts.tokenizer.symbol(i) not in ("a", "b")]
    assert {"c", "d"} <= {counts.tokenizer.symbol(i) for i in never}
    before, after = (np.exp(model.model.log_probs([[0]])[0]) for model in (counts, mixed))
    expected = 0.9 * before
    expected[never] += 0.1 / len(never)
    np.testing.assert_allclose(after, expected, atol=1e-12)
    code, _, err = run(
        "mix", folder / "one", folder / "three", "--unseen", "--weights", "1,0,0", "--out", tmp_path / "n"
    )
    assert (code, "holds every token; leave it out" in err) == (2, True)


def test_weights_by_bins_of_contexts_from_the_split_the_model_was_trained_with(run, folder, tmp_path):
    arguments = ["mix", folder / "one", folder / "three", "--valid", folder / "text.txt", "--part", "valid", "--json"]
    _, out, _ = run(*arguments, "--weights", "binned", "--out", tmp_path / "binned")
    binned = json.loads(out)
    _, out, _ = run(*arguments, "--weights", "learned", "--out", tmp_path / "learned")
    learned = json.loads(out)
    size = json.loads((folder / "one" / "neuralgram.json").read_text())["data"]["tokens"]["train"]
    assert len(binned["weights"]) == np.ceil(np.log(size)) + 1  # bins of the training part: l(0) + 1
    assert binned["valid"]["nats"] <= learned["valid"]["nats"] + 1e-6
    bin_of = [int(np.clip(np.ceil(-np.log((1 + x) / size)), 0, len(binned["bins"]) - 1)) for x in range(size + 1)]
    for q, (least, most) in enumerate(binned["bins"]):  # l(x) = ⌈−log((1 + x)/T)⌉ of every frequency there can be
        assert [x for x in range(size + 1) if bin_of[x] == q] == list(range(least, most + 1))
    assert learned["bins"] is None
    _, out, _ = run("eval", tmp_path / "binned", folder / "text.txt", "--part", "valid", "--json")
    assert json.loads(out)["models"][0]["nats"] == pytest.approx(binned["valid"]["nats"])


def test_a_table_of_bins_says_which_contexts_each_holds(run, folder, tmp_path):
    arguments = ["mix", folder / "one", folder / "three", "--valid", folder / "text.txt", "--part", "valid"]
    _, out, _ = run(*arguments, "--weights", "binned", "--out", tmp_path / "binned")
    made = ng.load(tmp_path / "binned").model
    rows = [line.split() for line in out.splitlines() if line.split()[0].isdigit()]
    size = int(made.bins.counts.counts[0].sum())
    frequencies = np.arange(size + 1)
    q_of = np.maximum(np.ceil(-np.log((1 + frequencies) / size)), 0)
    assert len(rows) == len(made.weights)
    for q, row in enumerate(rows):
        held = frequencies[q_of == q]
        times = f"{held[0]} … {held[-1]}" if len(held) > 1 else f"{held[0]}"
        assert " ".join(row[:-2]) == f"{q} {times}"
        assert [float(x) for x in row[-2:]] == pytest.approx(made.weights[q].tolist(), abs=5e-5)


def test_a_mixture_can_be_mixed_again(run, folder, tmp_path):
    run("mix", folder / "one", folder / "three", "--out", tmp_path / "a", "--weights", "0.5,0.5")
    run("mix", tmp_path / "a", folder / "three", "--out", tmp_path / "b", "--weights", "0.4,0.6")
    p = np.exp(-parts_losses(folder, HELD_OUT))
    expected = np.exp(-np.log(0.2 * p[0] + 0.8 * p[1]).mean())
    assert ng.load(tmp_path / "b").perplexity(HELD_OUT) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (["words", "--weights", "0.5,0.5"], "different tokenizers"),
        (["lines", "--weights", "0.5,0.5"], "boundary 'document'"),
        (["three"], "give it with --valid"),
        (["three", "--weights", "0.5,0.4,0.1"], "expected 2 numbers, one a part, not 3"),
        (["three", "--weights", "0.5,x"], "such as 0.5,0.5"),
        (["three", "--weights", "0.9,0.9"], "summing to 1"),
        (["three", "--weights", "binned", "--valid", "{text}"], "give it with --train"),
    ],
)
def test_what_cannot_be_mixed_is_refused_in_one_line(run, folder, tmp_path, others, message):
    given = [folder / others[0], *(option.format(text=folder / "held-out.txt") for option in others[1:])]
    code, out, err = run("mix", folder / "one", *given, "--out", tmp_path / "m")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_what_is_there_is_kept_unless_told_otherwise(run, folder, tmp_path):
    (tmp_path / "keep").write_text("mine")
    arguments = ["mix", folder / "one", folder / "three", "--out", tmp_path, "--weights", "0.5,0.5"]
    code, _, err = run(*arguments)
    assert (code, "--overwrite" in err) == (2, True)
    assert run(*arguments, "--overwrite")[0] == 0
