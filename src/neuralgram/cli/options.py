"""Options of commands, made from the settings of whoever owns them: name, type, help, and what stands in for none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from neuralgram.families import members, options
from neuralgram.settings import Described, described, shown
from neuralgram.training.config import ReadSettings

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]

_TYPES: dict[type, Any] = {int: click.INT, float: click.FLOAT}
_MEGABYTE = 1 << 20


def setting_options(
    *owners: type,
    planned: bool = False,
    without: Iterable[str] = (),
    families: Mapping[str, Mapping[str, str]] | None = None,
) -> Callable[[Command], Command]:
    """The options of all settings of `owners`, each name once.

    planned   what is not given stays None: something else chooses, or the owner's default stands in
    without   names of settings that the command has no option for
    families  of settings that hold a member's own options, so that their `help` lists these
    """
    chosen: dict[str, Described] = {}
    for owner in owners:
        for one in described(owner):
            if one.name not in without:
                chosen.setdefault(one.key, one)
    return stacked(option(one, planned=planned, family=(families or {}).get(one.name, {})) for one in chosen.values())


def family_options(family: Mapping[str, str]) -> Callable[[Command], Command]:
    """The options that any member of a family takes, each name once; it says whose they are where not all take it."""
    every = []
    for takers in options(family).values():
        whose = "" if len(takers) == len(family) else f"Of {', '.join(takers)}: "
        every.append(option(next(iter(takers.values())), planned=True, whose=whose))
    return stacked(every)


def option(
    one: Described, *, planned: bool = False, whose: str = "", family: Mapping[str, str] | None = None
) -> Option:
    """The option of one setting."""
    about, name = one.about, one.option
    said = about.help[:1].lower() + about.help[1:] if whose else about.help
    how: dict[str, Any] = {"help": f"{whose}{said}{_mark(one, planned)}"}
    if one.kind is bool:
        if one.default is False and not about.auto:
            return click.option(name, one.key, is_flag=True, **how)
        return click.option(f"{name}/--no-{name[2:]}", one.key, default=None, **how)
    if not planned and not about.auto and one.default is not None:
        how |= {"default": one.default, "show_default": True}
    if about.choices:
        how["metavar"] = f"[{'|'.join(about.choices)}]"
    if one.kind is dict:
        how |= {"metavar": "NAME=VALUE", "multiple": True, "is_eager": True, "callback": _named_values(family or {})}
        return click.option(name.removesuffix("s"), one.key, **how)
    if one.item is not None:
        how |= {"metavar": f"{_TYPES[one.item].name.upper()},…", "callback": _numbers(one)}
    elif one.kind is int and about.unit == "bytes":
        how |= {"metavar": "MEGABYTES", "type": click.INT, "callback": _bytes}
    else:
        how["type"] = _TYPES.get(one.kind, click.STRING)
    return click.option(name, one.key, **how)


def listing(family: Mapping[str, str]) -> str:
    """What each member of a family can be told, a line a setting."""
    lines = []
    for name, owner in members(family, "member").items():
        found = described(owner.Settings)
        lines.append(name if found else f"{name}: takes none")
        lines += [f"  {one.name}: {holds(one)}. {one.about.help}{_mark(one, planned=True)}" for one in found]
    return "\n".join(lines)


def holds(one: Described) -> str:
    """What a setting may be, in words: `whole number of at least 1`, `sgd or adamw`."""
    about = one.about
    if about.choices:
        return " or ".join(about.choices)
    words = {int: "whole number", float: "number", str: "text", bool: "yes or no", dict: "names with values"}
    if one.item is not None:
        several = f"{words[one.item]}, or several" if one.kind is object else f"{one.count or ''} {words[one.item]}s"
        return f"{several.strip()} {about.range}".strip()
    unit = f"({about.unit})" if about.unit else ""
    return " ".join(part for part in (words[one.kind], about.range, unit) if part)


def stacked(every: Iterable[Option]) -> Callable[[Command], Command]:
    """Several decorators as one; the first is the first in the help."""
    found = list(every)

    def decorate(command: Command) -> Command:
        for decorator in reversed(found):
            command = decorator(command)
        return command

    return decorate


def _mark(one: Described, planned: bool) -> str:
    """What stands in where nothing is given, in brackets; click shows the default of what nothing else chooses."""
    if one.about.auto:
        return f" [{one.about.auto}]"
    unmarked = not planned or one.default is None or one.kind in (bool, dict)
    return "" if unmarked else f" [{shown(one.default)}]"


def _numbers(one: Described) -> Callable[..., Any]:
    """`0.9,0.99`, and a single number where the setting may hold one."""
    kind: Any = one.item

    def read(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        try:
            found = [kind(word) for word in value.split(",")]
        except ValueError:
            expected = one.about.expected or f"{holds(one)}, such as {shown(one.default)}"
            raise click.BadParameter(f"{value!r}: expected {expected}") from None
        return found[0] if len(found) == 1 and one.kind is object else found

    return read


def _named_values(family: Mapping[str, str]) -> Callable[..., Any]:
    """`samples=256` → {"samples": 256}; several numbers, as in `cutoffs=2000,8000`, are a list; `help` lists all."""

    def read(ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any] | None:
        if family and "help" in values:
            click.echo(listing(family))
            ctx.exit()
        found = {}
        for word in values:
            name, _, value = word.partition("=")
            try:
                found[name] = json.loads(f"[{value}]" if "," in value and not value.startswith("[") else value)
            except ValueError:
                name = ""
            if not name:
                raise click.BadParameter(f"{word!r}: expected a name and a number, such as samples=256") from None
        return found or None

    return read


def _bytes(_ctx: click.Context, _parameter: click.Parameter, value: int | None) -> int | None:
    return None if value is None else value * _MEGABYTE


reading_options = setting_options(ReadSettings)
