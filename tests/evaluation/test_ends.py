"""What the ends of units cost, and every figure without them, against sums over the losses token by token."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

from neuralgram.errors import InputError
from neuralgram.evaluation.compare import groups_of
from neuralgram.evaluation.evaluate import evaluate
from neuralgram.evaluation.where import Breakdown, by_context
from neuralgram.ngram import fit
from neuralgram.text.strings import encode_units
from neuralgram.text.tokenizers import tokenizer_class
from neuralgram.textmodel import END, TextModel

WHERE = ["on the mat", "on the hill", "under the red roof of the house by the river"]
SENTENCES = [
    f"the {random.Random(i).choice(['cat', 'dog'])} slept {random.Random(i + 1).choice(WHERE)} in the evening ."
    for i in range(150)
]
TEXT = "\n".join(SENTENCES) + "\n\n"  # the last line is empty


def model(boundary: str, order: int = 3, name: str = "words") -> TextModel:
    tokenizer = tokenizer_class(name).train([TEXT])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small texts have discounts that fall back
        counts = fit("modified-kneser-ney", encode_units(tokenizer, boundary, [TEXT]), order)
    return TextModel(counts, tokenizer, boundary)


def test_sentences_scored_as_documents_pay_for_their_ends() -> None:
    """Read as one document, a text ends once; each sentence scored by itself then ends as rarely."""
    documents, lines = model("document"), model("line")
    sentence = SENTENCES[0]
    *words, end = documents.score(sentence)
    assert end.symbol == END
    assert end.nats > 5 > max(token.nats for token in words)
    assert documents.perplexity(sentence, ends=False) == pytest.approx(
        math.exp(sum(token.nats for token in words) / len(words))
    )
    assert documents.perplexity(sentence) > 1.3 * lines.perplexity(sentence)
    assert documents.perplexity(sentence, ends=False) < 1.1 * lines.perplexity(sentence, ends=False)


@pytest.mark.parametrize("boundary", ["stream", "line", "document"])
@pytest.mark.parametrize("name", ["words", "chars"])
def test_figures_with_and_without_ends(boundary: str, name: str) -> None:
    made = model(boundary, name=name)
    corpus, tokens = made.corpus(TEXT), made.score(TEXT)
    for ends in (True, False):
        e = evaluate(made, corpus, ends=ends)
        kept = [token for token in tokens if ends or token.symbol != END]
        assert e.losses.tolist() == [token.nats for token in kept]
        assert e.targets.tolist() == [token.id for token in kept]
        assert e.ends == sum(token.symbol == END for token in kept)
        assert e.ends_nats == pytest.approx(sum(token.nats for token in kept if token.symbol == END))
        told = e.to_json()
        assert told["perplexity"] == pytest.approx(math.exp(sum(token.nats for token in kept) / len(kept)))
        assert (told["ends"], told["ends_left_out"]) == (e.ends, not ends and boundary != "stream")
        if name == "chars":  # the end of a line is a byte, and one that is not scored is not counted
            size = sum(len(token.symbol.encode()) if token.symbol != END else boundary == "line" for token in kept)
            assert e.bytes == size


def test_units_keep_their_losses_together_without_their_ends() -> None:
    made = model("line")
    corpus = encode_units(made.tokenizer, "line", [TEXT])
    everything, words = evaluate(made, corpus), evaluate(made, corpus, ends=False)
    lengths = [len(sentence.split()) for sentence in SENTENCES]
    assert groups_of(everything).starts.tolist() == np.cumsum([0, *(n + 1 for n in lengths)]).tolist()
    assert groups_of(words).starts.tolist() == np.cumsum([0, *lengths[:-1]]).tolist()  # the empty line has none left
    assert groups_of(words).kind == "units"


def test_a_breakdown_without_ends_is_of_the_tokens_that_are_left() -> None:
    made = model("line")
    corpus = encode_units(made.tokenizer, "line", [TEXT])
    everything, words = (by_context([evaluate(made, corpus, ends=ends)], corpus) for ends in (True, False))
    assert isinstance(everything, Breakdown)
    assert isinstance(words, Breakdown)
    assert sum(words.tokens) == sum(everything.tokens) - len(SENTENCES) - 1
    losses = np.array([token.nats for token in made.score(TEXT) if token.symbol != END])
    total = sum(n * mean for n, mean in zip(words.tokens, words.nats[0], strict=True))
    assert total == pytest.approx(losses.sum())


def test_a_text_of_ends_alone_leaves_nothing_without_them() -> None:
    made = model("line")
    corpus = encode_units(made.tokenizer, "line", ["\n\n"])
    assert evaluate(made, corpus).ends == 2
    with pytest.raises(InputError, match="a text of 2 tokens, all of them ends of units: expected some to score"):
        evaluate(made, corpus, ends=False)
