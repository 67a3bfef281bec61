"""What judges units: models by their paths, loaded in every worker, and the scores they give to texts."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from neuralgram.errors import TextError
from neuralgram.lm import LanguageModel
from neuralgram.scoring.pipeline import Fault
from neuralgram.scoring.rules import Floats
from neuralgram.scoring.units import LONGEST, Block, Broken, Form, Scored, Source, body
from neuralgram.textmodel import TextModel

_EXACT = 32  # tokens of a block whose log Z is worked out


@dataclass(frozen=True)
class Judge:
    """What scores units in every worker: a model by its path, and what is said of each unit.

    reference     a second model: values are differences to it
    unnormalized  scores without the sum over the vocabulary
    end           whether the end of each unit is scored
    """

    model: str
    form: Form = field(default_factory=Form)
    reference: str | None = None
    unnormalized: bool = False
    end: bool = True
    per_token: bool = False
    prefix: str = ""
    threads: int | None = 1

    def open(self) -> Opened:
        """The models loaded; on `threads` threads."""
        return Opened(self)


class Opened:
    """A judge with its models in memory."""

    def __init__(self, judge: Judge) -> None:
        from neuralgram.textmodel import load

        self.judge = judge
        self.exact = self.model = load(judge.model)
        if judge.unnormalized:
            self.model = replace(self.exact, model=WithoutSum(self.exact.model))
        self.reference = load(judge.reference) if judge.reference else None
        if judge.threads is not None:
            _limit_threads(judge.threads)

    def read(self, block: Block, source: Source) -> tuple[list[int], list[str], list[Fault]]:
        """Which units of a block can be read, their texts, and what is wrong with the others."""
        plain = self._read_lines(block, source)
        if plain is not None:
            return plain
        places, texts, faults = [], [], []
        for place, unit in enumerate(block.units):
            own = unit if source.form in ("document", "parquet") else body(unit)[0]
            if block.number + place == 1:
                own = own.removeprefix(b"\xef\xbb\xbf")
            if source.form == "json" and not own.strip():
                continue
            try:
                text = self.judge.form.text(own)
                texts.append(text or ("\n" if self.model.boundary == "line" else ""))  # an empty line is a line
                places.append(place)
            except Broken as error:
                faults.append(Fault(block.number + place, str(error)))
        return places, texts, faults

    def _read_lines(self, block: Block, source: Source) -> tuple[list[int], list[str], list[Fault]] | None:
        """Lines of text that are all as they should be, at once; None where one of them must be looked at."""
        form = self.judge.form
        if source.form != "text" or block.number == 1 or max(map(len, block.units)) > LONGEST:
            return None
        try:
            whole = b"".join(block.units).decode(form.encoding, form.errors)
        except UnicodeError:
            return None
        lines = whole.removesuffix("\n").split("\n")
        if len(lines) != len(block.units):
            return None
        empty = "\n" if self.model.boundary == "line" else ""
        return list(range(len(lines))), [line.removesuffix("\r") or empty for line in lines], []

    def scores(self, texts: Sequence[str]) -> list[Scored]:
        """The scores of each text."""
        return scored(self.model, texts, end=self.judge.end, per_token=self.judge.per_token)

    def log_z(self, texts: Sequence[str]) -> dict[str, float]:
        """Sums over a few tokens of a block of how far scores without the sum are off: log Z, and its square."""
        text = next((text for text in texts if text.strip()), None)
        if not self.judge.unnormalized or text is None:
            return {}
        windows = self.exact.corpus(text).windows(self.exact.model.context)
        contexts, targets = windows.slice(0, _EXACT)
        off = self.exact.model.context_nll(contexts, targets) - self.model.model.context_nll(contexts, targets)
        return {"log_z tokens": len(off), "log_z": float(off.sum()), "log_z squared": float((off * off).sum())}

    def read_and_score(self, block: Block, source: Source) -> tuple[list[int], list[str], list[Scored], list[Fault]]:
        """As `read`, with the scores; a text that a tokenizer cannot read is a fault as well."""
        places, texts, faults = self.read(block, source)
        try:
            return places, texts, self.scores(texts), faults
        except TextError:
            kept = []
            for place, text in zip(places, texts, strict=True):
                try:
                    kept.append((place, text, self.scores([text])[0]))
                except TextError as error:
                    faults.append(Fault(block.number + place, str(error)))
        faults.sort()
        columns = zip(*kept, strict=True) if kept else ((), (), ())
        return (*map(list, columns), faults)  # type: ignore[return-value]

    def values(self, texts: Sequence[str], found: Sequence[Scored]) -> list[float]:
        """What a rule looks at: the perplexity, or the difference to the reference in nats a token."""
        if self.reference is None:
            return [one.perplexity for one in found]
        other = scored(self.reference, texts, end=self.judge.end)
        return [
            (one.nats - two.nats) / one.tokens if one.tokens and two.tokens else math.nan
            for one, two in zip(found, other, strict=True)
        ]


class WithoutSum(LanguageModel):
    """A model whose losses leave out the sum over the vocabulary; refused where it was not trained for that."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.vocab_size, self.context, self.score_batch = model.vocab_size, model.context, model.score_batch
        self.context_nll(np.zeros((0, model.context), np.int64), np.zeros(0, np.int64))

    def log_probs(self, contexts: ArrayLike) -> Floats:
        """The exact ones: a row needs its sum."""
        return self._model.log_probs(contexts)

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> Floats:
        """About −log P(target | context), [B]."""
        return self._model.unnormalized(contexts, targets)


def scored(model: TextModel, texts: Sequence[str], *, end: bool = True, per_token: bool = False) -> list[Scored]:
    """Scores of many texts at once."""
    found = model.scores(texts, ends=end)
    columns = (found.tokens, found.unknown, found.totals, found.perplexity, found.bits_per_byte)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    if not per_token:
        return [Scored(*row) for row in rows]
    return [Scored(*row)._replace(per_token=one.nats) for row, one in zip(rows, found, strict=True)]


def _limit_threads(count: int) -> None:
    """PyTorch's, where it has been loaded: workers share the cores among themselves."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)
