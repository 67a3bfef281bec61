"""Files that are whole or not there: written beside their place, flushed to disk, then renamed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path


def write_atomic(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a crash or a full disk leaves the old file, whole."""
    write_together(path.parent, {path.name: data})


def write_together(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put several files into `folder`: none is renamed into place before all are safely on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    staged: list[tuple[Path, Path]] = []
    try:
        for name, data in files.items():
            temporary = folder / f".{name}.{os.getpid()}.tmp"
            staged.append((temporary, folder / name))
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for temporary, final in staged:
            temporary.replace(final)
        sync_folder(folder)
    except BaseException:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
        raise


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
