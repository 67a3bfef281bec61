"""A model directory: everything a model needs, in four files, nothing pickled.

config.json        what the contract between engines expresses: architecture and sizes
model.safetensors  what is learned or counted; F32 for a network
tokenizer.json     a Hugging Face tokenizer
neuralgram.json    format version, kind, boundary, what config.json cannot say, where the model came from, the SHA-256
                   of the other files and of what the JSON files and the parts say, however that is spaced and ordered:
                   a truncated or altered directory is refused
parts/0 …          the parts of a mixture, each a model directory of its own
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from neuralgram import __version__
from neuralgram.errors import InputError, ModelDirError
from neuralgram.families import KINDS, member
from neuralgram.files import (
    content,
    current,
    json_bytes,
    read_json,
    read_tensors,
    replacing,
    sha256,
    tensors_bytes,
    write_together,
)
from neuralgram.lm import LanguageModel, State

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM
    from neuralgram.text.tokenizers import Tokenizer

FORMAT = 1
BOUNDARIES = ("stream", "line", "document")
_CONTRACT_KEYS = {"tl_arch", "vocab_size", "tl_context", "tl_d_emb", "hidden_size", "tl_direct"}
_STORY = "neuralgram.json"


@dataclass
class Saved:
    """What a directory holds: the model, its tokenizer (None where the directory names none), and its story.

    frequencies   occurrences of each symbol in the training part, [V], or None where they are not known
    """

    model: LanguageModel
    tokenizer: Tokenizer | None
    boundary: str = "stream"
    info: dict[str, Any] = field(default_factory=dict)
    frequencies: NDArray[np.int64] | None = None


def save(folder: Path | str, saved: Saved) -> None:
    """Write `saved` into `folder`, all of it or nothing; what else is there stays.

    Raises `InputError` where tokenizer, boundary and model do not agree on the vocabulary, or the model is of no kind
    that can be stored.
    """
    folder = Path(folder)
    if saved.boundary not in BOUNDARIES:
        raise InputError(f"boundary {saved.boundary!r}: expected one of {', '.join(BOUNDARIES)}")
    if saved.tokenizer is not None:
        check_vocabulary(saved.model.vocab_size, saved.tokenizer, saved.boundary)
    with replacing(folder, stale=_names(folder)) as stage:
        _write(stage, saved)


def _write(folder: Path, saved: Saved) -> bytes:
    """Write the files of a model and of its parts; returns neuralgram.json, which holds all of them."""
    model = saved.model
    if model.kind not in KINDS:
        raise InputError(f"{model.called} cannot be stored: of kind {model.kind!r}, expected one of {', '.join(KINDS)}")
    files = {
        "config.json": json_bytes(model.contract_config()),
        "model.safetensors": tensors_bytes(_stored(model), {"format": model.form, "tl_arch": model.kind}),
    }
    if saved.frequencies is not None:
        files["frequencies.safetensors"] = tensors_bytes({"frequencies": saved.frequencies}, {"format": "neuralgram"})
    if saved.tokenizer is not None:
        files["tokenizer.json"] = saved.tokenizer.to_json().encode()
    contents = {name: content(data) for name, data in files.items() if name.endswith(".json")}
    for number, part in enumerate(model.parts):
        told = _write(folder / "parts" / str(number), Saved(part, saved.tokenizer, saved.boundary))
        contents[_part_story(number)] = content(told)
    story = {
        **saved.info,
        "format": FORMAT,
        "kind": model.kind,
        "model": model.config(),
        "boundary": saved.boundary,
        "tokenizer": saved.tokenizer.name if saved.tokenizer is not None else saved.info.get("tokenizer"),
        "parts": len(model.parts),
        "versions": saved.info.get("versions") or {"neuralgram": __version__, "numpy": np.__version__},
        "files": {name: sha256(data) for name, data in files.items()},
        "contents": contents,
    }
    files[_STORY] = json_bytes(story)
    write_together(folder, files)
    return files[_STORY]


def _stored(model: LanguageModel) -> State:
    """The model's arrays; where another engine reads them, real numbers are of 32 bits."""
    state = model.state()
    if model.form != "tinyllm":
        return state
    return {name: a.astype(np.float32) if a.dtype.kind == "f" else a for name, a in state.items()}


