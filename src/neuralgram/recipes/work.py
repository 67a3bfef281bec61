"""The folder and the texts a recipe works with: what is finished is kept, row by row, and used again; a killed run
goes on.

rows/NAME.json            what a row gave on training and validation; written last, so a row is done or not
losses/NAME-PART.npy      −log P of every scored token, float64
models/NAME/              the model
test/NAME.json            the test part, scored when all rows are done
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.files import write_atomic
from neuralgram.recipes.rows import Recipe, Row
from neuralgram.text.corpora import Corpora, build_corpora
from neuralgram.text.sources import Document, Source
from neuralgram.text.staging import Documents
from neuralgram.text.windows import Corpus, Windows, token_frequencies

Floats = NDArray[np.float64]
QUICK = 40  # of the text, one part in so many is used by a quick run


class Work:
    """One recipe, its data and its folder.

    quick   a fortieth of the text and short training: to see the machinery work; its figures mean nothing
    say     called with a line for a person
    """

    def __init__(
        self, recipe: Recipe, data: Path | None, out: Path, *, quick: bool = False, say: Callable[[str], None] = print
    ) -> None:
        if data is not None and not data.exists():
            raise InputError(f"--data {data}: no such file; expected {recipe.file}")
        if data is None and recipe.file:
            raise InputError(f"recipe {recipe.name} needs its text: give {recipe.file} with --data")
        if out.exists() and not out.is_dir():
            raise InputError(f"--out {out}: is a file; expected a folder, or a name that is free")
        self.recipe, self.data, self.out, self.quick, self.say = recipe, data, out, quick, say
        self._corpora: dict[str, Corpora] = {}

    @cached_property
    def data_hash(self) -> str:
        """SHA-256 of the data file; of nothing where the text is embedded."""
        digest = hashlib.sha256()
        if self.data is not None:
            with self.data.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()

    def corpora(self, row: Row) -> Corpora:
        """The text of a row."""
        if row.text not in self._corpora:
            self._corpora[row.text] = build_text(self.data, self.recipe.texts[row.text], quick=self.quick)
        return self._corpora[row.text]

    def windows(self, corpus: Corpus, context: int) -> Windows:
        """What is scored of a part: the same tokens for every row."""
        return corpus.windows(context, max(self.recipe.first, context) if corpus.boundary is None else None)

    def targets(self, row: Row, part: str) -> NDArray[np.int64]:
        """The scored tokens of a part."""
        corpus = self.corpora(row).part(part)
        first = self.recipe.first if corpus.boundary is None else 0
        return np.asarray(corpus.ids[first:]).astype(np.int64)

    def fingerprint(self, row: Row) -> str:
        """A digest of all that decides a row: its settings, its text, and those of its parts."""
        told = {
            "row": {"kind": row.kind, "settings": row.settings},
            "text": self.text_fingerprint(row),
            "first": self.recipe.first,
            "parts": [self.fingerprint(self.recipe.row(part)) for part in row.settings.get("parts", ())],
        }
        return _digest(told)

    def text_fingerprint(self, row: Row) -> str:
        """A digest of a row's text and how it is read and split."""
        return _digest({"text": self.recipe.texts[row.text], "data": self.data_hash, "quick": self.quick})

    # ---- what is kept ----

    def finished(self, row: Row) -> dict[str, Any] | None:
        """What a finished row gave, or None: not finished, or made of other settings or text."""
        return self._read("rows", row)

    def finish(self, row: Row, result: Mapping[str, Any]) -> dict[str, Any]:
        """Keep what a row gave; it is finished now."""
        return self._write("rows", row, result)

    def tested(self, row: Row) -> dict[str, Any] | None:
        """What a row gave on the test part, if it was scored."""
        return self._read("test", row)

    def test(self, row: Row, result: Mapping[str, Any]) -> dict[str, Any]:
        """Keep what a row gave on the test part."""
        return self._write("test", row, result)

    def model_folder(self, row: Row) -> Path:
        """Where a row's model is."""
        return self.out / "models" / row.name

    def losses(self, row: Row, part: str, make: Callable[[], Floats]) -> Floats:
        """The losses of a part's scored tokens, made once."""
        path = self.out / "losses" / f"{row.name}-{part}-{self.fingerprint(row)[:12]}.npy"
        if path.exists():
            kept: Floats = np.load(path)
            return kept
        made = make()
        save_array(path, made)
        return made

    def figures(self, row: Row, part: str, losses: Floats) -> dict[str, Any]:
        """Perplexity over all scored tokens, over known ones, and over those whose type occurs in training."""
        corpora, targets = self.corpora(row), self.targets(row, part)
        frequencies = token_frequencies(corpora.train)
        unknown = corpora.tokenizer.unknown
        seen = frequencies[targets] > 0
        known = targets != (-1 if unknown is None else unknown)
        unseen = losses[~seen]
        return {
            "tokens": len(losses),
            "nats": float(losses.mean()),
            "perplexity": float(np.exp(losses.mean())),
            "known": float(np.exp(losses[known].mean())),
            "seen": float(np.exp(losses[seen].mean())),
            "unseen_tokens": len(unseen),
            "unseen_nats": float(unseen.mean()) if len(unseen) else None,
        }

    def _read(self, kind: str, row: Row) -> dict[str, Any] | None:
        path = self.out / kind / f"{row.name}.json"
        if not path.exists():
            return None
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return result if result.get("fingerprint") == self.fingerprint(row) else None

    def _write(self, kind: str, row: Row, result: Mapping[str, Any]) -> dict[str, Any]:
        made = {"name": row.name, **result, "fingerprint": self.fingerprint(row), "row": asdict(row)}
        data = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
        write_atomic(self.out / kind / f"{row.name}.json", data.encode())
        return made


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write a .npy file that is there whole or not at all."""
    buffer = BytesIO()
    np.save(buffer, array)
    write_atomic(path, buffer.getvalue())


def _digest(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def build_text(data: Path | None, how: Mapping[str, Any], *, quick: bool = False) -> Corpora:
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
