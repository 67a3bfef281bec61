"""What a recipe found: `report.json`, `report.md` and `report.png`, from what its rows left."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.evaluation.compare import Difference, difference, starts_of
from neuralgram.evaluation.plots import Bar, comparison
from neuralgram.evaluation.report import md_table
from neuralgram.files import write_together
from neuralgram.numbers import figure
from neuralgram.recipes.models import losses
from neuralgram.recipes.rows import Row
from neuralgram.recipes.work import Work

PUBLISHED_NATS = 1.756  # tiny Shakespeare, validation, of a network of 72 353 parameters that reads 10 characters
MARK = "†"  # validation figures of what was fitted on validation


@dataclass(frozen=True)
class Found:
    """A finished row: what it is, and what it gave on validation and test."""

    row: Row
    valid: dict[str, Any]
    test: dict[str, Any]

    @property
    def perplexities(self) -> tuple[float, float]:
        """Over all tokens, on validation and test."""
        return self.valid["valid"]["perplexity"], self.test["perplexity"]


class Report:
    """The finished rows of a recipe, by name, and the sections that are made of them."""

    def __init__(self, work: Work, rows: Sequence[Row]) -> None:
        self.work = work
        self.found: dict[str, Found] = {}
        for row in rows:
            valid, test = work.finished(row), work.tested(row)
            if valid is not None and test is not None:
                self.found[row.name] = Found(row, valid, test)

    def of(self, group: str) -> list[Found]:
        """The finished rows of a group, in order."""
        return [found for found in self.found.values() if found.row.group == group]

    def ratio(self, name: str, other: str, part: str) -> float | None:
        """Perplexity of one row over another's, on `valid` or `test`; None where one is missing."""
        i = ("valid", "test").index(part)
        if name not in self.found or other not in self.found:
            return None
        return self.found[name].perplexities[i] / self.found[other].perplexities[i]

    def compared(self, name: str, other: str) -> Difference | None:
        """Nats a token by which `name` is worse than `other` on test, from a paired bootstrap over files."""
        if name not in self.found or other not in self.found:
            return None
        a, b = (self.found[n].row for n in (name, other))
        first, second = losses(self.work, a, "test"), losses(self.work, b, "test")
        places = self.work.corpora(a).documents.get("test")
        starts = starts_of(len(first), self.work.recipe.first, places)
        return difference(first, second, starts.starts, kind=starts.kind)

    # ---- Markdown ----

    def table(self, found: Sequence[Found], *, paper: bool = True) -> list[str]:
        """One line a row: sizes, figures, and the published ones beside them."""
        headers = [
            "row",
            "n",
            "classes",
            "h",
            "m",
            "direct",
            "mix",
            "train",
            "valid",
            "test",
            "valid, seen",
            "test, seen",
        ]
        if paper:
            headers += ["paper: valid", "paper: test"]
        return md_table(headers, [self._cells(f, paper) for f in found])

    def _cells(self, found: Found, paper: bool) -> list[str]:
        row, valid, test = found.row, found.valid["valid"], found.test
        mark = MARK if fitted_on_valid(self.work, row) else ""
        train = found.valid.get("train")
        cells = [
            row.label,
            *sizes(self.work, row),
            "" if train is None else figure(train["perplexity"]),
            figure(valid["perplexity"]) + mark,
            figure(test["perplexity"]),
            figure(valid["seen"]) + mark,
            figure(test["seen"]),
        ]
        return cells + [f"{row.paper[p]:g}" if p in row.paper else "" for p in ("valid", "test") if paper]


def sizes(work: Work, row: Row) -> list[str]:
    """n, classes, h, m, direct and mix, as the paper's table has them; of a mixture those of its network."""
    s = row.settings
    if row.kind == "mixture":
        inner = next((work.recipe.row(p) for p in s["parts"] if work.recipe.row(p).kind == "network"), None)
        return [*(sizes(work, inner)[:5] if inner else [""] * 5), "yes"]
    if row.kind == "ngram":
        return [str(s["order"]), str(s.get("options", {}).get("classes", "")), "", "", "", ""]
    m = s["model"]
    hidden = m["d_hidden"] if isinstance(m["d_hidden"], int) else " + ".join(map(str, m["d_hidden"]))
    return [str(m["context"] + 1), "", str(hidden), str(m["d_emb"]), "yes" if m.get("direct", True) else "no", "no"]


