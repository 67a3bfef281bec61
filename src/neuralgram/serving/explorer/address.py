"""The state of a page as an address, and back: text, sizes, seed, steps, rates changed on the way, what is looked at.

A link carries how to make the numbers again, never the numbers; a visitor's own text is never in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlencode

from neuralgram.errors import InputError
from neuralgram.families import VIEWS, members
from neuralgram.serving.explorer.settings import DEFAULTS, Change, Limits, Settings, from_plain, to_plain
from neuralgram.tracing.names import parse_changes

_TEXT = 200  # characters of a window or name an address may carry


class Look(NamedTuple):
    """What a view looks at besides the run, as an address carries it; each view names its own.

    longest   characters it may have
    of_text   whether it may tell something of the text: beside a visitor's own it is left out
    """

    name: str
    longest: int = _TEXT
    of_text: bool = True


def looks() -> dict[str, Look]:
    """Every look of every view, by its name."""
    return {look.name: look for view in members(VIEWS, "view").values() for look in view.looks}


@dataclass(frozen=True)
class Address:
    """Everything a link restores."""

    view: str = "train"
    settings: Settings = DEFAULTS["animals"]
    step: int = 0
    changes: tuple[Change, ...] = ()
    looks: Mapping[str, str] = field(default_factory=dict)


def write(address: Address) -> str:
    """The query of an address, without the question mark; beside an own text only the view and its lesson."""
    if address.settings.own:
        public = (look.name for look in looks().values() if not look.of_text)
        kept = {name: address.looks[name] for name in public if address.looks.get(name)}
        return urlencode({"view": address.view} | kept)
    values: dict[str, str] = {"view": address.view}
    for name, value in to_plain(address.settings).items():
        values[name] = str(int(value)) if isinstance(value, bool) else f"{value}"
    if address.step:
        values["step"] = str(address.step)
    if address.changes:
        values["then"] = ",".join(f"{c.step}:{c.lr!r}:{c.weight_decay!r}" for c in address.changes)
    values |= {name: address.looks[name] for name in looks() if address.looks.get(name)}
    return urlencode(values)


def read(query: Mapping[str, str], limits: Limits) -> Address:
    """The address that `write` wrote. `InputError` for values out of bounds; unknown names are left alone."""
    view = query.get("view", "train")
    if view not in VIEWS:
        raise InputError(f"view {view[:20]!r}: expected one of {', '.join(VIEWS)}")
    step = _whole(query.get("step", "0"), "step")
    if not 0 <= step <= limits.steps:
        raise InputError(f"step {step}: this page replays at most {limits.steps:,} steps")
    if query.get("sample") == "own":
        raise InputError("a text of one's own is never in an address: paste it again, or choose a sample")
    looked = {look: query[name] for name, look in looks().items() if name in query}
    for look, value in looked.items():
        if len(value) > look.longest:
            raise InputError(f"{look.name} of {len(value)} characters in the address: expected at most {look.longest}")
    found = {look.name: value for look, value in looked.items()}
    return Address(view, from_plain(query), step, _changes(query.get("then", ""), step), found)


def salvage(query: Mapping[str, str]) -> Address:
    """What is left of an address that cannot be restored: its view, and its lesson as published."""
    view, lesson = query.get("view", ""), query.get("lesson", "")
    return Address(view if view in VIEWS else "train", looks={"lesson": lesson} if len(lesson) <= _TEXT else {})


def write_set(changes: Mapping[str, float | str]) -> str:
    """Numbers changed in a lesson as an address has them: `H[0][1]=0.3;window[1]=dog`."""
    return ";".join(f"{place}={str(value).removesuffix('.0')}" for place, value in changes.items())


def read_set(text: str) -> dict[str, float | str]:
    """What `write_set` wrote, by place. `InputError` for what is no change; whether it makes sense the lesson says."""
    return dict(parse_changes([part for part in text.split(";") if part.strip()]))


def _changes(text: str, step: int) -> tuple[Change, ...]:
    out: list[Change] = []
    for part in filter(None, text.split(",")):
        values = part.split(":")
        try:
            change = Change(int(values[0]), float(values[1]), float(values[2]))
        except (ValueError, IndexError):
            raise InputError(f"{part[:40]!r} in the address: expected step:rate:decay") from None
        in_order = change.step >= (out[-1].step if out else 0)
        numbers = math.isfinite(change.lr) and change.lr >= 0 and math.isfinite(change.weight_decay)
        if not (in_order and change.step <= step and numbers and change.weight_decay >= 0):
            raise InputError(f"{part[:40]!r} in the address: expected steps in order, and rates of 0 or more")
        out.append(change)
    if len(out) > _TEXT:
        raise InputError(f"{len(out)} changes of the rates in the address: expected at most {_TEXT}")
    return tuple(out)


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{name} {text[:20]!r}: expected a whole number") from None
