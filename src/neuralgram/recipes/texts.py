"""The texts of a recipe: built as its TOML says, or split by files, whole, every so many of them held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.errors import TextError
from neuralgram.text.corpora import Corpora, build_corpora
from neuralgram.text.sources import Document, Source
from neuralgram.text.staging import Documents
from neuralgram.text.windows import Corpus

QUICK = 40  # of the text, one part in so many is used by a quick run


def build(data: Path | None, how: Mapping[str, Any], *, quick: bool = False) -> Corpora:
    """The corpora `how` describes; without a file, of the embedded sample `sample` that it names."""
    settings = dict(how)
    every = settings.pop("every", None)
    sources = _sample(settings.pop("sample", None), quick) if data is None else [data]
    settings.pop("sample", None)
    if every is not None:
        corpora = held_out_files(build_corpora(sources, **settings), every)
    else:
        corpora = build_corpora(sources, **settings)
    return _cut(corpora) if quick and data is not None and corpora.boundary == "stream" else corpora


def held_out_files(whole: Corpora, every: int) -> Corpora:
    """Of a stream of files, every `every`-th is test, those half way between them validation, the rest training."""
    documents = whole.documents.get("train")
    if documents is None or len(documents.names) < every:
        raise TextError(f"a split by files with every {every}th held out: expected a stream of at least {every} files")
    number = np.arange(len(documents.names)) % every
    chosen = {"train": ~np.isin(number, (every - 1, (every - 1) // 2)), "valid": number == (every - 1) // 2}
    chosen["test"] = number == every - 1
    parts = {name: _gathered(whole.train, documents, files) for name, files in chosen.items()}
    return replace(
        whole,
        train=parts["train"][0],
        valid=parts["valid"][0],
        test=parts["test"][0],
        info={**whole.info, "split": f"every {every}th file"},
        documents={name: places for name, (_, places) in parts.items()},
    )


def _gathered(
    corpus: Corpus, documents: Documents, files: np.ndarray[Any, np.dtype[np.bool_]]
) -> tuple[Corpus, Documents]:
    stops = np.append(documents.starts[1:], len(corpus))
    kept = np.flatnonzero(files)
    stretches = [corpus.ids[documents.starts[i] : stops[i]] for i in kept]
    starts = np.cumsum([0, *(len(ids) for ids in stretches[:-1])]).astype(np.int64)
    made = Corpus(np.concatenate(stretches), corpus.vocab_size, corpus.boundary)
    return made, Documents(tuple(documents.names[i] for i in kept), starts)


def _cut(corpora: Corpora) -> Corpora:
    """The first fortieth of each part, for a look at the machinery."""
    parts: dict[str, Any] = {}
    for name in ("train", "valid", "test"):
        part: Corpus | None = getattr(corpora, name)
        size = 0 if part is None else max(min(len(part), 1000), len(part) // QUICK)
        parts[name] = None if part is None else Corpus(part.ids[:size], part.vocab_size, part.boundary)
    kept = {
        name: places.within(0, len(part))
        for name, places in corpora.documents.items()
        if (part := parts.get(name)) is not None
    }
    return replace(corpora, documents=kept, **parts)


def _sample(name: str | None, quick: bool) -> list[Source]:
    """The embedded tales, 100 000 words of them."""
    from neuralgram.text.samples import tales

    if name != "tales":
        raise TextError(f"sample {name!r}: expected tales, or a file given with --data")
    return [Document("tales", tales(2000 if quick else 100_000))]
