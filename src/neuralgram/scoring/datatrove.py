"""A step of datatrove's pipelines (extra `[datatrove]`): documents that a model finds likely enough go on.

from neuralgram.scoring.datatrove import PerplexityFilter
pipeline = [JsonlReader("crawl/"), PerplexityFilter("runs/en", max_perplexity=400), JsonlWriter("kept/")]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.writers.disk_base import DiskWriter

from neuralgram.scoring.judging import Judge, Opened
from neuralgram.scoring.rules import Bounds


class PerplexityFilter(BaseFilter):  # type: ignore[misc]  # datatrove has no types
    """Keeps documents whose perplexity under `model` lies within bounds, and tells it in their metadata.

    The model is loaded by each worker when its first batch comes.
    """

    name = "🧠 neuralgram perplexity"

    def __init__(
        self,
        model: str,
        *,
        max_perplexity: float = math.inf,
        min_perplexity: float = 0.0,
        exclusion_writer: DiskWriter | None = None,
        batch_size: int = 512,
    ) -> None:
        super().__init__(exclusion_writer, batch_size)
        self.judge, self.rule = Judge(model), Bounds(min_perplexity, max_perplexity)
        self._opened: Opened | None = None

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """The verdict on one document."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: Sequence[Document]) -> list[bool | tuple[bool, str]]:
        """The verdicts on many, scored at once."""
        self._opened = self._opened or self.judge.open()
        found: list[bool | tuple[bool, str]] = []
        for doc, scored in zip(batch, self._opened.scores([doc.text for doc in batch]), strict=True):
            doc.metadata["perplexity"] = scored.perplexity
            verdict = self.rule(scored.perplexity)
            short = "above" if scored.perplexity > self.rule.high else "below"
            found.append(True if verdict.kept else (False, f"perplexity_{short}"))
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Without the loaded model, which each worker loads for itself."""
        return {**self.__dict__, "_opened": None}
