"""Rescoring: the hypotheses of a recogniser or translator, ranked anew with a language model's score among the others.

    score(h) = Σ_k w_k s_k(h) + w_lm log P(h) + w_len |h|

Weights are given or tuned on references, coordinate by coordinate and exactly: along one weight each list's best
hypothesis changes at the crossings of lines alone (Och 2003), so the error is a step function, searched whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, TextError
from neuralgram.textmodel import TextModel

LM, LENGTH = "lm", "length"
_MOSES = re.compile(r"\s*\|\|\|\s*")
_SWEEPS = 20
_EQUAL = 1e-9  # crossings nearer than that are one
_BLOCK = 2048  # hypotheses scored at once


class Hypothesis(NamedTuple):
    """One hypothesis: its text, its scores by name (larger is better), and the line it stood on."""

    text: str
    scores: dict[str, float]
    source: Any = None


@dataclass
class NBest:
    """The hypotheses of one utterance or sentence, in the order given; `reference` where it is known."""

    id: str
    hypotheses: list[Hypothesis] = field(default_factory=list)
    reference: str | None = None


def read_nbest(lines: Iterable[str], name: str = "the list", form: str | None = None) -> Iterator[NBest]:
    """Lists from JSON lines (`json`), Moses' `id ||| text ||| features ||| total` (`moses`), or Kaldi's `id-n text`
    with an optional score first (`kaldi`); the form is seen from the first line where it is not given."""
    number, kind, current = 0, form, None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        kind = kind or ("json" if line.lstrip().startswith("{") else "moses" if "|||" in line else "kaldi")
        if kind == "json":
            yield _json_list(line, f"{name}, line {number}")
            continue
        key, found = (_moses if kind == "moses" else _kaldi)(line, f"{name}, line {number}")
        if current is None or current.id != key:
            if current is not None:
                yield current
            current = NBest(key)
        current.hypotheses.append(found)
    if current is not None:
        yield current


def _json_list(line: str, where: str) -> NBest:
    """`{"id": …, "hypotheses": [{"text": …, "scores": {…} or "score": …}, …], "reference": …}`."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise TextError(f"{where}: not JSON ({error})") from None
    listed = value.get("hypotheses") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise TextError(f"{where}: expected an object with a list in 'hypotheses'")
    found = []
    for one in ({"text": given} if isinstance(given, str) else given for given in listed):
        if not isinstance(one, dict) or not isinstance(one.get("text"), str):
            raise TextError(f"{where}: a hypothesis without a 'text'")
        scores = one.get("scores", {"score": one["score"]} if "score" in one else {})
        found.append(Hypothesis(one["text"], _numbers(scores, where), one))
    reference = value.get("reference")
    return NBest(str(value.get("id", "")), found, reference if isinstance(reference, str) else None)


def _numbers(scores: Any, where: str) -> dict[str, float]:
    if not isinstance(scores, Mapping) or not all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in scores.values()
    ):
        raise TextError(f"{where}: scores {scores!r}: expected finite numbers by name")
    return {str(name): float(value) for name, value in scores.items()}


def _moses(line: str, where: str) -> tuple[str, Hypothesis]:
    fields = _MOSES.split(line.strip("\r\n"))
    if len(fields) < 2:
        raise TextError(f"{where}: expected `id ||| text ||| features ||| total`")
    scores: dict[str, float] = {}
    name, place = "feature", 0
    for word in fields[2].split() if len(fields) > 2 else ():
        if word.endswith("="):
            name, place = word[:-1], 0
            continue
        scores[name if place == 0 else f"{name}_{place}"] = _number(word, where)
        place += 1
    if not scores and len(fields) > 3:
        scores["score"] = _number(fields[3], where)
    return fields[0].strip(), Hypothesis(fields[1].strip(), scores, line)


def _kaldi(line: str, where: str) -> tuple[str, Hypothesis]:
    key, _, rest = line.strip().partition(" ")
    utterance, dash, number = key.rpartition("-")
    if not dash or not number.isdigit():
        raise TextError(f"{where}: {key!r}: expected Kaldi's utterance-1, utterance-2, …")
    first, _, text = rest.strip().partition(" ")
    try:
        return utterance, Hypothesis(text, {"score": -float(first)}, line)  # Kaldi's scores are costs
    except ValueError:
        return utterance, Hypothesis(rest.strip(), {}, line)


