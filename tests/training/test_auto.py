"""The plan for a text: complete, reasoned, and the user's word stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from neuralgram import NPLM
from neuralgram.errors import InputError
from neuralgram.neural.config import NPLMConfig
from neuralgram.settings import described
from neuralgram.text.windows import Corpus
from neuralgram.training.config import TrainConfig
from neuralgram.training.fit import fit
from neuralgram.training.jobs.plan import TextFacts, plan, plan_tokenizer

TEXTS = [
    TextFacts(300, 26, True, "stream"),
    TextFacts(2_000, 27, True, "document"),
    TextFacts(100_000, 65, True, "stream"),
    TextFacts(217_000, 27, True, "line", units=31_000),
    TextFacts(1_000_000, 65, True, "stream", validated=False),
    TextFacts(20_000_000, 256, True, "stream"),
    TextFacts(400, 16, False, "line", units=100),
    TextFacts(1_300_000, 8_193, False, "document"),
    TextFacts(800_000, 17_906, False, "stream"),
    TextFacts(250_000_000, 16_385, False, "document", units=10),
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text.tokens}-{text.boundary}")
def test_a_plan_is_complete_and_gives_its_reasons(text: TextFacts) -> None:
    made = plan(text)
    assert set(made.model) - {"head", "head_options"} == {"context", "d_emb", "d_hidden", "direct", "tie", "dropout"}
    assert made.model.get("head", "softmax") == ("sampled" if text.tokens > 5e7 else "softmax")
    settings = {**made.model, **made.training.to_json()}
    for name in ("tie", "direct", "dropout", "batch_size", "optimizer", "lr", "weight_decay", "precision"):
        assert len(made.reasons[name]) > 3
        assert settings[name] is not None
    assert (made.training.patience is None) == (not text.validated)
    assert (made.training.boundary_rate > 0) == (text.boundary == "document")
    assert made.training.batch_size <= text.tokens // 8
    NPLM(min(text.vocab_size, 50), **made.model)  # every plan is a model


def test_validations_together_read_a_tenth_of_what_training_reads() -> None:
    text = TextFacts(800_000, 17_906, False, "stream")
    assert plan(text, {"epochs": 10}).training.valid_tokens == 40_000
    assert plan(text, {"steps": 1000, "batch_size": 512}).training.valid_tokens == 20_000
    assert plan(text, {"valid_tokens": 77}).training.valid_tokens == 77


def test_a_larger_text_gets_fewer_passes_and_less_restraint() -> None:
    for characters in (True, False):
        plans = [plan(TextFacts(n, 300, characters, "stream")) for n in (10**4, 10**5, 10**6, 10**7)]
        for name in ("dropout",):
            values = [made.model[name] for made in plans]
            assert values == sorted(values, reverse=True)
        for name in ("epochs", "weight_decay"):
            values = [getattr(made.training, name) for made in plans]
            assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    "given",
    [
        {"context": 3, "lr": 0.5, "seed": 9, "clip": 2.0},
        {"steps": 77},
        {"max_time": 5.0},
        {"d_hidden": 0},
        {"direct": True},
        {"optimizer": "sgd", "patience": 9, "threads": 2},
        {"activation": "relu", "head": "softmax", "epochs": None},
    ],
)
def test_what_is_asked_for_stands(given: dict[str, Any]) -> None:
    made = plan(TextFacts(100_000, 65, True, "stream"), given)
    settings = {**made.model, **made.training.to_json()}
    for name, value in given.items():
        if value is not None:
            assert settings[name] == value
            assert made.reasons[name] == "as asked"
    assert sum(settings[name] is not None for name in ("steps", "epochs", "max_time")) == 1
    NPLM.of({"vocab": 65, **made.model})


def test_a_wrong_wish_is_refused() -> None:
    with pytest.raises(InputError, match="exactly one of steps, epochs, max_time"):
        plan(TEXTS[2], {"steps": 5, "epochs": 2})


@pytest.mark.parametrize(
    ("characters", "boundary", "units", "expected"),
    [
        (228_000, "line", 32_000, ["chars"]),
        (20_000_000, "line", 2_000_000, ["chars"]),
        (100_000, "document", 1, ["chars"]),
        (5_000_000, "document", 1, ["bpe", 8192]),
        (5_000_000, "line", 50_000, ["bpe", 8192]),
        (10**9, "document", 1000, ["bpe", 16384]),
    ],
)
def test_the_tokenizer_suits_the_text(characters: int, boundary: str, units: int, expected: list[Any]) -> None:
    made = plan_tokenizer(characters, boundary, units)
    assert [choice.value for choice in made.values()] == expected
    assert list(made) == ["tokenizer", "vocab_size"][: len(expected)]
    assert all(choice.reason for choice in made.values())


def test_a_planned_run_on_a_tiny_text_beats_the_frequencies_of_its_tokens() -> None:
    ids = np.tile([0, 1, 2, 3, 4, 5, 6, 7], 60)
    made = plan(TextFacts(400, 8, True, "stream"), {"epochs": 20, "threads": 1})
    model = NPLM(8, **made.model)
    result = fit(model, Corpus(ids[:400], 8), Corpus(ids[400:], 8), made.training)
    assert result.best_perplexity is not None
    assert result.best_perplexity < 2  # knowing frequencies alone leaves 8


def test_what_is_marked_as_chosen_is_chosen_for_some_text_and_nothing_else_is() -> None:
    marked = {one.name for owner in (NPLMConfig, TrainConfig) for one in described(owner) if one.about.auto}
    chosen = {name for text in TEXTS for name in plan(text).reasons}
    assert chosen == marked - {"threads", "eval_every"}  # the machine is timed for one, the other is the run's
