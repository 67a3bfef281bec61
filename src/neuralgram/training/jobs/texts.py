"""What every training command does first: claim the model directory, find the texts, choose how they become tokens."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from neuralgram.errors import InputError
from neuralgram.families import TOKENIZERS, options
from neuralgram.numbers import spaced
from neuralgram.settings import described, shown
from neuralgram.text.corpora import Corpora, build_corpora
from neuralgram.text.sources import STANDARD_INPUT, Named, Reading, Source, read_documents, require
from neuralgram.text.splits import parse_split
from neuralgram.text.staging import TOLD
from neuralgram.text.tokenizers import load_tokenizer, options_of
from neuralgram.training.config import DEFAULT_SPLIT, TextSettings
from neuralgram.training.jobs.plan import Choice, plan_tokenizer

NOT_SETTINGS = {"out", "resume", "overwrite", "command", "threads", "count"}  # may differ when a run is resumed
_KEPT = "standard-input.txt"  # in the run's folder

Say = Callable[[str], None]


def build(
    how: TextSettings,
    texts: Sequence[Source],
    *,
    valid: Sequence[Source] | None = None,
    test: Sequence[Source] | None = None,
    folder: Path | None = None,
) -> Corpora:
    """The corpora of these texts; the tokenizer may be the path of a tokenizer.json."""
    told = asdict(how)
    if how.tokenizer.endswith(".json"):
        told["tokenizer"] = load_tokenizer(Path(how.tokenizer))
    return build_corpora([_named(text) for text in texts], valid=valid, test=test, folder=folder, **told)


def claim(out: Path, *, resume: bool, overwrite: bool) -> Path:
    """The run folder inside `out`; refuses one that holds something, unless told to resume or overwrite."""
    run = out / "run"
    if resume and overwrite:
        raise InputError("--resume and --overwrite: expected one of the two")
    if resume and not (run / "settings.json").exists():
        raise InputError(f"--resume: {out} holds no run to go on with; leave --resume out to start one")
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: is a file; expected a folder, or a name that is free")
    if not resume and not overwrite and out.is_dir() and any(out.iterdir()):
        raise InputError(f"--out {out}: exists already; --overwrite replaces it, --resume goes on with a stopped run")
    if overwrite:
        shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True, exist_ok=True)
    return run


@contextmanager
def unless_failed(out: Path, resume: bool) -> Iterator[None]:
    """What fails before training leaves no run behind that a second try would stumble over."""
    try:
        yield
    except BaseException:
        if not resume:
            shutil.rmtree(out / "run", ignore_errors=True)
            if not any(out.iterdir()):
                out.rmdir()
        raise


def tell(corpora: Corpora, given: Mapping[str, Any], say: Say) -> None:
    """Say what a unit of the text is, which parts it was given unasked, and how else it might be read."""
    say(f"{'unit':<14} {corpora.boundary:<10} {TOLD[corpora.boundary]}")
    if len(corpora.parts) > 1 and not any(given.get(name) for name in ("split", "valid", "test")):
        sizes = ", ".join(f"{spaced(len(part))} {name}" for name, part in corpora.parts.items())
        say(f"{'parts':<14} {sizes} tokens ({corpora.info['split']}); --split 1.0 learns from all of the text")
    if corpora.hint is not None:
        say(f"hint: {corpora.hint}")


def refuse_unscorable(corpora: Corpora, context: int) -> None:
    """Refuse, before any work is done, a held-out part in which a model that reads `context` tokens predicts none."""
    for name, part in (("validation", corpora.valid), ("test", corpora.test)):
        if part is not None and len(part.windows(context)) == 0:
            raise InputError(
                f"the {name} part of {len(part)} tokens has nothing to score: expected more than the context, "
                f"{context} (a stream's first tokens are not predicted); give more text, or another --split"
            )


def check_text(given: Mapping[str, Any]) -> TextSettings:
    """The sources, how they are read and split, and the tokenizer if one was asked for; the settings given."""
    sources: list[Source] = [*given["texts"], *(given.get("valid") or ()), *(given.get("test") or ())]
    require(sources)
    names = [one.name for one in described(TextSettings)]
    settings = TextSettings(**{name: given[name] for name in names if given.get(name)})
    Reading(settings.encoding, settings.errors, settings.field)
    if settings.split:
        parse_split(settings.split)
    if given.get("tokenizer"):
        tokenizer_options(settings.tokenizer, given)
    return settings


def tokenizer_options(tokenizer: str, given: Mapping[str, Any], vocab_size: int | None = None) -> dict[str, Any]:
    """The options of a tokenizer by its own names; one it does not take is an `InputError` that says who does.

    `vocab_size` is the size to choose where none was asked for.
    """
    taken = {} if tokenizer.endswith(".json") else options_of(tokenizer)
    found: dict[str, Any] = {}
    for key, takers in options(TOKENIZERS).items():
        value = given.get(key)
        if value is None or value is False:
            continue
        if key not in taken:
            raise InputError(_refusal(tokenizer, next(iter(takers.values())).option, list(takers)))
        found[taken[key].name] = value
    if vocab_size is not None and any(option.name == "vocab_size" for option in taken.values()):
        found.setdefault("vocab_size", vocab_size)
    return found


def _refusal(tokenizer: str, flag: str, takers: list[str]) -> str:
    if tokenizer.endswith(".json"):
        return f"{flag}: {tokenizer} is a finished tokenizer, which takes no options; leave it out"
    own = [takers[tokenizer].option for takers in options(TOKENIZERS).values() if tokenizer in takers]
    takes = f"takes {', '.join(own)}" if own else "takes no options"
    return f"{flag}: the {tokenizer} tokenizer {takes}; expected --tokenizer {' or '.join(takers)}, or leave it out"


def settle(run: Path, given: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Which texts, how they are read, and with which tokenizer; standard input is kept so that a run can resume."""
    asked = check_text(given)
    texts = [_kept(text, run) for text in given["texts"]]
    valid, test = ([str(text) for text in given.get(name) or ()] or None for name in ("valid", "test"))
    chosen = _choose_tokenizer(texts, asked, given)
    for name, choice in chosen.items():
        say(f"{name:<14} {shown(choice.value):<10} {choice.reason}")
    tokenizer = chosen["tokenizer"].value
    size = chosen["vocab_size"].value if "vocab_size" in chosen else None
    text = replace(
        asked,
        tokenizer=tokenizer,
        options=tokenizer_options(tokenizer, given, size),
        split=asked.split or (None if valid or test else DEFAULT_SPLIT),
    )
    comparable = {key: value for key, value in given.items() if key not in NOT_SETTINGS}
    return {
        "given": jsonable(comparable),
        "texts": texts,
        "valid": valid,
        "test": test,
        "text": asdict(text),
        "reasons": {name: choice.reason for name, choice in chosen.items()},
    }


