"""One prediction of a back-off table as sections: Kneser–Ney in every form, ARPA files, tables over classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.explanation import history
from neuralgram.numbers import bracketed, number
from neuralgram.tracing.discounting import discount_sections
from neuralgram.tracing.formulas import given, listed
from neuralgram.tracing.names import Words
from neuralgram.tracing.steps import Floats, Section

_UNCOUNTED = (
    "The counts behind these numbers are not in the model: it comes from an ARPA file, or was saved without them."
)


def table_sections(
    table: Any, config: Mapping[str, Any], ids: NDArray[np.int64], log_p: Floats, words: Words
) -> list[Section]:
    """Contexts with their back-off weights, the counts where they are known, and each word's way through the table."""
    V, context = table.trie.vocab_size, table.order - 1
    nodes = table.trie.contexts(ids[None, :])[0]
    weights = np.ones(context + 1)
    followers = np.zeros(context + 1)
    for j in range(context + 1):
        if j and nodes[j] >= 0:
            weights[j] = np.exp(table.log_bow[j - 1][nodes[j]])
        followers[j] = len(table.trie.continuations(j + 1, nodes[j : j + 1]).word)
    orders = table.longest(np.repeat(ids[None, :], V, axis=0), np.arange(V))

    def ending(j: int) -> str:
        return history(ids, j, words.name)

    steps = [
        given("bow", weights, equation="back-off weight", rows=ending),
        given("words", followers, equation="how many are listed after it", rows=ending),
    ]
    D = np.asarray(config.get("discounts", ()), np.float64)
    counted = table.counted is not None and D.ndim == 2
    if D.ndim == 2 and not counted:
        equation = "discounts of counts 1, 2, 3 and more, for n-grams one token longer than h"
        steps.append(given("D", D, equation=equation, rows=ending, columns=("D1", "D2", "D3")))
    marks = {j: "never seen" for j in range(context + 1) if nodes[j] < 0}
    text = "A context that was never seen has the back-off weight 1: it passes its question on unchanged."
    text += "" if counted else f" {_UNCOUNTED}"
    contexts = Section("The contexts, short to long", text, tuple(steps), "h", marks=marks)
    between = discount_sections(table, config, ids, words) if counted else ()
    return [contexts, *between, _backed_off(ids, log_p, words, orders, weights)]


def _backed_off(
    ids: NDArray[np.int64], log_p: Floats, words: Words, orders: NDArray[np.int64], weights: Floats
) -> Section:
    """p of the n-gram each word is read from, times the weights of the longer contexts that did not list it."""

    def context(j: int) -> str:
        return history(ids, j, words.name)

    p = np.exp(log_p)
    passed = np.array([float(np.prod(weights[order:])) for order in orders])
    listed_p = np.divide(p, passed, out=np.zeros_like(p), where=passed > 0)
    steps = (
        given("order", orders.astype(np.float64), equation="length of the longest n-gram listed", rows=words.name),
        given("p(w|h′)", listed_p, equation="its probability in the table", rows=words.name),
        listed(
            "weights",
            passed,
            lambda index: (
                " · ".join(f"bow({context(j)})" for j in range(len(weights) - 1, orders[index[0]] - 1, -1)),
                "·".join(bracketed(float(weights[j])) for j in range(len(weights) - 1, orders[index[0]] - 1, -1)),
            ),
            equation="back-off weights of the longer contexts, multiplied",
            rows=words.name,
        ),
        listed(
            "p",
            p,
            lambda index: (
                f"p({words.name(index[0])} | {history(ids, int(orders[index[0]]) - 1, words.name)}) · weights",
                f"{number(float(listed_p[index[0]]))}·{number(float(passed[index[0]]))}",
            ),
            equation="p = p(w|h′) · weights",
            rows=words.name,
        ),
    )
    return Section("Backing off", "", steps, "word", words.shown, words.marks, bars="p")


def class_sections(lm: Any, ids: NDArray[np.int64], log_p: Floats, words: Words) -> list[Section]:
    """Each word shown within its class, then the table over classes for theirs."""
    classes = lm.class_of[ids]
    log_classes = lm.table.rows(classes[None, :])[0]
    shown = tuple(dict.fromkeys(int(lm.class_of[w]) for w in words.shown))

    def name(g: int) -> str:
        members = np.flatnonzero(lm.class_of == g)
        listed_ = " ".join(words.name(int(w)) for w in members[:3]) + (" …" if len(members) > 3 else "")
        return f"{{{listed_}}}"

    over = Words(name, shown, None, words.units)
    table = table_sections(lm.table, lm.config(), classes, log_classes, over)
    of_class, within = np.exp(log_classes)[lm.class_of], np.exp(lm.log_word)
    steps = (
        given("class", lm.class_of.astype(np.float64), rows=words.name),
        given("P(class | h)", of_class, rows=words.name),
        given("P(w | class)", within, rows=words.name),
        listed(
            "p",
            np.exp(log_p),
            lambda i: ("P(class | h)·P(w | class)", f"{number(float(of_class[i]))}·{number(float(within[i]))}"),
            equation="p = P(g(w) | g(h)) · P(w | g(w))",
            rows=words.name,
        ),
    )
    words_section = Section(
        "Words within classes",
        "Where P(class | h) comes from stands below.",
        steps,
        "word",
        words.shown,
        words.marks,
        bars="p",
    )
    return [words_section, *table]
