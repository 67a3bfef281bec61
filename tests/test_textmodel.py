"""Strings in, strings out: what is scored, where it stands, and how prompts and ends are read."""

import math

import numpy as np
import pytest

import neuralgram as ng
from neuralgram import InputError, Sampling
from neuralgram.ngram import estimator
from neuralgram.text.strings import encode_units
from neuralgram.text.tokenizers import Bytes, tokenizer_class
from neuralgram.textmodel import END, TextModel

TEXT = "the cat sat\non the mat\n\nthe end\n"
BOUNDARIES = ["stream", "line", "document"]


def model(name="chars", boundary="document", order=3, text=TEXT, **options):
    tokenizer = Bytes() if name == "bytes" else tokenizer_class(name).train([text], **options)
    corpus = encode_units(tokenizer, boundary, [text])
    return TextModel(estimator("add-k").fit(corpus, order=order, k=0.1), tokenizer, boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("name", ["chars", "words", "bytes"])
@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip("\n"), "\n\n", "the", "the cat\r\nsat\rthe end"])
def test_token_by_token_is_the_whole(boundary, name, text):
    m = model(name, boundary)
    if name == "bytes" and "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    corpus = m.corpus(text)
    if boundary == "stream" and len(corpus) <= m.model.context:
        return
    scores = m.score(text)
    assert [s.id for s in scores] == corpus.ids[len(corpus) - len(scores) :].tolist()
    assert sum(s.nats for s in scores) == pytest.approx(m.model.score(corpus.windows(2)).sum())
    assert m.perplexity(text) == pytest.approx(math.exp(sum(s.nats for s in scores) / len(scores)))


def test_offsets_point_into_the_text_given():
    text = "the cat\r\nsat on"
    for score in model("words", "line").score(text):
        assert text[score.start : score.end] == ("" if score.symbol == END else score.symbol)
    chars = model("chars", "document").score(text)
    assert [text[s.start : s.start + 1] for s in chars[:-1]] == list(text.replace("\n", ""))


def test_every_token_of_every_unit_is_predicted_however_short():
    m = model("chars", "line", order=5)
    assert [s.symbol for s in m.score("a\n\nat")] == ["a", END, END, "a", "t", END]


def test_a_stream_predicts_from_its_first_full_window():
    m = model("chars", "stream", order=4)
    assert len(m.score("the cat")) == len("the cat") - 3
    with pytest.raises(InputError, match="3 tokens leaves nothing to score"):
        m.perplexity("the")


def test_prompts_are_padded_only_where_there_is_a_boundary():
    assert model("chars", "document").window("").tolist() == [model().boundary_id] * 2
    m = model("chars", "line")
    assert m.window("the end\nca").tolist() == m.window("ca").tolist()
    with pytest.raises(InputError, match=r"prompt of 1 tokens.*windows of 2"):
        model("chars", "stream").window("t")


def test_the_end_is_never_printed_and_nothing_comes_after_it():
    m = model("words", "line")
    texts = {"".join(m.generate("the", 50, seed=seed)) for seed in range(20)}
    assert not any(END in text or "\n" in text for text in texts)
    lengths = {len(list(m.ids("the", 50, seed=seed))) for seed in range(20)}
    assert min(lengths) < 50  # some end by themselves


def test_generation_is_a_function_of_the_seed_and_pieces_join_to_the_text():
    m = model("bytes", "document", text="näive café " * 20, order=4)
    once, again = (list(m.generate("né", 60, seed=4)) for _ in range(2))
    assert once == again
    assert "".join(once) == m.tokenizer.decode(list(m.ids("né", 60, seed=4)))


def test_words_are_parted_from_the_prompt():
    m = model("words", "stream", order=2, text="a b a b a b a b")
    assert "".join(m.generate("a", 3, sampling=Sampling(0))) == " b a b"


def test_the_unknown_symbol_can_be_left_out():
    m = model("words", "stream", order=2, text="a b c a b d a b e", min_count=2)
    assert m.tokenizer.unknown is not None
    everything = list(m.ids("a b", 200, seed=1))
    assert m.tokenizer.unknown in everything
    assert m.tokenizer.unknown not in list(m.ids("a b", 200, seed=1, unknown=False))


def test_predictions_are_probabilities_best_first():
    m = model("chars", "document")
    candidates = m.predict("th", 1000)
    assert len(candidates) == m.model.vocab_size
    assert sum(c.probability for c in candidates) == pytest.approx(1)
    assert candidates[0].symbol == "e"
    assert candidates == sorted(candidates, key=lambda c: (-c.probability, c.id))
    for wrong in (0, -1):
        with pytest.raises(InputError, match=f"k = {wrong}"):
            m.predict("th", wrong)


def test_a_temperature_beside_sampling_is_refused_not_ignored():
    m = model("chars", "document")
    with pytest.raises(InputError, match=r"temperature 0\.5 beside sampling"):
        m.generate("th", 3, 0.5, sampling=Sampling(top_k=2))
    assert "".join(m.generate("th", 9, sampling=Sampling(0.5))) == "".join(m.generate("th", 9, 0.5))


def test_what_would_be_drawn_is_what_is_shown():
    m = model("chars", "document")
    shown = m.weights("th", Sampling(0.5))
    raw = np.exp(m.model.log_probs(m.window("th")[None])[0])
    assert shown == pytest.approx(raw**2 / (raw**2).sum())


def test_a_tokenizer_of_another_vocabulary_is_refused():
    good = model("chars", "stream")
    with pytest.raises(InputError, match="boundary 'line' makes"):
        TextModel(good.model, good.tokenizer, "line")
    with pytest.raises(InputError, match="boundary 'verse'"):
        TextModel(good.model, good.tokenizer, "verse")


def test_saving_keeps_strings_and_boundary(tmp_path):
    m = model("words", "line")
    m.save(tmp_path)
    again = ng.load(tmp_path)
    assert again.boundary == "line"
    assert again.perplexity(TEXT) == m.perplexity(TEXT)
