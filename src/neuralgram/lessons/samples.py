"""The embedded texts as ids, for the lessons that train on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuralgram.text.windows import Corpus

if TYPE_CHECKING:
    from neuralgram.text.tokenizers import Tokenizer


class Sample(NamedTuple):
    """An embedded text as ids."""

    tokenizer: Tokenizer
    train: Corpus
    held_out: Corpus | None

    def ids(self, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """A text as ids [T]."""
        return np.asarray(self.tokenizer.encode(text)).astype(np.int64)


def sample_of(name: str) -> Sample:
    """`animals`, by words, all of it; or `story`, by characters, its last fifth held out."""
    from neuralgram.text.corpora import build_corpora
    from neuralgram.text.samples import animals, story
    from neuralgram.text.sources import text_document

    if name == "animals":
        made = build_corpora([text_document(animals(), name)], tokenizer="words", boundary="stream", vocab_from="all")
        return Sample(made.tokenizer, made.part("train"), None)
    made = build_corpora(
        [text_document(story(), name)], tokenizer="chars", boundary="stream", split="0.8,0.2", vocab_from="all"
    )
    return Sample(made.tokenizer, made.part("train"), made.part("valid"))
