"""A whole comparison of small models, every figure against one worked out by hand or counted another way."""

import json
import math

import numpy as np
import pytest

from neuralgram.cli import main
from neuralgram.errors import InputError, TextError
from neuralgram.evaluation import report
from neuralgram.evaluation.compare import rank, spread
from neuralgram.evaluation.evaluate import Evaluation, evaluate
from neuralgram.evaluation.texts import Ranking, Reading, TextPart, evaluate_texts
from neuralgram.evaluation.where import Skipped, by_context, by_file, by_frequency, strengths
from neuralgram.mixture import Mixture, Uniform
from neuralgram.modeldir import bytes_on_disk
from neuralgram.ngram import fit
from neuralgram.text.corpora import build_corpora
from neuralgram.text.sources import text_document
from neuralgram.text.staging import Documents
from neuralgram.text.tokenizers import tokenizer_class
from neuralgram.text.windows import Corpus, token_frequencies
from neuralgram.textmodel import TextModel

TRAIN = "a a b a c"
TEXT = "a b c d a d"  # d is in the vocabulary and never in the training part


@pytest.fixture(scope="module")
def corpora():
    documents = [text_document(TRAIN, "x/one"), text_document(TEXT, "x/two")]
    return build_corpora(documents, tokenizer="words", boundary="stream", split="5,6", vocab_from="all")


def model_of(lm, corpora, info=None):
    frequencies = token_frequencies(corpora.train)
    return TextModel(lm, corpora.tokenizer, "stream", info or {}, None, frequencies)


def scored(losses, corpora, path="m", info=None, targets=None):
    """An evaluation with given losses, of the validation text read without a context."""
    losses = np.asarray(losses, np.float64)
    targets = np.asarray(corpora.valid.ids if targets is None else targets).astype(np.int64)
    model = model_of(Uniform(corpora.vocab_size), corpora, info)
    return Evaluation(path, model, losses, targets, 0, None, "words", 0, 0.5)


def test_seen_perplexity_leaves_out_types_that_training_lacks(corpora):
    e = scored([1.0, 2.0, 3.0, 10.0, 2.0, 10.0], corpora)
    assert e.perplexity == pytest.approx(math.exp(28 / 6))
    assert e.seen_perplexity == pytest.approx(math.exp(8 / 4))


def test_losses_by_training_frequency(corpora):
    a, b = scored([1.0, 2.0, 3.0, 10.0, 2.0, 12.0], corpora), scored([0.0, 4.0, 4.0, 5.0, 1.0, 5.0], corpora)
    found = by_frequency([a, b])
    assert found.labels == ["0", "1", "2–3"]  # d; b and c; a, seen three times
    assert found.tokens == [2, 2, 2]
    assert found.nats == [[11.0, 2.5, 1.5], [5.0, 4.0, 0.5]]


def test_losses_by_file_cut_at_what_is_scored(corpora):
    e = scored([1.0, 2.0, 3.0, 10.0, 2.0, 12.0], corpora)
    found = by_file([e], Documents(("x/one", "y.zip:two"), np.array([0, 4])))
    assert (found.labels, found.tokens, found.nats) == (["one", "two"], [4, 2], [[4.0, 7.0]])
    assert isinstance(by_file([e], None), Skipped)


def test_the_longest_context_seen_is_that_of_a_search_in_the_text(corpora):
    kn = fit("modified-kneser-ney", corpora.train, 3, discounts=[[0.5] * 3] * 3)
    row = evaluate(model_of(kn, corpora), corpora.valid)
    found = by_context([row], corpora.valid)
    train, valid = corpora.train.ids.tolist(), corpora.valid.ids.tolist()
    followed = {tuple(train[i - j : i]) for j in (1, 2) for i in range(j, len(train))}
    lengths = [
        max([j for j in (1, 2) if all(tuple(valid[i - k : i]) in followed for k in range(1, j + 1))], default=0)
        for i in range(2, len(valid))
    ]
    counted = [lengths.count(j) for j in range(3)]
    assert found.tokens == [count for count in counted if count]
    assert found.labels == [
        name for name, count in zip(("0 tokens", "1 token", "2 tokens"), counted, strict=True) if count
    ]
    means = [np.mean([x for x, j in zip(row.losses, lengths, strict=True) if j == k]) for k in range(3) if k in lengths]
    np.testing.assert_allclose(found.nats[0], means)


def test_without_a_counting_model_contexts_are_skipped_with_the_reason(corpora):
    found = by_context([scored(np.ones(6), corpora)], corpora.valid)
    assert "n-gram" in found.reason
    inside = Mixture([fit("mle", corpora.train, 2, floor=0.5), Uniform(corpora.vocab_size)], [0.5, 0.5])
    assert by_context([evaluate(model_of(inside, corpora), corpora.valid)], corpora.valid).tokens