def _number(word: str, where: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TextError(f"{where}: {word!r}: expected a finite number")
    return value


def table(lists: Sequence[NBest], names: Sequence[str]) -> list[NDArray[np.float64]]:
    """The scores of each list's hypotheses, [hypotheses, names]; 0 where one has no such score."""
    return [
        np.array([[h.scores.get(n, 0.0) for n in names] for h in one.hypotheses], np.float64).reshape(-1, len(names))
        for one in lists
    ]


def order(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The hypotheses of one list, best first; equal ones in the order given."""
    return np.argsort(-(scores @ weights), kind="stable")


def word_errors(reference: str, hypothesis: str) -> tuple[int, int]:
    """Word errors of a hypothesis and words of its reference, by jiwer."""
    try:
        import jiwer
    except ImportError:
        raise InputError("tuning counts word errors with jiwer: pip install 'neuralgram[rescore]'") from None
    if not reference.strip():
        return len(hypothesis.split()), 0
    counted = jiwer.process_words(reference, hypothesis)
    return counted.substitutions + counted.deletions + counted.insertions, len(reference.split())


class Tuned(NamedTuple):
    """Weights by name, and the word error rate before and after on the lists that tuned them."""

    weights: dict[str, float]
    before: float
    after: float


def tune(lists: Sequence[NBest], names: Sequence[str], start: Mapping[str, float]) -> Tuned:
    """The weights that make the fewest word errors on lists with references, from `start` on; never worse than it."""
    known = [one for one in lists if one.reference is not None and one.hypotheses]
    if not known:
        raise InputError("no list has a reference: there is nothing to tune the weights on")
    tables = table(known, names)
    counted = [[word_errors(one.reference or "", h.text) for h in one.hypotheses] for one in known]
    errors = [np.array([pair[0] for pair in pairs], np.int64) for pairs in counted]
    words = max(1, sum(pairs[0][1] for pairs in counted))
    weights = np.array([start.get(name, 0.0) for name in names])
    before = best = _errors(tables, errors, weights)
    for _ in range(_SWEEPS):
        improved = False
        for place in range(len(names)):
            value, found = _search_line(tables, errors, weights, place)
            if found < best:
                weights[place], best, improved = value, found, True
        if not improved:
            break
    return Tuned(dict(zip(names, weights.tolist(), strict=True)), before / words, best / words)


def _errors(tables: Sequence[NDArray[np.float64]], errors: Sequence[NDArray[np.int64]], w: NDArray[np.float64]) -> int:
    return sum(int(e[order(t, w)[0]]) for t, e in zip(tables, errors, strict=True))


def _search_line(
    tables: Sequence[NDArray[np.float64]], errors: Sequence[NDArray[np.int64]], weights: NDArray[np.float64], place: int
) -> tuple[float, int]:
    """The value of one weight with the fewest errors: the middle of the best gap between the crossings of all lists."""
    total, cuts, steps = 0, [], []
    for scores, found in zip(tables, errors, strict=True):
        slope = scores[:, place]
        hull, crossings = _envelope(slope, scores @ weights - slope * weights[place])
        total += int(found[hull[0]])
        cuts += crossings
        steps += np.diff(found[hull]).tolist()
    if not cuts:
        return float(weights[place]), total
    at = np.argsort(cuts, kind="stable")
    sorted_cuts = np.array(cuts)[at]
    after = total + np.cumsum(np.array(steps)[at])  # errors beyond each cut
    apart = sorted_cuts[1:] - sorted_cuts[:-1] > _EQUAL * (1 + np.abs(sorted_cuts[1:]))
    ends = np.append(apart, True)  # of equal cuts the last counts
    levels = np.concatenate([[total], after[ends]])
    edges = sorted_cuts[ends]
    middles = np.concatenate([edges[:1] - 1, (edges[1:] + edges[:-1]) / 2, edges[-1:] + 1])
    best = int(levels.argmin())
    return float(middles[best]), int(levels[best])


def _envelope(slope: NDArray[np.float64], rest: NDArray[np.float64]) -> tuple[list[int], list[float]]:
    """The lines rest + slope·w that are highest somewhere, from w = −∞ on, and where each gives way to the next."""
    hull: list[int] = []
    cuts: list[float] = []
    for i in np.lexsort((-np.arange(len(rest)), rest, slope)).tolist():  # of equal lines the first counts
        if hull and slope[hull[-1]] == slope[i]:
            hull.pop()
            if cuts:
                cuts.pop()
        while hull:
            cut = float((rest[hull[-1]] - rest[i]) / (slope[i] - slope[hull[-1]]))
            if not cuts or cut > cuts[-1]:
                cuts.append(cut)
                break
            hull.pop()
            cuts.pop()
        hull.append(i)
    return hull, cuts


@dataclass
class Rescoring:
    """Lists with the model's score among the others, and the weights of all scores by name."""

    lists: list[NBest]
    weights: dict[str, float]

    @classmethod
    def of(cls, model: TextModel, lists: Sequence[NBest], given: Sequence[str] = ()) -> Rescoring:
        """Score every hypothesis; `given` are weights as written, `acoustic=0.5`."""
        texts = list(dict.fromkeys(h.text for one in lists for h in one.hypotheses))
        nats: dict[str, float] = {}
        for start in range(0, len(texts), _BLOCK):
            part = texts[start : start + _BLOCK]
            nats |= zip(part, model.scores(part).totals.tolist(), strict=True)
        made = [
            NBest(one.id, [h._replace(scores=_with_own(h, nats[h.text])) for h in one.hypotheses], one.reference)
            for one in lists
        ]
        names = dict.fromkeys(name for one in made for h in one.hypotheses for name in h.scores)
        weights = {name: 0.0 if name == LENGTH else 1.0 for name in names}
        for word in given:
            name, value = _weight(word)
            if name not in weights:
                raise InputError(f"weight of {name!r}: expected one of {', '.join(weights)}")
            weights[name] = value
        return cls(made, weights)

    def tune(self) -> Tuned:
        """Set the weights to those with the fewest word errors on the lists' references."""
        tuned = tune(self.lists, list(self.weights), self.weights)
        self.weights = tuned.weights
        return tuned

    def ranked(self) -> Iterator[dict[str, Any]]:
        """Each list as JSON values, best hypothesis first, with its total and the place it was given in."""
        names = list(self.weights)
        w = np.array([self.weights[name] for name in names])
        for one, scores in zip(self.lists, table(self.lists, names), strict=True):
            totals = scores @ w
            found = [
                {
                    "text": one.hypotheses[i].text,
                    "total": float(totals[i]),
                    "was": i + 1,
                    "scores": one.hypotheses[i].scores,
                }
                for i in order(scores, w).tolist()
            ]
            yield {"id": one.id, "hypotheses": found}

    def error_rates(self) -> tuple[float, float, float] | None:
        """Word error rates of the first hypotheses as given, as ranked, and of the best there are; None without any."""
        known = [one for one in self.lists if one.reference is not None and one.hypotheses]
        if not known:
            return None
        names = list(self.weights)
        w = np.array([self.weights[name] for name in names])
        sums = np.zeros(3)
        words = 0
        for one, scores in zip(known, table(known, names), strict=True):
            errors = [word_errors(one.reference or "", h.text) for h in one.hypotheses]
            sums += [errors[0][0], errors[int(order(scores, w)[0])][0], min(count for count, _ in errors)]
            words += errors[0][1]
        given, ranked, best = (float(total) / max(1, words) for total in sums)
        return given, ranked, best


def _with_own(h: Hypothesis, nats: float) -> dict[str, float]:
    clash = [name for name in (LM, LENGTH) if name in h.scores]
    if clash:
        raise InputError(f"a hypothesis has a score named {clash[0]!r} already: rename it, that one is ours")
    return {**h.scores, LM: -nats, LENGTH: float(len(h.text.split()))}


def _weight(word: str) -> tuple[str, float]:
    name, _, value = word.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"--weight {word}: expected a name and a number, such as lm=0.5")
    return name, number


def read_references(path: Path, lists: Sequence[NBest]) -> None:
    """Give each list its reference: by id where lines are `id TAB text`, else in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines and all("\t" in line for line in lines):
        by_id = dict(line.split("\t", 1) for line in lines)
        for one in lists:
            one.reference = by_id.get(one.id, one.reference)
        return
    if len(lines) != len(lists):
        raise InputError(f"{path}: {len(lines)} references for {len(lists)} lists: expected one each, or `id TAB text`")
    for one, line in zip(lists, lines, strict=True):
        one.reference = line
