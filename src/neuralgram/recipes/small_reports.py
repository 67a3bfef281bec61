"""What the reports of the two small recipes say: characters of tiny Shakespeare, bytes of the tales."""

from __future__ import annotations

import math
from typing import Any

from neuralgram.evaluation.report import md_table
from neuralgram.numbers import figure
from neuralgram.recipes.report import MARK, Found, Report, fitted_on_valid, interval, lines_of

PUBLISHED_NATS = 1.756  # validation, of a network of 72 353 parameters that reads 10 characters


def tinyshakespeare(report: Report) -> tuple[list[str], dict[str, Any]]:
    """Nats a character and the order of the models, beside the one published figure."""
    lines, figures = _table(report)
    small = report.found.get("nplm-small")
    if small is not None:
        nats = small.valid["valid"]["nats"]
        lines += lines_of(
            f"A published network of 72 353 parameters that reads 10 characters has {PUBLISHED_NATS} nats on its "
            f"validation part; ours of 67 305 has {nats:.3f}. Splits differ: the last tenth is halved here."
        )
    return lines, {"published_nats": PUBLISHED_NATS, **figures}


def tales(report: Report) -> tuple[list[str], dict[str, Any]]:
    """The order a course shows: network below Kneser–Ney 4-gram below bigram."""
    lines, figures = _table(report)
    names = ("nplm", "kn4", "bigram")
    if all(name in report.found for name in names):
        values = [report.found[name].perplexities[1] for name in names]
        holds = values[0] < values[1] < values[2]
        words = " < ".join(f"{value:.3f}" for value in values)
        lines += lines_of(
            f"Test perplexity a byte of network, Kneser–Ney 4-gram and bigram: {words}. "
            f"The order {'holds' if holds else 'fails'}."
        )
        figures["order_holds"] = holds
    return lines, figures


def _table(report: Report) -> tuple[list[str], dict[str, Any]]:
    work, rows = report.work, list(report.found.values())
    first = rows[0].row
    corpora = work.corpora(first)
    sizes = {name: len(corpora.part(name)) for name in ("train", "valid", "test")}
    told = ", ".join(f"{figure(size, 9)} {name}" for name, size in sizes.items())
    lines = lines_of(f"{corpora.tokenizer.name}, V = {corpora.vocab_size}; tokens: {told}.")
    best = min(rows, key=lambda f: f.valid["valid"]["nats"])
    made = [_cells(report, f, best) for f in rows]
    headers = ["row", "valid, nats", "valid", "test, nats", "test", "bits a token, test", "to the best on valid (95%)"]
    lines += [*md_table([*headers, "minutes"], made), ""]
    if any(fitted_on_valid(work, f.row) for f in rows):
        lines += lines_of(f"{MARK} Weights were fitted on validation: no test of that figure.")
    lines += lines_of(
        "The last column but one is a ratio of test perplexities with a 95% interval of a paired bootstrap over blocks."
    )
    lines += [f"- {f.row.label}: {f.row.note}" for f in rows if f.row.note]
    return [*lines, ""], {"best": best.row.name}


def _cells(report: Report, found: Found, best: Found) -> list[str]:
    valid, test = found.valid["valid"], found.test
    mark = MARK if fitted_on_valid(report.work, found.row) else ""
    against = "–" if found is best else interval(report.compared(found.row.name, best.row.name))
    return [
        found.row.label,
        f"{valid['nats']:.4f}{mark}",
        f"{valid['perplexity']:.3f}{mark}",
        f"{test['nats']:.4f}",
        f"{test['perplexity']:.3f}",
        f"{test['nats'] / math.log(2):.4f}",
        against,
        f"{found.valid['seconds'] / 60:.1f}",
    ]