def _choose_tokenizer(texts: list[str], asked: TextSettings, given: Mapping[str, Any]) -> dict[str, Choice]:
    if given.get("tokenizer"):
        return {"tokenizer": Choice(asked.tokenizer, "as asked")}
    characters = lines = 0
    for document in read_documents(map(_named, texts), Reading(asked.encoding, asked.errors, asked.field)):
        for piece in document.pieces:
            characters += len(piece)
            lines += piece.count("\n")
    return plan_tokenizer(characters, asked.boundary, lines if asked.boundary == "line" else 1)


def provenance(settings: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What neuralgram.json tells of where a model came from, as far as its texts decide it."""
    names = [_named(text) for text in settings["texts"]]
    texts = [text.name if isinstance(text, Named) else text for text in names]
    return {
        "command": given.get("command"),
        "reasons": settings["reasons"],
        "data": {**settings["text"], "sources": {**{key: settings[key] for key in ("valid", "test")}, "texts": texts}},
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Of what can change a number."""
    packages = {name: version(name) for name in ("neuralgram", "torch", "numpy", "tokenizers")}
    return {**packages, "python": platform.python_version()}


def _kept(text: str, run: Path) -> str:
    if str(text) != "-":
        return str(text)
    path = run / _KEPT
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return str(path)


def _named(text: Source) -> Source:
    """A text as errors name it: what was kept of standard input is that."""
    if isinstance(text, str | Path) and Path(text).parts[-2:] == ("run", _KEPT):
        return Named(Path(text), STANDARD_INPUT)
    return text


def jsonable(value: Any) -> Any:
    """`value` with paths as strings and tuples as lists."""
    if isinstance(value, Mapping):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def part_sizes(corpora: Corpora) -> dict[str, int]:
    """Tokens of each part there is."""
    return {name: len(part) for name, part in corpora.parts.items()}
