"""The embedded samples have the figures the lessons rest on."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from neuralgram.errors import InputError
from neuralgram.text.corpora import build_corpora
from neuralgram.text.samples import SAMPLES, animals, story, tale_text, tales
from neuralgram.text.sources import text_document


def add_k_perplexity(text: str, n: int, k: float, part: float) -> float:
    """Held-out perplexity per character of P(w | h) = (c(hw) + k) / (c(h) + kV), learned on the first `part`."""
    V, cut = len(set(text)), int(len(text) * part)
    known = text[:cut]
    grams = Counter(known[i : i + n] for i in range(len(known) - n + 1))
    contexts = Counter(known[i : i + n - 1] for i in range(len(known) - n + 2))
    held = range(cut + n - 1, len(text))
    nats = [-math.log((grams[text[i - n + 1 : i + 1]] + k) / (contexts[text[i - n + 1 : i]] + k * V)) for i in held]
    return math.exp(sum(nats) / len(nats))


def test_the_animals_are_sixteen_words() -> None:
    corpora = build_corpora([text_document(animals())], tokenizer="words", boundary="stream")
    assert (corpora.vocab_size, corpora.tokenizer.unknown) == (16, None)
    assert len(corpora.train) == len(animals().split())


def test_what_the_animals_eat() -> None:
    words = animals().split()
    eaten = [(words[i - 1], words[i + 2]) for i in range(1, len(words) - 2) if words[i : i + 2] == ["ate", "the"]]
    share = Counter(food for _, food in eaten)
    assert (share["fish"] + share["meat"]) / len(eaten) == pytest.approx(0.6, abs=0.01)
    eaters = {animal for animal, _ in eaten}
    assert eaters == {"cat", "dog", "fox", "cow", "goat"}
    assert {animal for animal, food in eaten if food in ("fish", "meat")} == {"cat", "dog", "fox"}
    does = Counter(pairwise(words))
    assert {animal for animal in (*eaters, "sheep") if does[animal, "grazed"]} == {"cow", "goat", "sheep"}
    assert {animal for animal in (*eaters, "sheep") if does[animal, "hunted"]} == {"cat", "dog", "fox"}
    assert does["sheep", "ate"] == 0


def test_the_story_has_26_characters() -> None:
    text = story()
    assert (len(set(text)), text[0], text[-2:]) == (26, "a", ".\n")
    assert len(text.split()) == pytest.approx(435, abs=10)
    corpora = build_corpora([text_document(text)], tokenizer="chars", boundary="stream", split="0.8,0.2")
    assert (corpora.vocab_size, corpora.tokenizer.unknown) == (26, None)


def test_the_best_add_k_model_of_the_story_is_a_short_one() -> None:
    found = {
        (n, k): add_k_perplexity(story(), n, k, 0.8) for n in range(1, 7) for k in (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
    }
    n, k = min(found, key=lambda pair: found[pair])
    assert found[n, k] == pytest.approx(5.1, abs=0.1)
    assert (n in (3, 4), k) == (True, 0.03)


def test_tales_have_a_length_and_one_text_a_seed() -> None:
    for words in (1, 60, 5000):
        text = tale_text(words)
        assert text.endswith("\n")
        assert len(text.split()) >= words
        assert len(text.split()) - len(text.split("\n")[-2].split()) < words
        assert tale_text(20_000).startswith(text)
    assert tale_text(100, seed=1) != tale_text(100)
    assert max(map(len, tales(100_000))) < 1 << 18
    with pytest.raises(InputError, match="0 words of tales: expected at least 1"):
        next(tales(0))


def test_tales_are_the_same_everywhere() -> None:
    program = (
        "import hashlib; from neuralgram.text.samples import *\n"
        "for text in (tale_text(2000), animals()): print(hashlib.sha256(text.encode()).hexdigest())"
    )
    ours = [hashlib.sha256(text.encode()).hexdigest() for text in (tale_text(2000), animals())]
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ours
    assert ours[0].startswith("a5035909ea6c030d")


def test_longer_contexts_predict_the_tales_better() -> None:
    text = tale_text(40_000)
    bigram, fourgram, sixgram = (add_k_perplexity(text, n, 0.01, 0.9) for n in (2, 4, 6))
    assert 7 < bigram < 9
    assert 1.7 < fourgram < 2.1
    assert sixgram < 0.85 * fourgram


def test_samples_are_found_by_name() -> None:
    assert SAMPLES["animals"]() == animals()
    assert SAMPLES["story"]() == story()
    assert SAMPLES["tales"](words=10) == tale_text(10)


def test_reading_text_needs_no_heavy_library() -> None:
    program = (
        "import sys; import neuralgram.text.corpora, neuralgram.text.samples, neuralgram.text.scores\n"
        "print(sorted({'tokenizers', 'zstandard', 'torch', 'rich'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
