"""A copy of the package, edited as a person would who adds something: one file, one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import neuralgram


def copy_of_the_package(folder: Path, lines: Mapping[str, Mapping[str, str]], files: Mapping[str, str]) -> Path:
    """`folder/neuralgram` with `files` added, and of its files the `lines` replaced: each stands there once."""
    package = folder / "neuralgram"
    shutil.copytree(Path(neuralgram.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, edits in lines.items():
        text = (package / name).read_text(encoding="utf-8")
        for old, new in edits.items():
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        (package / name).write_text(text, encoding="utf-8")
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    return package


def run_on(folder: Path, *arguments: object) -> str:
    """Standard output of Python with these arguments, the copy in `folder` being what it imports."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