def load(folder: Path | str) -> Saved:
    """Read a model directory; `ModelDirError` says in one line why one cannot be read."""
    folder = Path(folder)
    story = read_story(folder)
    files = _read_files(folder, story)
    contract = read_json(files["config.json"], folder / "config.json")
    state = read_tensors(files["model.safetensors"], folder / "model.safetensors")
    if story:
        model = _build(folder, story, state)
        if content(json_bytes(model.contract_config())) != content(files["config.json"]):
            raise ModelDirError(f"{folder}: config.json and neuralgram.json disagree; save the model again")
    else:
        model = _build_contract(folder, contract, state)
    tokenizer = None
    if "tokenizer.json" in files:
        from neuralgram.text.tokenizers import load_tokenizer

        tokenizer = load_tokenizer(files["tokenizer.json"].decode())
    frequencies = None
    if "frequencies.safetensors" in files:
        path = folder / "frequencies.safetensors"
        frequencies = read_tensors(files[path.name], path).get("frequencies")
    return Saved(model, tokenizer, story.get("boundary", "stream"), story, frequencies)


def is_model(path: Path | str) -> bool:
    """Whether there is a model: a model directory, whole or not, or a file named as ARPA files are."""
    path = Path(path)
    return current(path, "config.json").is_file() or (path.is_file() and is_arpa(path))


def is_arpa(path: Path) -> bool:
    """Whether the name is that of an ARPA file, which is a model too."""
    return path.name.endswith((".arpa", ".arpa.gz", ".lm", ".lm.gz"))


def read_story(folder: Path) -> dict[str, Any]:
    """The contents of neuralgram.json, or {} in a directory that another engine wrote."""
    if not folder.is_dir():
        raise ModelDirError(f"{folder}: no such model directory; `train … --out DIR` makes one")
    path = current(folder, _STORY)
    if not path.exists():
        if not current(folder, "config.json").exists():
            raise ModelDirError(f"{folder}: not a model directory (no config.json); `train … --out DIR` makes one")
        return {}
    story = read_json(path.read_bytes(), path)
    if story.get("format") != FORMAT:
        raise ModelDirError(f"{path}: format {story.get('format')!r}; this version reads format {FORMAT}")
    return story


def bytes_on_disk(path: Path) -> int | None:
    """What the files of a model take, its parts' among them, and nothing else in its folder; None where there is none.
    An ARPA file is all of its model."""
    if path.is_file():
        return path.stat().st_size
    if not is_model(path):
        return None
    story = read_story(path)
    parts = [bytes_on_disk(current(path, "parts") / str(number)) or 0 for number in range(story.get("parts", 0))]
    files = [current(path, name) for name in (*_hashes(path, story), _STORY)]
    return sum(parts) + sum(file.stat().st_size for file in files if file.is_file())


def save_nplm(model: NPLM, dir: Path | str, tokenizer: str | Tokenizer = "bytes") -> None:
    """Write a network as a model directory; `tokenizer` is one of the family's names or a tokenizer.

    A tokenizer that fits the model's vocabulary is stored too, which lets `neuralgram.load` read strings.
    """
    from neuralgram.families import TOKENIZERS
    from neuralgram.text.tokenizers import tokenizer_class

    if isinstance(tokenizer, str):
        if tokenizer not in TOKENIZERS:
            raise InputError(f"tokenizer {tokenizer!r}: expected one of {', '.join(TOKENIZERS)}, or a tokenizer")
        ready = tokenizer_class(tokenizer).ready()
        stored = ready if ready is not None and ready.vocab_size == model.vocab_size else None
        save(dir, Saved(model, stored, "stream", {"tokenizer": tokenizer}))
    else:
        boundary = "stream" if tokenizer.vocab_size == model.vocab_size else "document"
        save(dir, Saved(model, tokenizer, boundary))


def load_nplm(dir: Path | str) -> NPLM:
    """The network of a model directory (its tokenizer, if any, is left alone)."""
    model = load(dir).model
    if model.kind != "nplm":
        raise ModelDirError(f"{dir}: holds a {type(model).__name__}; expected a network (tl_arch 'nplm')")
    return cast("NPLM", model)


