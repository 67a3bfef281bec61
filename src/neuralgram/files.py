"""Files that are whole or not there: written beside their place, flushed to disk, then renamed. And what they hold:
JSON values, and arrays by name (safetensors), each written in one way, so that equal values make equal files.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import ModelDirError

# NumPy's and safetensors' names of what an array holds, in the order the library writes them in
_DTYPES = {
    "u8": "U64", "i8": "I64", "f8": "F64", "f4": "F32", "u4": "U32", "i4": "I32",
    "f2": "F16", "u2": "U16", "i2": "I16", "i1": "I8", "u1": "U8", "b1": "BOOL",
}  # fmt: skip
_STAGED, _COMPLETE = ".staged-", ".complete"


Content = bytes | Callable[[BinaryIO], None]  # a file's bytes, or what writes them one after another


def write_atomic(path: Path, data: Content) -> None:
    """Put `data` at `path` so that a crash or a full disk leaves the old file, whole."""
    write_together(path.parent, {path.name: data})


def write_together(folder: Path, files: Mapping[str, Content]) -> None:
    """Put several files into `folder`: none is renamed into place before all are safely on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    staged: list[tuple[Path, Path]] = []
    try:
        for name, data in files.items():
            temporary = folder / f".{name}.{os.getpid()}.tmp"
            staged.append((temporary, folder / name))
            with temporary.open("wb") as file:
                if isinstance(data, bytes):
                    file.write(data)
                else:
                    data(file)
                file.flush()
                os.fsync(file.fileno())
        for temporary, final in staged:
            temporary.replace(final)
        sync_folder(folder)
    except BaseException:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replacing(folder: Path, stale: Iterable[str] = ()) -> Iterator[Path]:
    """A folder to write into: what it then holds takes, all of it at once, the places of those names in `folder`.

    A crash or a full disk leaves all of the old there or all of the new: what is complete waits in a folder of its own
    until it is moved, and `current` looks there first. Of the `stale` names those that have no successor go, last.
    """
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    _move(folder)
    for left in folder.glob(f"{_STAGED}*"):  # by one that was killed while it wrote
        shutil.rmtree(left)
    stage = folder / f"{_STAGED}{os.getpid()}"
    try:
        stage.mkdir()
        yield stage
        for inside in (stage, *(path for path in stage.rglob("*") if path.is_dir())):
            sync_folder(inside)
        names = {path.name for path in stage.iterdir()}
        stage.replace(folder / _COMPLETE)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise
    sync_folder(folder)
    _move(folder)
    for name in set(stale) - names:
        _remove(folder / name)


def current(folder: Path, name: str) -> Path:
    """Where `name` of `folder` is read: what `replacing` had completed goes before what it had yet to replace."""
    complete = folder / _COMPLETE / name
    return complete if complete.exists() else folder / name


def _move(folder: Path) -> None:
    """Move what is complete into its place, also what a crash had left of it."""
    complete = folder / _COMPLETE
    if not complete.is_dir():
        return
    for path in sorted(complete.iterdir()):
        place = folder / path.name
        if place.is_dir():
            shutil.rmtree(place)
        path.replace(place)
    sync_folder(folder)
    complete.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(data: bytes) -> str:
    """The SHA-256 of `data`, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def content(data: bytes) -> str:
    """The SHA-256 of what a JSON file says, however it is spaced and ordered."""
    return sha256(json.dumps(json.loads(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def json_bytes(value: Any) -> bytes:
    """A JSON file that people can read."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def read_json(data: bytes, path: Path) -> dict[str, Any]:
    """The object that a JSON file holds; `path` is for the message of the `ModelDirError` where it holds none."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise ModelDirError(f"{path}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ModelDirError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def tensors_bytes(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """A safetensors file."""
    file = BytesIO()
    write_tensors(file, arrays, metadata)
    return file.getvalue()


def write_tensors(
    file: BinaryIO,
    arrays: Mapping[str, Any],
    metadata: Mapping[str, str],
    fetch: Callable[[Any], NDArray[Any]] = np.asarray,
) -> None:
    """Write a safetensors file, array by array, so that no second copy of them all is in memory.

    The bytes are the library's, but for the order of metadata, which it leaves to chance and which is sorted here.
    `fetch` makes an array of whatever has a `dtype` and a `shape`, a tensor of an accelerator for one.
    """
    kinds = {name: np.dtype(str(array.dtype).removeprefix("torch.")) for name, array in arrays.items()}
    order = sorted(arrays, key=lambda name: (list(_DTYPES).index(kinds[name].str[1:]), name))
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    end = 0
    for name in order:
        shape, start = list(arrays[name].shape), end
        end += math.prod(shape) * kinds[name].itemsize
        header[name] = {"dtype": _DTYPES[kinds[name].str[1:]], "shape": shape, "data_offsets": [start, end]}
    told = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    told += b" " * (-len(told) % 8)
    file.write(len(told).to_bytes(8, "little") + told)
    for name in order:
        array = np.ascontiguousarray(fetch(arrays[name]), kinds[name].newbyteorder("<"))
        file.write(array.reshape(-1).view(np.uint8).data)


def read_tensors(data: bytes, path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file; `path` is for the message of the `ModelDirError` where it is none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as decode

    try:
        return dict(decode(data))
    except (SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise ModelDirError(f"{path}: not a whole safetensors file ({error})") from None
