"""Settings, each written once: a field of its owner's frozen dataclass says what it is, and everything else reads that.

    @dataclass(frozen=True)
    class Settings:
        lr: float = setting(2e-3, help="Learning rate.", low=0)

From the field come the command's option, the printed plan, the page's control, the row in the docs, the check and its
error sentence. Values are JSON values; what a field may hold is its annotation: int, float, bool, str, a tuple or a
dict, each perhaps `| None`.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from neuralgram.errors import InputError

T = TypeVar("T")
_KEY = "setting"


@dataclass(frozen=True)
class About:
    """What is said of a setting.

    help     one sentence for a person; `auto` says what stands in where nothing is given
    unit     of the number: nats, tokens, seconds, updates, …
    choices  the names a text may have; a family will do
    low, high, above, below   bounds: from low, to high, above (without it), below (without it)
    expected the words of a refusal, where the type and the bounds do not say enough
    refused  the whole sentence of one, {value} in it, where its beginning is another than the name and the value
    option   its name on the command line, where that is another than the field's
    """

    help: str
    unit: str = ""
    choices: Collection[str] = ()
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    auto: str = ""
    expected: str = ""
    refused: str = ""
    option: str = ""

    @property
    def range(self) -> str:
        """The bounds in words: `of at least 0 and below 1`; "" without any."""
        words = [("of at least", self.low), ("above", self.above), ("at most", self.high), ("below", self.below)]
        return " and ".join(f"{word} {bound:g}" for word, bound in words if bound is not None)

    def admits(self, value: float) -> bool:
        """Whether a number is finite and within the bounds."""
        return (
            abs(value) <= sys.float_info.max  # finite, and no whole number that a float cannot hold
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


@dataclass(frozen=True)
class Described:
    """A setting as others read it: its name, the type it holds, whether it may be None, its default, and the rest."""

    name: str
    kind: type
    item: type | None  # of a tuple's entries; of one or several of them where `kind` is object
    count: int  # of a tuple's entries; 0: any number
    optional: bool
    default: Any
    required: bool
    about: About

    @property
    def key(self) -> str:
        """Its name among the options of the command: `weight_decay`."""
        return self.about.option or self.name

    @property
    def option(self) -> str:
        """As it is written on the command line: `--weight-decay`."""
        return "--" + self.key.replace("_", "-")


def setting(
    default: Any = MISSING,
    *,
    help: str,
    unit: str = "",
    choices: Collection[str] = (),
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    auto: str = "",
    expected: str = "",
    refused: str = "",
    option: str = "",
) -> Any:
    """A field of a settings class; a default that is a dict or a list is made anew for each instance."""
    about = About(help, unit, choices, low, high, above, below, auto, expected, refused, option)
    if isinstance(default, dict | list):
        return field(default_factory=lambda: type(default)(default), metadata={_KEY: about})
    if default is MISSING:
        return field(metadata={_KEY: about})
    return field(default=default, metadata={_KEY: about})


def described(owner: type) -> tuple[Described, ...]:
    """Every setting of a class, in its order."""
    hints = get_type_hints(owner)
    found = []
    for one in fields(owner):
        if _KEY not in one.metadata:
            continue
        kind, item, count, optional = _read_hint(hints[one.name])
        required = one.default is MISSING and one.default_factory is MISSING
        default = None if required else one.default if one.default is not MISSING else _made(one)
        found.append(Described(one.name, kind, item, count, optional, default, required, one.metadata[_KEY]))
    return tuple(found)


def check(made: Any) -> None:
    """Refuse the first setting of `made` that is not what its field says, with an `InputError`; whole numbers given
    for a float are made floats, lists tuples."""
    for one in described(type(made)):
        object.__setattr__(made, one.name, checked(one, getattr(made, one.name)))


def checked(one: Described, value: Any) -> Any:
    """`value` as the setting holds it, or an `InputError` that names it."""
    if value is None and one.optional:
        return None
    if one.kind is tuple:
        if not isinstance(value, list | tuple) or (one.count and len(value) != one.count):
            raise _refusal(one, value, f"{one.count or 'a list of'} numbers")
        return tuple(_checked(one, one.item or object, item) for item in value)
    return _checked(one, one.kind, value)


def read(owner: type[T], given: Mapping[str, Any], what: str = "setting", whose: str = "") -> T:
    """The settings `given` by name, checked; names that `owner`, called `whose`, does not have are refused."""
    known = [one.name for one in described(owner)]
    unknown = sorted(given.keys() - set(known))
    if unknown:
        there = f"{whose} has" if whose else "expected one of"
        raise InputError(f"{what} {', '.join(unknown)}: {there} {', '.join(known) or 'none'}")
    made = owner(**given)
    check(made)
    return made


def shown(value: Any) -> str:
    """A value as it is written on the command line, and as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(shown, value)) or "none"
    if isinstance(value, Mapping):
        return ",".join(f"{key}={shown(item)}" for key, item in value.items()) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def whole(name: str, value: Any) -> int:
    """`value` as an int, or an `InputError` that names it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{name} {value!r}: expected a whole number")
    return operator.index(value)


def number(name: str, value: Any) -> float:
    """`value` as a float, or an `InputError` that names it."""
    if isinstance(value, bool | str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise InputError(f"{name} {value!r}: expected a number")
    return float(value)


def _checked(one: Described, kind: type, value: Any) -> Any:
    about = one.about
    if about.choices and (not isinstance(value, str) or value not in about.choices):
        raise _refusal(one, value, f"one of {', '.join(about.choices)}")
    if kind in (int, float):
        whole = kind is int
        number = hasattr(value, "__index__") if whole else isinstance(value, int | float) or hasattr(value, "__float__")
        if isinstance(value, bool) or not number or isinstance(value, str) or not about.admits(value):
            bounds = f" {about.range}" if about.range else ""
            raise _refusal(one, value, f"a {'whole ' * whole}number{bounds}")
        return int(value) if whole else float(value)
    if kind in (str, bool, dict) and not isinstance(value, Mapping if kind is dict else kind):
        raise _refusal(one, value, _WORDS[kind])
    return value


def _refusal(one: Described, value: Any, expected: str) -> InputError:
    if one.about.refused:
        return InputError(one.about.refused.format(value=value))
    shown = value if isinstance(value, float) else repr(value)
    return InputError(f"{one.name} {shown}: expected {one.about.expected or expected}")


_WORDS = {str: "text", bool: "true or false", dict: "names with values"}


def _read_hint(hint: Any) -> tuple[type, type | None, int, bool]:
    """The plain type of an annotation, the type and number of a tuple's entries, and whether None is allowed."""
    optional = False
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        optional = len(kinds) < len(get_args(hint))
        if len(kinds) > 1:  # one or several of a type
            return object, kinds[0], 0, optional
        hint = kinds[0]
    origin = get_origin(hint) or hint
    arguments = get_args(hint)
    if origin is tuple:
        count = 0 if Ellipsis in arguments else len(arguments)
        return tuple, arguments[0] if arguments else None, count, optional
    return dict if _is_mapping(origin) else origin, None, 0, optional


def _is_mapping(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Mapping)


def _made(one: Any) -> Any:
    return one.default_factory()