def check_vocabulary(vocab_size: int, tokenizer: Tokenizer, boundary: str) -> None:
    """Refuse a tokenizer that is not of the model's vocabulary (the boundary symbol counts as one)."""
    expected = tokenizer.vocab_size + (boundary != "stream")
    if vocab_size != expected:
        raise InputError(
            f"a model over {vocab_size} symbols: tokenizer {tokenizer.name!r}, boundary {boundary!r} makes {expected}"
        )


def _names(folder: Path) -> set[str]:
    """What in `folder` belongs to the model that is there; nothing where there is none that can be read."""
    try:
        story = read_story(folder)
    except ModelDirError:
        return set()
    return {*_hashes(folder, story), _STORY, "parts"} if story else set()


def _hashes(folder: Path, story: Mapping[str, Any]) -> dict[str, str]:
    """The files of a model beside neuralgram.json, and what their SHA-256 is to be; "" where nobody said."""
    if story.get("files"):
        return dict(story["files"])
    found = ["config.json", "model.safetensors"]
    if not story and (folder / "tokenizer.json").exists():
        found.append("tokenizer.json")
    return dict.fromkeys(found, "")


def _read_files(folder: Path, story: dict[str, Any]) -> dict[str, bytes]:
    """The files' bytes. Another architecture is named as such, before anything is said of hashes."""
    config = current(folder, "config.json")
    arch = read_json(config.read_bytes(), config).get("tl_arch") if config.is_file() else story.get("kind")
    if arch not in KINDS:
        raise ModelDirError(f"{folder}: tl_arch {arch!r}; expected one of {', '.join(KINDS)}")
    files = {}
    for name, expected in _hashes(folder, story).items():
        path = current(folder, name)
        if not path.is_file():
            raise ModelDirError(f"{folder}: {name} is missing; copy the whole directory, or train again")
        files[name] = path.read_bytes()
        if expected and sha256(files[name]) != expected and not _says_the_same(path, files[name], story):
            raise ModelDirError(f"{path}: altered or truncated since it was saved (its SHA-256 differs)")
    return files


def _says_the_same(path: Path, data: bytes, story: Mapping[str, Any]) -> bool:
    """Whether a JSON file that was written anew says what it said. Of config.json the model knows by itself: where an
    older version kept no hash of what it said, that is compared when the model is made."""
    expected = story.get("contents", {}).get(path.name)
    if expected is None:
        return path.name == "config.json"
    read_json(data, path)
    return bool(content(data) == expected)


def _part_story(number: int) -> str:
    return f"parts/{number}/{_STORY}"


def _build(folder: Path, story: dict[str, Any], state: State) -> LanguageModel:
    kind = story.get("kind")
    if kind not in KINDS:
        raise ModelDirError(f"{folder}: a model of kind {kind!r}; expected one of {', '.join(KINDS)}")
    owner: type[LanguageModel] = member(KINDS, kind, "kind")
    try:
        return owner.from_state(story["model"], state, _parts(folder, story))
    except (InputError, KeyError, TypeError, RuntimeError) as error:
        raise ModelDirError(f"{folder}: {_one_line(error)}") from None


def _parts(folder: Path, story: Mapping[str, Any]) -> list[LanguageModel]:
    """The models in `parts`, each the one that was saved there."""
    parts = []
    for number in range(story.get("parts") or 0):
        part = current(folder, "parts") / str(number)
        expected = story.get("contents", {}).get(_part_story(number))
        saved = load(part)
        if expected and (not saved.info or content(current(part, _STORY).read_bytes()) != expected):
            raise ModelDirError(f"{part}: another model than was saved there (its SHA-256 differs); mix again")
        parts.append(saved.model)
    return parts


def _build_contract(folder: Path, contract: dict[str, Any], state: State) -> LanguageModel:
    """A network from the contract alone, as another engine writes it."""
    if contract.get("tl_arch") != "nplm":
        raise ModelDirError(f"{folder}: tl_arch {contract.get('tl_arch')!r}; expected 'nplm'")
    missing = sorted(_CONTRACT_KEYS - contract.keys())
    if missing:
        raise ModelDirError(f"{folder / 'config.json'}: {', '.join(missing)} missing")
    story = {
        "kind": "nplm",
        "model": {
            "vocab": contract["vocab_size"],
            "context": contract["tl_context"],
            "d_emb": contract["tl_d_emb"],
            "d_hidden": contract["hidden_size"],
            "direct": contract["tl_direct"],
        },
    }
    return _build(folder, story, state)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
