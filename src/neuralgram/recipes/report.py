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
from neuralgram.recipes.rows import Row
from neuralgram.recipes.run import losses
from neuralgram.recipes.work import Work

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
