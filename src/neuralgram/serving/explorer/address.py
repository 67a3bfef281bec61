"""The state of a page as an address, and back: text, sizes, seed, steps, rates changed on the way, what is looked at.

A link carries how to make the numbers again, never the numbers; a visitor's own text is never in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from neuralgram.errors import InputError
from neuralgram.serving.explorer.settings import DEFAULTS, Change, Limits, Settings, from_plain, to_plain
from neuralgram.tracing.names import parse_changes

VIEWS = ("train", "inside", "vectors", "animals", "read", "lessons")
_TEXT = 200  # characters of a window or name an address may carry
_SET = 4_000  # characters of all the numbers changed in a lesson
# What a page looks at besides its run. A window is kept only where its words come from an embedded text.
LOOKS = ("network", "window", "target", "step_size", "wires", "lesson", "set")
_OF_LESSONS = ("lesson", "set")  # these tell nothing of a text


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
        kept = {name: address.looks[name] for name in _OF_LESSONS if address.looks.get(name)}
        return urlencode({"view": address.view} | kept)
    values: dict[str, str] = {"view": address.view}
    for name, value in to_plain(address.settings).items():
        values[name] = str(int(value)) if isinstance(value, bool) else f"{value}"
    if address.step:
        values["step"] = str(address.step)
    if address.changes:
        values["then"] = ",".join(f"{c.step}:{c.lr!r}:{c.weight_decay!r}" for c in address.changes)
    values |= {name: address.looks[name] for name in LOOKS if address.looks.get(name)}
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
    looks = {name: query[name] for name in LOOKS if name in query}
    for name, value in looks.items():
        longest = _SET if name == "set" else _TEXT
        if len(value) > longest:
            raise InputError(f"{name} of {len(value)} characters in the address: expected at most {longest}")
    return Address(view, from_plain(query), step, _changes(query.get("then", ""), step), looks)


def salvage(query: Mapping[str, str]) -> Address:
    """What is left of an address that cannot be restored: its view, and its lesson as published."""
    view, lesson = query.get("view", ""), query.get("lesson", "")
    looks = {"lesson": lesson} if len(lesson) <= _TEXT else {}
    return Address(view if view in VIEWS else "train", looks=looks)


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
