"""Kneser–Ney smoothing in all its forms, written into a back-off table.

With a the adjusted counts, D(a) the discount and h' = h without its oldest token:

    interpolated   P(w | h) = (a(hw) − D(a(hw)))/Σ_w a(hw) + γ(h) P(w | h'),   P(w | no context) ends in 1/V
    back-off       P(w | h) = (a(hw) − D(a(hw)))/Σ_w a(hw)   where a(hw) > 0,  else β(h) P(w | h')

γ(h) = Σ_w D(a(hw))/Σ_w a(hw) is what the discounts free; β(h) scales it to what h' gives the words unseen after h.
N-grams pruned by their count give all of theirs to γ. (Kneser & Ney 1995; Chen & Goodman 1999, section 3.)

KenLM's estimator makes the interpolated, modified form, and the tables agree. V counts the unknown symbol and
`</s>`, never `<s>`; an unknown symbol that the text lacks gets its share γ/V of the unigrams. `unigrams="unseen"`
departs from this: what the unigrams' discounts free goes to the tokens never seen alone (as in the back-off form).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralgram.errors import InputError
from neuralgram.ngram.adjusted import Adjusted
from neuralgram.ngram.backoff import BackoffTable, Counted, prune
from neuralgram.ngram.model import log
from neuralgram.ngram.trie import Floats


class Form(NamedTuple):
    """`interpolated` or `backoff`, and where the unigrams' freed part goes: `uniform` or `unseen`."""

    name: str = "interpolated"
    unigrams: str = "uniform"

    def checked(self) -> Form:
        """This form, or an `InputError`; the back-off form's unigrams are always `unseen`."""
        if self.name not in ("interpolated", "backoff"):
            raise InputError(f"form {self.name!r}: expected interpolated or backoff")
        if self.unigrams not in ("uniform", "unseen"):
            raise InputError(f"unigrams {self.unigrams!r}: expected uniform or unseen")
        return self if self.name == "interpolated" else Form(self.name, "unseen")


def unigrams(adjusted: Adjusted, D: Floats, rest: str) -> Floats:
    """P(w), [V]: the freed part goes to every token alike (`uniform`), or to those never seen (`unseen`) if any."""
    p = adjusted.discounted(1, D)
    gamma = float(adjusted.gamma(0, D)[0])
    unseen = adjusted.counts[0] == 0
    if rest == "unseen" and unseen.any():
        return p + np.where(unseen, gamma / int(unseen.sum()), 0.0)
    out: Floats = p + gamma / len(p)
    return out


def interpolated(adjusted: Adjusted, k: int, D: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """P of every k-gram [N_k] given that of its last k − 1 tokens, and γ of every context [N_{k−1}]; D [3]."""
    gamma = adjusted.gamma(k - 1, D)
    p = adjusted.discounted(k, D) + gamma[adjusted.parents[k - 1]] * lower[adjusted.suffixes[k - 1]]
    return p, gamma


def backed_off(adjusted: Adjusted, k: int, D: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """P of every k-gram [N_k], and β(h) = γ(h)/(1 − Σ P(w | h') over the words listed after h); D [3].

    Where every word of the vocabulary is listed nothing is left to back off to: P is scaled up by what γ took.
    """
    gamma, p, parents = adjusted.gamma(k - 1, D), adjusted.discounted(k, D), adjusted.parents[k - 1]
    below = lower[adjusted.suffixes[k - 1]]
    if adjusted.kept is not None:
        below = below * adjusted.kept[k - 1]
    full = adjusted.kinds[k - 1].sum(axis=1) == adjusted.trie.vocab_size
    rest = np.where(full, 1.0, 1.0 - np.bincount(parents, below, minlength=len(gamma)))
    p = p / np.where(full, 1.0 - gamma, 1.0)[parents]
    return p, np.where(full, 1.0, gamma / rest)


def table(adjusted: Adjusted, D: Floats, form: Form) -> BackoffTable:
    """The back-off table of a form with discounts D [n, 3]."""
    step = interpolated if form.name == "interpolated" else backed_off
    p, weights = [unigrams(adjusted, D[0], form.unigrams)], []
    for k in range(2, adjusted.order + 1):
        higher, weight = step(adjusted, k, D[k - 1], p[-1])
        p.append(higher)
        weights.append(weight)
    counted = Counted.of(adjusted.counts, adjusted.freed if adjusted.kept is not None else ())
    made = BackoffTable(adjusted.trie, adjusted.boundary, tuple(map(log, p)), tuple(map(log, weights)), counted)
    return made if adjusted.kept is None else prune(made, adjusted.kept[1:])