def test_tokens_each_predicts_best(corpora):
    a, b = scored([1.0, 2.0, 3.0, 10.0, 2.0, 12.0], corpora), scored([0.0, 4.0, 4.0, 5.0, 1.0, 5.0], corpora)
    first, second = strengths([a, b])
    assert [(s.symbol, s.times, s.gained) for s in first] == [("b", 1, 2.0), ("c", 1, 1.0)]
    assert [(s.symbol, s.times, s.gained) for s in second] == [("d", 2, 12.0), ("a", 2, 2.0)]


@pytest.mark.parametrize("blocks", [1, 6])
@pytest.mark.parametrize(
    ("a", "b", "first", "nats"),
    [
        ([1.0, np.inf, 3.0, 1.0, 2.0, 2.0], [2.0, np.inf, 3.5, 1.0, 2.0, 2.0], "a", 1.5 / 6),  # over the other tokens
        ([1.0, 2.0, 3.0, 1.0, 2.0, np.inf], [9.0, 9.0, 9.0, 9.0, 9.0, 9.0], "b", np.inf),
        ([9.0, np.inf, 9.0, 9.0, 9.0, 9.0], [1.0, np.inf, np.inf, 1.0, 1.0, 1.0], "a", np.inf),
        ([1.0, np.inf, 3.0, 1.0, 2.0, 2.0], [2.0, 2.0, np.inf, 1.0, 2.0, 2.0], "a", 0.0),  # both are infinite
        ([np.inf] * 6, [np.inf] * 6, "a", 0.0),
    ],
)
def test_infinite_losses_are_compared_and_give_no_nan(corpora, monkeypatch, a, b, first, nats, blocks):
    monkeypatch.setattr("neuralgram.evaluation.compare.BLOCKS", blocks)
    ranked = rank([scored(np.array(b), corpora, "b"), scored(np.array(a), corpora, "a")])
    assert ranked[0].evaluation.path == first
    found = ranked[1].difference
    assert found.nats == pytest.approx(nats)
    assert not np.isnan(found[:3]).any()
    assert found.low <= found.nats <= found.high
    assert not found.decided
    assert "nan" not in " ".join(report.cells(ranked[1]))


