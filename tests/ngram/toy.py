"""An estimator as a reader might add one: this file, and one line in `families.ESTIMATORS`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuralgram.explanation import Panel, Quantity
from neuralgram.ngram.model import Counting, NgramModel, sizes
from neuralgram.settings import setting
from neuralgram.text.windows import as_ids, token_frequencies


class Seen(NgramModel):
    """p(w) = (1 − share)/n among the n tokens seen in training, the share among the others; contexts do not count."""

    smoothing = "seen"

    @dataclass(frozen=True)
    class Settings(Counting):
        share: float = setting(0.1, help="What tokens never seen have together.", above=0, below=1)

    def __init__(self, seen_V, order, boundary, share):
        self.vocab_size, self.context, self.boundary = len(seen_V), order - 1, boundary
        self.seen_V, self.share = seen_V, self.Settings(share=share).share
        weights = np.where(seen_V, (1 - self.share) / seen_V.sum(), self.share / max((~seen_V).sum(), 1))
        self.log_p_V = np.log(weights / weights.sum())

    @classmethod
    def fit(cls, corpus, order, *, share=Settings.share, memory_limit=None):
        return cls(token_frequencies(corpus) > 0, order, corpus.boundary, share)

    def log_probs(self, contexts):
        return np.tile(self.log_p_V, (len(self.check_windows(contexts)), 1))

    def context_nll(self, contexts, targets):
        self.check_windows(contexts, targets)
        return -self.log_p_V[as_ids(targets)]

    def state(self):
        return {"seen": self.seen_V}

    def config(self):
        return self.chosen(share=self.share)

    @classmethod
    def restored(cls, config, state):
        _, order, boundary = sizes(config)
        return cls(state["seen"], order, boundary, config["share"])

    def explain(self, context, words):
        return (Panel("Seen or not", (Quantity("p", np.exp(self.log_p_V), "a share of the seen, or of the others"),)),)
