"""Several models on one text. Each reads it its own way; only those over one tokenizer and boundary are ranked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralgram.errors import InputError, NeuralgramError
from neuralgram.evaluation.compare import Ranked, rank
from neuralgram.evaluation.evaluate import evaluate, first_scored
from neuralgram.text.corpora import build_corpora
from neuralgram.text.staging import Documents
from neuralgram.text.store import blocks
from neuralgram.text.windows import Corpus
from neuralgram.textmodel import TextModel


@dataclass(frozen=True)
class Reading:
    """Which text is scored and how its files are read.

    part   `train`, `valid` or `test`: only that part, by the split the model was trained with
    ends   whether the ends of units are scored
    """

    texts: Sequence[str | Path]
    part: str | None = None
    field: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"
    ends: bool = True


@dataclass(frozen=True)
class TextPart:
    """What is scored: the ids, where the documents of a stream begin in them, and how else it might be read."""

    corpus: Corpus
    documents: Documents | None
    hint: str | None = None

    @property
    def key(self) -> str:
        """A digest of the ids: equal for parts that are the same tokens."""
        digest = hashlib.sha256()
        for block in blocks(self.corpus.ids):
            digest.update(block.astype("<i8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Ranking:
    """Models over the same tokens, best first, and the text they scored."""

    rows: list[Ranked]
    text: TextPart


def evaluate_texts(models: Sequence[TextModel], reading: Reading) -> list[Ranking]:
    """One ranking, best first, for each group of models that share tokenizer, boundary and the tokens scored.

    Within a group a stream is scored from the largest window on, so that all score the same tokens.
    """
    texts: dict[tuple[Any, ...], TextPart] = {}
    groups: dict[tuple[Any, ...], tuple[TextPart, list[TextModel]]] = {}
    for model in models:
        how = _how(model, reading.part)
        text = texts.get(how)
        if text is None:
            with _naming(model, models):
                text = texts[how] = text_part(model, reading)
        same = (model.tokenizer.hash, model.boundary, text.key)
        groups.setdefault(same, (text, []))[1].append(model)
    return [_ranking(members, text, reading.ends) for text, members in groups.values()]


def _ranking(models: Sequence[TextModel], text: TextPart, ends: bool) -> Ranking:
    first = None if models[0].boundary_id is not None else first_scored(models)
    widest = sorted(models, key=lambda model: -model.model.context)  # of a text that is too short, the first complains
    evaluations = [evaluate(m, text.corpus, path=str(m.path or m.model), first=first, ends=ends) for m in widest]
    return Ranking(rank(evaluations, documents=text.documents), text)


@contextmanager
def _naming(model: TextModel, models: Sequence[TextModel]) -> Iterator[None]:
    """Where several models are asked, an error says which of them cannot."""
    try:
        yield
    except NeuralgramError as error:
        if len(models) == 1 or str(model.path) in str(error):
            raise
        raise type(error)(f"{model.path or model.model}: {error}") from None


def text_part(model: TextModel, reading: Reading) -> TextPart:
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
    name = reading.part or "train"
    if reading.part is not None:
        trained, given = (facts["texts"]["train"]["sha256"] for facts in (data, corpora.info))
        if trained != given:
            raise InputError(
                f"--part {reading.part}: not the text {model.path} was trained on (SHA-256 {given[:12]}…, "
                f"expected {trained[:12]}…); give that text, or leave --part out"
            )
    return TextPart(corpora.part(name), corpora.documents.get(name), corpora.hint)


def _how(model: TextModel, part: str | None) -> tuple[Any, ...]:
    """What decides the tokens scored: with a part also the split, its seed and the text that was trained on."""
    data = model.info.get("data", {})
    split = (data.get("split"), data.get("seed"), str(data.get("texts"))) if part is not None else None
    return model.tokenizer.hash, model.boundary, split
