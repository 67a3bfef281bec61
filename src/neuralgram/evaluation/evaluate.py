"""How well models predict a text: sums of nats over counted tokens, nothing averaged twice.

Perplexity is exp(total nats / scored tokens): no batch, line or padding changes it. Bits per byte divide the
same nats by the UTF-8 bytes of what was scored, and exist only where tokenizing lost none of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.lm import perplexity
from neuralgram.text.scores import text_stats
from neuralgram.text.windows import Corpus
from neuralgram.textmodel import TextModel


@dataclass(frozen=True)
class Evaluation:
    """One model on one text.

    losses, targets   −log P in nats and id of every scored token, [N]
    unknown           how many of them are the unknown symbol
    bytes             UTF-8 bytes of the scored text, or None, and then `bytes_reason` says why
    first             index of the first scored token (units are scored from their first)
    seconds           of scoring alone
    unit_starts       where units begin among the scored tokens; None in a stream
    places            which of the tokens from `first` on are scored; None: all
    """

    path: str
    model: TextModel
    losses: NDArray[np.float64]
    targets: NDArray[np.int64]
    unknown: int
    bytes: int | None
    bytes_reason: str | None
    first: int
    seconds: float
    unit_starts: NDArray[np.int64] | None = None
    places: NDArray[np.int64] | None = None

    @property
    def tokens(self) -> int:
        """Scored tokens, ends of units among them."""
        return len(self.losses)

    @property
    def nats(self) -> float:
        """The total loss."""
        return float(self.losses.sum())

    @property
    def _are_ends(self) -> NDArray[np.bool_]:
        end = self.model.boundary_id
        return np.zeros(self.tokens, bool) if end is None else self.targets == end

    @property
    def ends(self) -> int:
        """How many of the scored tokens are ends of units."""
        return int(self._are_ends.sum())

    @property
    def ends_nats(self) -> float:
        """Their loss together."""
        return float(self.losses[self._are_ends].sum())

    @property
    def perplexity(self) -> float:
        """exp of nats per token over all scored tokens; `inf` where that overflows."""
        return perplexity(self.nats, self.tokens)

    @property
    def known_perplexity(self) -> float | None:
        """The same over the tokens that are not the unknown symbol; None where there are none."""
        known = self.losses[self.targets != self.model.tokenizer.unknown] if self.unknown else self.losses
        return perplexity(float(known.sum()), len(known)) if len(known) else None

    @property
    def seen_perplexity(self) -> float | None:
        """The same over the tokens whose type occurs in the training part; None where that is not known."""
        frequencies = self.model.frequencies
        if frequencies is None:
            return None
        seen = self.losses[frequencies[self.targets] > 0]
        return perplexity(float(seen.sum()), len(seen)) if len(seen) else None

    @property
    def bits_per_byte(self) -> float | None:
        """nats / ln 2 / bytes, or None where tokenizing lost bytes."""
        return self.nats / math.log(2) / self.bytes if self.bytes else None

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values; `bits_per_byte` is null with its reason where it would not be true."""
        return {
            "path": self.path,
            "tokens": self.tokens,
            "nats": self.nats,
            "nats_per_token": self.nats / self.tokens,
            "perplexity": self.perplexity,
            "known_perplexity": self.known_perplexity,
            "seen_perplexity": self.seen_perplexity,
            "bits_per_byte": self.bits_per_byte,
            "bits_per_byte_reason": self.bytes_reason,
            "bytes": self.bytes,
            "unknown": self.unknown,
            "unknown_rate": self.unknown / self.tokens,
            "ends": self.ends,
            "ends_nats": self.ends_nats,
            "ends_left_out": self.places is not None,
            "first_scored": self.first,
            "vocab_size": self.model.model.vocab_size,
            "context": self.model.model.context,
            "tokenizer": self.model.tokenizer.name,
            "boundary": self.model.boundary,
            "tokens_per_second": self.tokens / self.seconds if self.seconds > 0 else None,
        }

    def token_records(self) -> list[dict[str, Any]]:
        """One record a scored token, in order: what is shown for it, its id, its loss in nats."""
        return [
            {"token": self.model.symbol(int(target)), "id": int(target), "nats": float(loss)}
            for target, loss in zip(self.targets, self.losses, strict=True)
        ]


def evaluate(
    model: TextModel, corpus: Corpus, *, path: str = "", first: int | None = None, ends: bool = True
) -> Evaluation:
    """Score `corpus`, whose ids are the model's own tokenizer's; a stream from token `first` on (default: c).

    `ends=False` leaves the ends of units out of every figure. Raises `InputError` where nothing is left to score.
    """
    windows = corpus.windows(model.model.context, first)
    if len(windows) == 0:
        raise InputError(
            f"a text of {len(corpus)} tokens leaves nothing to score: {path or 'the model'} predicts from token "
            f"{windows.start} on (its window; without a boundary symbol the first tokens are not predicted)"
        )
    started = time.perf_counter()
    losses = model.model.score(windows)
    seconds = time.perf_counter() - started
    targets = np.asarray(corpus.ids[windows.start :]).astype(np.int64)
    stats = text_stats(model.tokenizer, model.boundary, corpus, windows.start)
    units = None if corpus.boundary is None else np.append(0, np.flatnonzero(targets[:-1] == corpus.boundary) + 1)
    found = Evaluation(
        path, model, losses, targets, stats.unknown, stats.bytes, stats.lost, windows.start, seconds, units
    )
    return found if ends or units is None else _without_ends(found)


def _without_ends(found: Evaluation) -> Evaluation:
    """The same without the ends of units, and without the byte that the end of a line stands for."""
    kept = found.targets != found.model.boundary_id
    if not kept.any():
        raise InputError(f"a text of {found.tokens} tokens, all of them ends of units: expected some to score")
    line_ends = found.ends if found.model.boundary == "line" else 0
    starts = np.append(0, np.cumsum(kept))[found.unit_starts]  # an empty unit begins where the next one does
    return replace(
        found,
        losses=found.losses[kept],
        targets=found.targets[kept],
        bytes=None if found.bytes is None else found.bytes - line_ends,
        unit_starts=np.unique(starts[starts < kept.sum()]),
        places=np.flatnonzero(kept),
    )


def first_scored(models: Sequence[TextModel]) -> int:
    """Compared models all score from the largest window on."""
    return max(model.model.context for model in models)
