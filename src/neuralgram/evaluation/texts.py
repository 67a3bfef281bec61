"""Several models on one text. Each reads it its own way; only those over one tokenizer and boundary are ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralgram.errors import InputError
from neuralgram.evaluation.compare import Ranked, rank
from neuralgram.evaluation.evaluate import evaluate, first_scored
from neuralgram.text.corpora import build_corpora
from neuralgram.text.windows import Corpus
from neuralgram.textmodel import TextModel

Warn = Callable[[str], None]


@dataclass(frozen=True)
class Reading:
    """Which text is scored and how its files are read.

    part   `train`, `valid` or `test`: only that part, by the split the model was trained with
    """

    texts: Sequence[str | Path]
    part: str | None = None
    field: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"


def evaluate_texts(models: Sequence[TextModel], reading: Reading) -> list[list[Ranked]]:
    """One ranking, best first, for each group of models that share tokenizer and boundary (and, with a part, split).

    Within a group a stream is scored from the largest window on, so that all score the same tokens.
    """
    groups: dict[tuple[Any, ...], list[TextModel]] = {}
    for model in models:
        groups.setdefault(_group(model, reading.part), []).append(model)
    rankings = []
    for members in groups.values():
        corpus = text_corpus(members[0], reading)
        first = None if members[0].boundary_id is not None else first_scored(members)
        rankings.append(rank([evaluate(m, corpus, path=str(m.path or m.model), first=first) for m in members]))
    return rankings


def text_corpus(model: TextModel, reading: Reading) -> Corpus:
    """The text as the model reads it: all of it, or one part of the split the model was trained with."""
    data = model.info.get("data", {})
    how: dict[str, Any] = {}
    if reading.part is not None:
        if not data.get("split"):
            raise InputError(
                f"--part {reading.part}: {model.path} was trained without a split of one text; "
                "give the text to score and leave --part out"
            )
        how = {"split": data["split"], "seed": data["seed"]}
    corpora = build_corpora(
        [str(text) for text in reading.texts],
        tokenizer=model.tokenizer,
        boundary=model.boundary,
        field=reading.field,
        encoding=reading.encoding,
        errors=reading.errors,
        **how,
    )
    if reading.part is None:
        return corpora.train
    trained, given = (facts["texts"]["train"]["sha256"] for facts in (data, corpora.info))
    if trained != given:
        raise InputError(
            f"--part {reading.part}: not the text {model.path} was trained on (SHA-256 {given[:12]}…, "
            f"expected {trained[:12]}…); give that text, or leave --part out"
        )
    return corpora.part(reading.part)


def _group(model: TextModel, part: str | None) -> tuple[Any, ...]:
    data = model.info.get("data", {})
    split = (data.get("split"), data.get("seed")) if part is not None else None
    return model.tokenizer.hash, model.boundary, split
