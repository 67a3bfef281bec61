"""A kind of model as a reader might add one: this file, and one line in `families.KINDS`."""

from __future__ import annotations

import numpy as np

import neuralgram as ng
from neuralgram.explanation import Panel, Quantity
from neuralgram.text.windows import as_ids


class Again(ng.LanguageModel):
    """P(w | h) = share for the token last seen, the rest evenly for the others."""

    kind = "again"

    def __init__(self, vocab_size, share_1):
        self.vocab_size, self.context, self.share_1 = vocab_size, 1, np.asarray(share_1, np.float64)

    def log_probs(self, contexts):
        last_B = self.check_windows(contexts)[:, 0]
        share = self.share_1[0]
        rows = np.full((len(last_B), self.vocab_size), np.log((1 - share) / (self.vocab_size - 1)))
        rows[np.arange(len(last_B)), last_B] = np.log(share)
        return rows

    def context_nll(self, contexts, targets):
        self.check_windows(contexts, targets)
        return -self.log_probs(contexts)[np.arange(len(contexts)), as_ids(targets)]

    def config(self):
        return {"vocab_size": self.vocab_size}

    def state(self):
        return {"share": self.share_1}

    @classmethod
    def from_state(cls, config, state, parts=()):
        return cls(config["vocab_size"], state["share"])

    def explain(self, context, words):
        p = np.exp(self.log_probs(context[None])[0])
        return (Panel("Once more?", (Quantity("p", p, "the share of the last token, or one of the others"),)),)