def test_an_infinite_loss_among_seeds_has_no_nan_either(corpora):
    losses = np.array([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    rows = [scored(losses + shift, corpora, f"m{i}", told(i)) for i, shift in enumerate((0.0, np.inf))]
    ranked = rank(rows)
    assert (ranked[0].seeds.sd_nats, ranked[0].seeds.sd_perplexity) == (np.inf, np.inf)
    assert not ranked[1].better


def test_what_is_gained_over_no_probability_at_all_is_infinite(corpora):
    a = scored([1.0, 2.0, 3.0, 10.0, 2.0, 12.0], corpora)
    first, second = strengths([a, scored([0.0, np.inf, 4.0, 5.0, 1.0, np.inf], corpora)])
    assert [s.gained for s in first] == [np.inf, np.inf, 1.0]
    assert all(np.isfinite(s.gained) for s in second)


def test_sizes(corpora, tmp_path):
    kn = fit("modified-kneser-ney", corpora.train, 2, discounts=[[0.5] * 3] * 2)
    V, pairs = corpora.vocab_size, 4  # a a, a b, b a, a c
    held = sum(array.nbytes for array in kn.state().values())
    assert kn.size() == (V + pairs, "n-grams", held)
    mixed = model_of(Mixture([kn, Uniform(V)], [0.9, 0.1]), corpora)
    mixed.save(tmp_path / "mixed")
    assert mixed.model.size() == (V + pairs, "n-grams", held + 16)  # and two weights
    files = [f for f in (tmp_path / "mixed").rglob("*") if f.is_file()]
    assert bytes_on_disk(tmp_path / "mixed") == sum(f.stat().st_size for f in files)


def told(seed, lr=0.1):
    return {"training": {"config": {"seed": seed, "lr": lr}}, "model": {"h": 3}, "data": {"split": "5,6", "seed": seed}}


def test_models_that_differ_in_their_seed_alone_are_a_family(corpora):
    losses = np.array([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    rows = [scored(losses + shift, corpora, f"m{i}", told(i)) for i, shift in enumerate((0.0, 0.1, 0.2))]
    other = scored(losses + 0.15, corpora, "other", told(0, lr=0.2))
    ranked = rank([*rows, other])
    assert [row.evaluation.path for row in ranked] == ["m0", "m1", "other", "m2"]
    assert ranked[0].seeds.seeds == 3
    assert ranked[0].seeds.sd_nats == pytest.approx(0.1)
    assert ranked[0].seeds.sd_perplexity == pytest.approx(np.std([e.perplexity for e in rows], ddof=1))
    assert ranked[2].seeds is None
    assert spread(rows).seeds == 3


def test_nothing_is_called_better_that_seeds_alone_explain(corpora):
    losses = np.linspace(1.0, 2.0, 6)
    rows = [scored(losses + shift, corpora, f"m{i}", told(i)) for i, shift in enumerate((0.0, 0.1, 0.2))]
    ranked = rank(rows)
    assert ranked[1].difference.decided  # every group is worse by 0.1
    assert not ranked[1].better  # but the seeds spread by more
    assert "(undecided)" in report.cells(ranked[1])[3]
    assert rank([scored(losses, corpora, "p"), scored(losses + 0.1, corpora, "q")])[1].better


def test_files_are_resampled_where_a_stream_has_enough_of_them(corpora):
    long = Corpus(np.zeros(120, np.int64), corpora.vocab_size)
    rng = np.random.default_rng(0)
    rows = [scored(rng.random(120), corpora, f"m{i}", targets=long.ids) for i in range(2)]
    files = Documents(tuple(f"f{i}" for i in range(12)), np.arange(0, 120, 10))
    assert rank(rows, documents=files)[1].difference[3:] == (12, "files")
    few = Documents(("f", "g"), np.array([0, 60]))
    assert rank(rows, documents=few)[1].difference[3:] == (120, "blocks")


def test_markdown_and_json_tell_the_same(corpora):
    a, b = (
        scored([1.0, 2.0, 3.0, 10.0, 2.0, 12.0], corpora, "x/a"),
        scored([0.0, 4.0, 4.0, 5.0, 1.0, 5.0], corpora, "x/b"),
    )
    ranking = Ranking(rank([a, b]), TextPart(corpora.valid, None))
    made = report.to_json(ranking)
    text = report.markdown([ranking])
    assert [record["path"] for record in made["models"]] == ["x/b", "x/a"]
    assert made["models"][1]["difference"]["nats"] == pytest.approx(11 / 6)
    assert made["where"][0]["nats"] == [[5.0, 4.0, 0.5], [11.0, 2.5, 1.5]]
    assert "| b | 23.73 |" in text  # exp(19/6)
    assert "| 0 | 2 | 5.000 | 11.000 |" in text
    assert "Left out: no n-gram model" in text
    assert "- b: `d` 12.0 (2×), `a` 2.0 (2×)" in text


def test_seeds_of_a_split_stream_share_their_text(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a b c a b d a b c " * 20)
    models = []
    for seed in (1, 2):
        out = tmp_path / f"m{seed}"
        arguments = ["--tokenizer", "words", "--boundary", "stream", "--order", "2", "--seed", seed]
        with pytest.raises(SystemExit):
            main([str(a) for a in ("train", "ngram", text, "--out", out, *arguments)])
        models.append(_loaded(out))
    assert [len(ranking.rows) for ranking in evaluate_texts(models, Reading([text], "test"))] == [2]


def test_which_of_several_models_refuses_a_text_is_said(tmp_path):
    (tmp_path / "odd").write_text("a b µ b a")
    models = []
    for name, text in (("all", "a b µ"), ("few", "a b b a")):
        tokenizer = tokenizer_class("chars").train([text])
        model = TextModel(Uniform(tokenizer.vocab_size), tokenizer, path=tmp_path / name)
        models.append(model)
    with pytest.raises(TextError, match=r"few: .*'µ'"):
        evaluate_texts(models, Reading([tmp_path / "odd"]))
    with pytest.raises(TextError) as alone:
        evaluate_texts(models[1:], Reading([tmp_path / "odd"]))
    assert not str(alone.value).startswith(str(tmp_path / "few"))


def test_of_a_text_that_is_too_short_the_model_is_named_for_whose_sake(tmp_path, corpora):
    (tmp_path / "short").write_text("a b")
    models = [model_of(fit("add-k", corpora.train, n, k=1.0), corpora) for n in (1, 4)]
    for model, name in zip(models, ("one", "four"), strict=True):
        model.path = tmp_path / name
    with pytest.raises(InputError, match="four predicts from token 3 on"):
        evaluate_texts(models, Reading([tmp_path / "short"]))


def _loaded(folder):
    from neuralgram.textmodel import load

    return load(folder)


def test_the_command_draws_writes_and_refuses(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat. the dog sat on the cat.\n" * 30)
    for order in (1, 3):
        with pytest.raises(SystemExit):
            main(
                [
                    "train",
                    "ngram",
                    str(text),
                    "--out",
                    str(tmp_path / f"o{order}"),
                    "--order",
                    str(order),
                    "--tokenizer",
                    "chars",
                ]
            )
    capsys.readouterr()
    arguments = ["eval", str(tmp_path / "o1"), str(tmp_path / "o3"), str(text)]
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--json", "--picture", str(tmp_path / "bars.png")])
    made = json.loads(capsys.readouterr().out)
    assert not stopped.value.code
    assert [record["path"][-2:] for record in made["models"]] == ["o3", "o1"]
    assert made["pictures"] == [str(tmp_path / "bars.png")]
    assert (tmp_path / "bars.png").read_bytes()[:4] == b"\x89PNG"
    assert {found["title"] for found in made["rankings"][0]["where"]} >= {"by frequency in training"}
    with pytest.raises(SystemExit):
        main([*arguments, "--markdown"])
    assert "| o3 |" in capsys.readouterr().out
    for wrong in (["--markdown", "--json"], ["--markdown", "--tokens"], ["--picture", "bars.svg"]):
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, *wrong])
        assert stopped.value.code == 2
        assert "expected" in capsys.readouterr().err
