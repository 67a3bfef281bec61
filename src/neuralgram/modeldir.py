"""A model directory: everything a model needs, in four files, nothing pickled.

config.json        what the contract between engines expresses: architecture and sizes
model.safetensors  what is learned or counted; F32 for a network
tokenizer.json     a Hugging Face tokenizer
neuralgram.json    format version, kind, boundary, what config.json cannot say, where the model came from,
                   and the SHA-256 of the other files: a truncated or altered directory is refused
parts/0 …          the parts of a mixture, each a model directory of its own
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralgram import __version__
from neuralgram.errors import InputError, ModelDirError
from neuralgram.files import sha256, write_together
from neuralgram.lm import LanguageModel, State

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM
    from neuralgram.text.tokenizers import Tokenizer

FORMAT = 1
BOUNDARIES = ("stream", "line", "document")
# kind -> where its class is; imported only when such a model is loaded, so n-grams never load PyTorch.
KINDS = {
    "nplm": "neuralgram.neural.nplm:NPLM",
    "ngram": "neuralgram.ngram.model:NgramModel",
    "mixture": "neuralgram.mixture:Mixture",
    "uniform": "neuralgram.mixture:Uniform",
}
_CONTRACT_KEYS = {"tl_arch", "vocab_size", "tl_context", "tl_d_emb", "hidden_size", "tl_direct"}


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
    """Write `saved` into `folder`, each file whole or not at all.

    Raises `InputError` where tokenizer, boundary and model do not agree on the vocabulary.
    """
    folder = Path(folder)
    model = saved.model
    if saved.boundary not in BOUNDARIES:
        raise InputError(f"boundary {saved.boundary!r}: expected one of {', '.join(BOUNDARIES)}")
    if saved.tokenizer is not None:
        check_vocabulary(model.vocab_size, saved.tokenizer, saved.boundary)
    form = "tinyllm" if model.kind == "nplm" else "neuralgram"
    files = {
        "config.json": _json(model.contract_config()),
        "model.safetensors": _tensors(model.state(), {"format": form, "tl_arch": model.kind}),
    }
    if saved.frequencies is not None:
        files["frequencies.safetensors"] = _tensors({"frequencies": saved.frequencies}, {"format": "neuralgram"})
    if saved.tokenizer is not None:
        files["tokenizer.json"] = saved.tokenizer.to_json().encode()
    parts = model.parts
    for number, part in enumerate(parts):
        save(folder / "parts" / str(number), Saved(part, saved.tokenizer, saved.boundary))
    story = {
        **saved.info,
        "format": FORMAT,
        "kind": model.kind,
        "model": model.config(),
        "boundary": saved.boundary,
        "tokenizer": saved.tokenizer.name if saved.tokenizer is not None else saved.info.get("tokenizer"),
        "parts": len(parts),
        "versions": saved.info.get("versions") or {"neuralgram": __version__, "numpy": np.__version__},
        "files": {name: sha256(data) for name, data in files.items()},
    }
    files["neuralgram.json"] = _json(story)
    write_together(folder, files)


def load(folder: Path | str) -> Saved:
    """Read a model directory; `ModelDirError` says in one line why one cannot be read."""
    folder = Path(folder)
    story = read_story(folder)
    files = _read_files(folder, story)
    contract = _parse(files["config.json"], folder / "config.json")
    state = _read_tensors(files["model.safetensors"], folder / "model.safetensors")
    if story:
        model = _build(folder, story, state)
        if model.contract_config() != contract:
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
        frequencies = _read_tensors(files[path.name], path).get("frequencies")
    return Saved(model, tokenizer, story.get("boundary", "stream"), story, frequencies)


def read_story(folder: Path) -> dict[str, Any]:
    """The contents of neuralgram.json, or {} in a directory that another engine wrote."""
    if not folder.is_dir():
        raise ModelDirError(f"{folder}: no such model directory; `train … --out DIR` makes one")
    path = folder / "neuralgram.json"
    if not path.exists():
        if not (folder / "config.json").exists():
            raise ModelDirError(f"{folder}: not a model directory (no config.json); `train … --out DIR` makes one")
        return {}
    story = _parse(path.read_bytes(), path)
    if story.get("format") != FORMAT:
        raise ModelDirError(f"{path}: format {story.get('format')!r}; this version reads format {FORMAT}")
    return story


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
    from neuralgram.neural.nplm import NPLM

    model = load(dir).model
    if not isinstance(model, NPLM):
        raise ModelDirError(f"{dir}: holds a {type(model).__name__}; expected a network (tl_arch 'nplm')")
    return model


def check_vocabulary(vocab_size: int, tokenizer: Tokenizer, boundary: str) -> None:
    """Refuse a tokenizer that is not of the model's vocabulary (the boundary symbol counts as one)."""
    expected = tokenizer.vocab_size + (boundary != "stream")
    if vocab_size != expected:
        raise InputError(
            f"a model over {vocab_size} symbols: tokenizer {tokenizer.name!r}, boundary {boundary!r} makes {expected}"
        )


def _tensors(state: State, metadata: dict[str, str]) -> bytes:
    """The tensors as a safetensors file. The library writes metadata in no fixed order: the header is sorted here, so
    that equal tensors make equal files."""
    from safetensors.numpy import save as encode

    data = encode({name: np.ascontiguousarray(array) for name, array in state.items()}, metadata=metadata)
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    ordered = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode().ljust(size - 8)
    return bytes(data[:8] + ordered + data[size:])


def _read_files(folder: Path, story: dict[str, Any]) -> dict[str, bytes]:
    """The files' bytes. Another architecture is named as such, before anything is said of hashes."""
    config = folder / "config.json"
    arch = _parse(config.read_bytes(), config).get("tl_arch") if config.is_file() else story.get("kind")
    if arch not in KINDS:
        raise ModelDirError(f"{folder}: tl_arch {arch!r}; expected one of {', '.join(KINDS)}")
    hashes: dict[str, str] = story.get("files") or dict.fromkeys(["config.json", "model.safetensors"], "")
    if not story and (folder / "tokenizer.json").exists():
        hashes["tokenizer.json"] = ""
    files = {}
    for name, expected in hashes.items():
        path = folder / name
        if not path.is_file():
            raise ModelDirError(f"{folder}: {name} is missing; copy the whole directory, or train again")
        files[name] = path.read_bytes()
        if expected and sha256(files[name]) != expected:
            raise ModelDirError(f"{path}: altered or truncated since it was saved (its SHA-256 differs)")
    return files


def _read_tensors(data: bytes, path: Path) -> State:
    from safetensors import SafetensorError
    from safetensors.numpy import load as decode

    try:
        return dict(decode(data))
    except (SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise ModelDirError(f"{path}: not a whole safetensors file ({error})") from None


def _build(folder: Path, story: dict[str, Any], state: State) -> LanguageModel:
    kind = story.get("kind")
    if kind not in KINDS:
        raise ModelDirError(f"{folder}: a model of kind {kind!r}; expected one of {', '.join(KINDS)}")
    module, name = KINDS[kind].split(":")
    owner = getattr(import_module(module), name)
    build = getattr(owner, "from_state", owner)
    try:
        if story.get("parts"):
            parts = [load(folder / "parts" / str(number)).model for number in range(story["parts"])]
            model: LanguageModel = build(story["model"], state, parts)
        else:
            model = build(story["model"], state)
    except (InputError, KeyError, TypeError, RuntimeError) as error:
        raise ModelDirError(f"{folder}: {_one_line(error)}") from None
    return model


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


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _parse(data: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise ModelDirError(f"{path}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ModelDirError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
