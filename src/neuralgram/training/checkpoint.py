"""Checkpoints: everything a run needs to go on as if it had never stopped, in one safetensors file.

Tensors are those of `Trainer.state`, and `best.NAME`; all else is JSON in the file's metadata. The file is written
beside its place, tensor by tensor, flushed and renamed, and the one before it is kept, so at every moment a whole one
is on disk.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from neuralgram import __version__
from neuralgram.errors import InputError, ModelDirError
from neuralgram.files import sync_folder, write_atomic, write_tensors
from neuralgram.text.windows import Corpus, smallest_dtype

FORMAT = 1
NAME = "checkpoint.safetensors"
PREVIOUS = "checkpoint-previous.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """One saved moment of a run.

    step       updates made
    tensors    `model.…`, `optimizer.…`, `average.…`, `best.…`
    config     `TrainConfig.to_json()`
    identity   what the run is about: hashes of the texts and the tokenizer, the model's sizes; compared on resuming
    machine    threads, precision, kernel blocks, versions: what the last bits depend on
    progress   total steps, history, best validation, seconds, how it ended
    """

    step: int
    tensors: dict[str, Tensor]
    config: dict[str, Any]
    identity: dict[str, Any]
    machine: dict[str, Any]
    progress: dict[str, Any]

    def write(self, folder: Path) -> Path:
        """Put the checkpoint into `folder`; an `OSError` (a full disk) leaves the old one as it was."""
        story = {"step": self.step, "config": self.config, "identity": self.identity}
        story |= {"machine": self.machine, "progress": self.progress, "format": FORMAT}

        def write(file: BinaryIO) -> None:
            write_tensors(file, self.tensors, {"neuralgram": json.dumps(story)}, _fetch)

        path = folder / NAME
        if not _is_whole(path):
            write_atomic(path, write)
            return path
        fresh = folder / f"{NAME}.new"
        write_atomic(fresh, write)
        path.replace(folder / PREVIOUS)  # killed here: `read` finds the previous one, whole
        fresh.replace(path)
        sync_folder(folder)
        return path


def read(folder: Path) -> Checkpoint | None:
    """The newest whole checkpoint in `folder`, or None where there is none.

    Raises `ModelDirError` where there are files and none can be read.
    """
    failures = []
    for name in (NAME, PREVIOUS):
        path = folder / name
        if not path.exists():
            continue
        try:
            return _read(path)
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            failures.append(f"{path}: {' '.join(str(error).split())}")
    if failures:
        raise ModelDirError(f"no checkpoint can be read ({'; '.join(failures)}); start again with --overwrite")
    return None


def remove(folder: Path) -> None:
    """Delete the checkpoints of a run that begins again, and what a killed process left half written."""
    for path in (folder / NAME, folder / PREVIOUS, *leftovers(folder)):
        path.unlink(missing_ok=True)


def leftovers(folder: Path) -> list[Path]:
    """Files that a killed process left half written."""
    return [*folder.glob(f".{NAME}*.tmp"), *folder.glob(f"{NAME}.new")]


def check_identity(saved: dict[str, Any], now: dict[str, Any], what: str) -> None:
    """Refuse to go on where `now` differs from what was `saved`, naming each difference."""
    different = [
        f"{name} was {_shown(saved.get(name))} and is {_shown(now.get(name))}"
        for name in sorted(saved.keys() | now.keys())
        if saved.get(name) != now.get(name)
    ]
    if different:
        raise InputError(
            f"cannot resume: {what} of the checkpoint differs: {'; '.join(different)}. "
            "Give what the run was started with, or start another run"
        )


def corpus_hash(corpus: Corpus) -> str:
    """SHA-256 over the ids of a corpus in the smallest dtype that holds V, with V and the boundary."""
    dtype = smallest_dtype(corpus.vocab_size).newbyteorder("<")
    digest = hashlib.sha256(f"{corpus.vocab_size} {corpus.boundary} {len(corpus)}\n".encode())
    for start in range(0, len(corpus), 1 << 22):
        digest.update(np.ascontiguousarray(corpus.ids[start : start + (1 << 22)], dtype).data)
    return digest.hexdigest()


def machine(threads: int, precision: str, **more: Any) -> dict[str, Any]:
    """What the last bits of a run depend on besides its settings."""
    return {
        "threads": threads,
        "precision": precision,
        "processor": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "neuralgram": __version__,
        **more,
    }


def _fetch(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _is_whole(path: Path) -> bool:
    try:
        with safe_open(path, "pt") as file:
            return bool(file.metadata())
    except (SafetensorError, OSError):
        return False


def _read(path: Path) -> Checkpoint:
    with safe_open(path, "pt") as file:
        story = json.loads((file.metadata() or {})["neuralgram"])
        if story.pop("format") != FORMAT:
            raise ValueError(f"of another format; this version reads format {FORMAT}")
        return Checkpoint(tensors={name: file.get_tensor(name) for name in file.keys()}, **story)  # noqa: SIM118


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return f"{text[:13]}…" if len(text) > 40 else text