def fitted_on_valid(work: Work, row: Row) -> bool:
    """Whether the row, or a part of it, was fitted to validation text."""
    parts = row.settings.get("parts", ())
    return row.fitted_on_valid or any(fitted_on_valid(work, work.recipe.row(part)) for part in parts)


def lines_of(text: str) -> list[str]:
    """A paragraph of a report."""
    return [text, ""]


def interval(difference: Difference | None) -> str:
    """A difference in nats as a ratio of perplexities with its interval."""
    if difference is None:
        return "–"
    low, high = math.exp(min(difference.low, 700)), math.exp(min(difference.high, 700))
    return f"{math.exp(difference.nats):.3f} [{low:.3f}, {high:.3f}]"


def seed_spread(found: Sequence[Found]) -> dict[str, Any] | None:
    """Mean and standard deviation over seeds of both figures; None for fewer than two."""
    if len(found) < 2:
        return None
    figures = np.array([f.perplexities for f in found])
    mean, sd = figures.mean(axis=0), figures.std(axis=0, ddof=1)
    return {"seeds": len(found), "valid": [float(mean[0]), float(sd[0])], "test": [float(mean[1]), float(sd[1])]}


Sections = Callable[[Report], tuple[list[str], dict[str, Any]]]


def write(work: Work, rows: Sequence[Row], sections: Sections, command: str) -> dict[str, Path]:
    """Write the report's three files into the folder; their paths. `sections` makes what this recipe has to say."""
    report = Report(work, rows)
    body, figures = sections(report)
    quick = ["**A quick run: a fortieth of the text and short training. These figures mean nothing.**", ""]
    head = [f"# {work.recipe.title}", "", f"Made by `{command}`.", "", *(quick if work.quick else [])]
    seconds = sum(f.valid["seconds"] for f in report.found.values())
    tail = ["", f"All rows together took {seconds / 60:.0f} minutes."]
    told = {
        "recipe": work.recipe.name,
        "quick": work.quick,
        "seconds": seconds,
        **figures,
        "rows": {name: {"validation": f.valid, "test": f.test} for name, f in report.found.items()},
    }
    data = json.dumps(told, indent=1, ensure_ascii=False, default=str) + "\n"
    write_together(
        work.out, {"report.md": "\n".join(head + body + tail).encode() + b"\n", "report.json": data.encode()}
    )
    bars = [
        Bar(f.row.label, f.perplexities[1], None, f.row.paper.get("test"))
        for f in report.found.values()
        if f.row.group != "review"
    ]
    picture = comparison(bars, [], work.out / "report.png", title="test perplexity, all tokens")
    return {"markdown": work.out / "report.md", "json": work.out / "report.json", "picture": picture}


# ---- what the two small recipes say: characters of tiny Shakespeare, bytes of the tales ----


def tinyshakespeare(report: Report) -> tuple[list[str], dict[str, Any]]:
    """Nats a character and the order of the models, beside the one published figure."""
    lines, figures = _small_table(report)
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
    lines, figures = _small_table(report)
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


def _small_table(report: Report) -> tuple[list[str], dict[str, Any]]:
    work, rows = report.work, list(report.found.values())
    first = rows[0].row
    corpora = work.corpora(first)
    sizes = {name: len(corpora.part(name)) for name in ("train", "valid", "test")}
    told = ", ".join(f"{figure(size, 9)} {name}" for name, size in sizes.items())
    lines = lines_of(f"{corpora.tokenizer.name}, V = {corpora.vocab_size}; tokens: {told}.")
    best = min(rows, key=lambda f: f.valid["valid"]["nats"])
    made = [_small_cells(report, f, best) for f in rows]
    headers = ["row", "valid, nats", "valid", "test, nats", "test", "bits a token, test", "to the best on valid (95%)"]
    lines += [*md_table([*headers, "minutes"], made), ""]
    if any(fitted_on_valid(work, f.row) for f in rows):
        lines += lines_of(f"{MARK} Weights were fitted on validation: no test of that figure.")
    lines += lines_of(
        "The last column but one is a ratio of test perplexities with a 95% interval of a paired bootstrap over blocks."
    )
    lines += [f"- {f.row.label}: {f.row.note}" for f in rows if f.row.note]
    return [*lines, ""], {"best": best.row.name}


def _small_cells(report: Report, found: Found, best: Found) -> list[str]:
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
