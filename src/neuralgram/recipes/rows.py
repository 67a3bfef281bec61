"""A recipe as it is written: `recipe.toml` says which text and how it is read, each other TOML file is one row.

A row's `variants` are further rows that differ in what they name: seeds, another split, another form. Nothing
but the files decides a row, so a result made from the same file and text can be used again.
"""

from __future__ import annotations

import copy
import fnmatch
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from neuralgram.errors import InputError

RECIPES = ("table1", "tinyshakespeare", "tales")
KINDS = ("network", "ngram", "mixture")
GROUPS = ("paper", "review", "beyond")


@dataclass(frozen=True)
class Row:
    """One model of a recipe.

    kind      `network`, `ngram` or `mixture`
    group     `paper` (a row of the published table), `review` (what a careful reader asks), `beyond`
    text      which of the recipe's texts
    settings  what the kind needs: model and training; smoothing, order and options; parts and weights
    paper     the published figures: train, valid, test
    tried     how many configurations were tried before this one was settled
    """

    name: str
    kind: str
    group: str
    text: str
    settings: Mapping[str, Any]
    label: str = ""
    paper: Mapping[str, float] = field(default_factory=dict)
    tried: int = 1
    note: str = ""

    @property
    def fitted_on_valid(self) -> bool:
        """Whether validation figures are of text that weights or discounts were fitted to."""
        s = self.settings
        if self.kind == "mixture":
            return isinstance(s["weights"], str)
        return s.get("smoothing") == "deleted-interpolation" or s.get("options", {}).get("discounts") == "tuned"


@dataclass(frozen=True)
class Recipe:
    """All rows of a recipe, in the order they run; parts come before their mixtures.

    texts      name → how the text is read: settings of `build_corpora`, and `every`, a split by files
    reference  the row ratios are given to
    first      the first scored token of a stream: at least every row's context
    """

    name: str
    title: str
    file: str
    texts: Mapping[str, Mapping[str, Any]]
    reference: str
    first: int
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row:
        """The row of that name, or an `InputError` that lists what there is."""
        for row in self.rows:
            if row.name == name:
                return row
        raise InputError(
            f"recipe {self.name} has no row {name!r}: expected one of {', '.join(r.name for r in self.rows)}"
        )

    def chosen(self, patterns: Sequence[str]) -> list[Row]:
        """Rows by name, pattern (`mlp*`) or group, with the parts their mixtures need; all of them for no pattern."""
        if not patterns:
            return list(self.rows)
        wanted: set[str] = set()
        for pattern in patterns:
            found = {row.name for row in self.rows if pattern == row.group or fnmatch.fnmatchcase(row.name, pattern)}
            if not found:
                self.row(pattern)
            wanted |= found
        for row in reversed(self.rows):
            if row.name in wanted:
                wanted |= set(row.settings.get("parts", ()))
        return [row for row in self.rows if row.name in wanted]


def load_recipe(name: str) -> Recipe:
    """The recipe in the package's folder `name`."""
    if name not in RECIPES:
        raise InputError(f"recipe {name!r}: expected one of {', '.join(RECIPES)}")
    folder = files("neuralgram.recipes") / name
    sources = {
        entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".toml")
    }
    return parse_recipe(name, sources)


def parse_recipe(name: str, sources: Mapping[str, str]) -> Recipe:
    """A recipe from its files' texts, by file name."""
    parsed = {file: tomllib.loads(text) for file, text in sources.items()}
    head = parsed.pop("recipe.toml")
    made = [row for file, written in sorted(parsed.items()) for row in _rows(file.removesuffix(".toml"), written)]
    by_name = {row.name: row for row in made}
    for row in made:
        for part in row.settings.get("parts", ()):
            if part not in by_name:
                raise InputError(f"recipe {name}, row {row.name}: no part {part!r}")
        if row.text not in head["texts"]:
            raise InputError(f"recipe {name}, row {row.name}: no text {row.text!r}")
    return Recipe(
        name, head["title"], head["file"], head["texts"], head["reference"], head.get("first", 0), _ordered(made)
    )


def _rows(name: str, written: dict[str, Any]) -> list[Row]:
    """The row of a file and its variants."""
    variants: dict[str, Any] = written.pop("variants", {})
    rows = [_row(name, written)]
    for suffix, changes in variants.items():
        base = copy.deepcopy(written)
        base.pop("paper", None)
        base |= {"group": "review", "note": "", "tried": 1, "label": f"{written.get('label', name)}, {suffix}"}
        rows.append(_row(f"{name}-{suffix}", _merged(base, changes)))
    return rows


def _row(name: str, written: Mapping[str, Any]) -> Row:
    known = ("kind", "group", "text", "label", "paper", "tried", "note")
    given = {key: value for key, value in written.items() if key in known}
    settings = {key: value for key, value in written.items() if key not in known}
    row = Row(name=name, settings=settings, **{"label": name, "group": "paper", "text": "main", **given})
    if row.kind not in KINDS or row.group not in GROUPS:
        raise InputError(f"row {name}: kind {row.kind!r}, group {row.group!r}: expected {KINDS} and {GROUPS}")
    return row


def _merged(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes`, table by table; an empty table replaces what is there."""
    out = dict(base)
    for key, value in changes.items():
        inner = out.get(key)
        out[key] = _merged(inner, value) if value and isinstance(inner, dict) and isinstance(value, Mapping) else value
    return out


def _ordered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """By group, counting models before networks before mixtures, then by name; a part before what it is part of."""
    depth: dict[str, int] = {}
    by_name = {row.name: row for row in rows}

    def level(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((level(part) for part in by_name[name].settings.get("parts", ())), default=0)
        return depth[name]

    kinds = ("ngram", "network", "mixture")
    return tuple(
        sorted(rows, key=lambda r: (GROUPS.index(r.group), level(r.name), kinds.index(r.kind), _natural(r.name)))
    )


def _natural(name: str) -> tuple[Any, ...]:
    """So that mlp10 follows mlp9."""
    digits = "".join(c if c.isdigit() else " " for c in name).split()
    return ("".join(c for c in name if not c.isdigit()), [int(d) for d in digits])
