"""Many texts at once are each as if alone: every kind of model, tokenizer and boundary, whatever the batches are."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralgram import InputError, TextError, TextModel, ngram, textmodel
from neuralgram.families import ESTIMATORS, TOKENIZERS
from neuralgram.mixture import Mixture, Uniform
from neuralgram.text.strings import encode_texts, encode_units, place_text
from neuralgram.text.tokenizers import tokenizer_class

TEXT = "the cat sat\non the mat\n\nthe end of a tale\nthe cat ate\n" * 3
TEXTS = ["the cat", "", "a\n\nmat\n", "sat on the mat\n", "\n", "the end of a tale", "t", "ate the\r\ncat\r"]
BOUNDARIES = ["stream", "line", "document"]
KINDS = ["network", *ESTIMATORS, "mixture", "uniform"]


@cache
def model(kind: str, boundary: str, name: str = "chars") -> TextModel:
    options = {"bpe": {"vocab_size": 262}, "words": {"unknown": True}, "chars": {"unknown": True}}
    tokenizer = tokenizer_class(name).train([TEXT], **options.get(name, {}))
    corpus = encode_units(tokenizer, boundary, [TEXT])
    made = {
        "network": lambda: _network(corpus.vocab_size),
        "uniform": lambda: Uniform(corpus.vocab_size),
        "mixture": lambda: Mixture([_network(corpus.vocab_size), ngram.fit("kneser-ney", corpus, 2)], [0.3, 0.7]),
    }
    if kind in made:
        return TextModel(made[kind](), tokenizer, boundary)
    how = {"valid": corpus} if kind == "deleted-interpolation" else {"k": 0.1} if kind == "add-k" else {}
    return TextModel(ngram.fit(kind, corpus, 3, **how), tokenizer, boundary)


def _network(vocab_size: int):  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    from neuralgram import NPLM

    net = NPLM(vocab_size, 3, 4, 5)
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.5, generator=torch.Generator().manual_seed(p.numel()))
    return net


@pytest.mark.filterwarnings("ignore")  # small texts have discounts that fall back, which warns
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_batch_of_texts_is_its_texts_one_by_one(
    kind: str, boundary: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model(kind, boundary)
    alone = [made.score(text) for text in TEXTS]
    assert any(len(tokens) > 0 for tokens in alone)
    monkeypatch.setattr(made.model, "score_batch", size)
    monkeypatch.setattr(textmodel, "_BLOCK", 5 * size)
    together, arrays = made.score_texts(TEXTS), made.scores(iter(TEXTS))
    assert arrays.tokens.tolist() == [len(tokens) for tokens in alone]
    for one, many, array in zip(alone, together, arrays, strict=True):
        assert [token[:4] for token in many] == [token[:4] for token in one]
        assert array.ids.tolist() == [token.id for token in one]
        nats = [token.nats for token in one]
        for found in ([token.nats for token in many], array.nats):
            assert found == pytest.approx(nats, rel=2e-6, abs=1e-12, nan_ok=True)
        assert array.totals[0] == pytest.approx(sum(nats), rel=2e-6, nan_ok=True)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_each_token_is_predicted_from_its_own_text_alone(boundary: str) -> None:
    made = model("network", boundary)
    for text, scores in zip(TEXTS, made.scores(TEXTS), strict=True):
        ids = encode_units(made.tokenizer, boundary, [text]).ids.tolist()
        end, c = made.boundary_id, made.model.context
        expected, window = [], [end] * c
        for i, token in enumerate(ids):
            if end is not None or i >= c:
                given_ = window[-c:] if end is not None else ids[i - c : i]
                expected.append(-made.model.log_probs([given_])[0][token])
            window = [end] * c if token == end else [*window, token]
        assert scores.nats == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.text("ab \n\r\té\ufeff", max_size=8), max_size=5))
def test_strings_are_read_as_files_of_that_text(name: str, boundary: str, texts: list[str]) -> None:
    tokenizer = model("uniform", boundary, name).tokenizer
    ids, starts = encode_texts(tokenizer, boundary, texts)
    assert len(starts) == len(texts) + 1
    for i, text in enumerate(texts):
        own = ids[starts[i] : starts[i + 1]].tolist()
        placed, spans = place_text(tokenizer, boundary, text)
        assert own == encode_units(tokenizer, boundary, [text]).ids.tolist() == placed.tolist()
        assert ((spans >= 0) & (spans <= len(text))).all()
        for token, (start, stop) in zip(placed.tolist(), spans.tolist(), strict=True):
            if token == tokenizer.vocab_size:
                assert start == stop
            elif name == "chars" and token != tokenizer.unknown:
                assert text[start:stop].replace("\r\n", "\n").replace("\r", "\n") == tokenizer.symbol(token)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_counts_of_each_text(name: str, boundary: str) -> None:
    made = model("uniform", boundary, name)
    texts = ["the cat", "", "tö\nat\n", "naïve zebra"]
    scores = made.scores(texts)
    for i, text in enumerate(texts):
        ids = encode_units(made.tokenizer, boundary, [text]).ids.tolist()
        assert scores.tokens[i] == len(ids)
        assert scores.ends[i] == ids.count(made.boundary_id)
        assert scores.unknown[i] == ids.count(made.tokenizer.unknown)
        known = name in ("bytes", "bpe") or (name == "chars" and not scores.unknown[i])
        closed = text and boundary == "line" and not text.endswith("\n")  # a line's end is a byte
        assert scores.bytes[i] == (len(text.encode()) + bool(closed) if known else -1)
        if ids:
            assert scores.perplexity[i] == pytest.approx(made.model.vocab_size)
            assert scores[i].perplexity[0] == scores.perplexity[i]
        bits = len(ids) * math.log2(made.model.vocab_size) / scores.bytes[i] if ids and known and text else math.nan
        assert scores.bits_per_byte[i] == pytest.approx(bits, nan_ok=True)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_ends_can_be_left_out(boundary: str) -> None:
    made = model("network", boundary)
    everything, words = made.scores(TEXTS), made.scores(TEXTS, ends=False)
    kept = everything.ids != (-1 if made.boundary_id is None else made.boundary_id)
    assert words.ids.tolist() == everything.ids[kept].tolist()
    assert words.nats.tolist() == everything.nats[kept].tolist()
    assert words.tokens.tolist() == (everything.tokens - everything.ends).tolist()
    assert words.ends.sum() == 0
    for i, text in enumerate(TEXTS):
        assert [token.id for token in made.score(text, ends=False)] == words[i].ids.tolist()
        if words.tokens[i]:
            assert made.perplexity(text, ends=False) == pytest.approx(words.perplexity[i], rel=1e-6)


def test_joined_blocks_are_the_whole() -> None:
    made = model("uniform", "line")
    assert len(made.scores([])) == 0
    assert made.scores([]).perplexity.tolist() == []
    assert len(made.scores(["", ""])) == 2
    with pytest.raises(IndexError):
        made.scores(["a"])[1]
    assert made.scores(TEXTS)[-1].ids.tolist() == made.scores(TEXTS[-1:]).ids.tolist()


def test_an_unreadable_text_is_named_by_its_place() -> None:
    tokenizer = tokenizer_class("chars").train([TEXT])
    for boundary in BOUNDARIES:
        made = TextModel(Uniform(tokenizer.vocab_size + (boundary != "stream")), tokenizer, boundary)
        with pytest.raises(TextError, match=r"'ж' at character 2 of texts\[1\] is not among"):
            made.scores(["the", "a ж"])
        with pytest.raises(TextError, match=r"'ж' at character 4 of the text is not among"):
            made.scores(["a\nt ж"])


def test_memory_is_that_of_a_block() -> None:
    made = model("uniform", "line")

    def texts() -> Iterator[str]:
        for _ in range(40):
            yield from ["the cat sat on the mat " * 4] * 1000

    list(made.score_blocks(list(texts())[:4000]))
    tracemalloc.start()
    found = sum(int(block.tokens.sum()) for block in made.score_blocks(texts()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == 40_000 * (4 * 23 + 1)
    assert peak < 60 * textmodel._BLOCK  # about 60 bytes a character of one block, of 3 680 000 characters


def test_nothing_to_score_is_said() -> None:
    with pytest.raises(InputError, match="1 tokens leaves nothing to score"):
        model("network", "stream").perplexity("t")
    with pytest.raises(InputError, match="0 tokens leaves nothing to score: it has no line"):
        model("network", "line").perplexity("")
    assert np.isnan(model("network", "line").scores([""]).perplexity[0])
