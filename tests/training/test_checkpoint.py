"""Checkpoints survive what disks and processes do to them."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

from neuralgram.errors import InputError, ModelDirError
from neuralgram.text.windows import Corpus
from neuralgram.training import checkpoint
from neuralgram.training.checkpoint import NAME, PREVIOUS, Checkpoint, check_identity, corpus_hash, read, remove


def make(step: int) -> Checkpoint:
    return Checkpoint(step, {"model.emb.weight": torch.full((3, 2), float(step))}, {"lr": 0.1}, {}, {"threads": 1}, {})


def test_a_file_is_that_of_the_library(tmp_path: Path) -> None:
    tensors = {
        "model.b": torch.arange(6, dtype=torch.float32).reshape(2, 3).T,  # not contiguous
        "model.ä": torch.rand(3, dtype=torch.float64),
        "optimizer.a.step": torch.tensor(7.0),
        "model.tables": torch.arange(5),
        "model.none": torch.empty(0, 4),
        "z": torch.tensor([True, False]),
    }
    story = {"step": 1, "config": {}, "identity": {}, "machine": {}, "progress": {}, "format": checkpoint.FORMAT}
    Checkpoint(1, tensors, {}, {}, {}, {}).write(tmp_path)
    expected = save({n: t.contiguous() for n, t in tensors.items()}, metadata={"neuralgram": json.dumps(story)})
    assert (tmp_path / NAME).read_bytes() == expected


def test_a_checkpoint_of_200_megabytes_is_written_without_a_copy_of_it(tmp_path: Path) -> None:
    code = """
import resource, sys, torch
from pathlib import Path
from neuralgram.training.checkpoint import Checkpoint
tensors = {f"model.{i}": torch.ones(2**20) for i in range(50)}  # 4 MiB each
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
before = used()
Checkpoint(1, tensors, {}, {}, {}, {}).write(Path(sys.argv[1]))
print(used() - before)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (tmp_path / NAME).stat().st_size > 200 << 20
    assert int(done.stdout) < 0.3 * (200 << 20)  # beyond the tensors themselves


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    for step in (3, 7):
        make(step).write(tmp_path)
    back = read(tmp_path)
    assert back is not None
    assert (back.step, back.config) == (7, {"lr": 0.1})
    assert back.tensors["model.emb.weight"].tolist() == [[7.0, 7.0]] * 3
    assert {path.name for path in tmp_path.iterdir()} == {NAME, PREVIOUS}
    remove(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path, keep: int) -> None:
    make(3).write(tmp_path)
    make(7).write(tmp_path)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:keep])
    back = read(tmp_path)
    assert back is not None
    assert back.step == 3
    make(9).write(tmp_path)  # the damaged one does not push the good one out
    path.write_bytes(b"")
    back = read(tmp_path)
    assert back is not None
    assert back.step == 3
    (tmp_path / PREVIOUS).write_bytes(b"{}")
    with pytest.raises(ModelDirError, match=f"no checkpoint can be read .*{NAME}.*{PREVIOUS}.*start again"):
        read(tmp_path)


def test_a_full_disk_leaves_the_old_checkpoint_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(3).write(tmp_path)
    before = (tmp_path / NAME).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        make(7).write(tmp_path)
    assert (tmp_path / NAME).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_killed_between_the_two_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(3).write(tmp_path)
    rename = Path.replace

    def die(self: Path, target: Path) -> Path:
        if self.name.endswith(".new"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        make(7).write(tmp_path)
    back = read(tmp_path)
    assert back is not None
    assert back.step == 3


def test_the_hash_of_a_corpus_is_of_its_ids_not_of_their_storage() -> None:
    ids = [1, 2, 3, 0, 250]
    assert corpus_hash(Corpus(np.array(ids, np.uint8), 251)) == corpus_hash(Corpus(np.array(ids, np.int64), 251))
    different = [
        Corpus(np.array([1, 2, 3, 0, 249]), 251),
        Corpus(np.array(ids), 252),
        Corpus(np.array(ids), 251, boundary=250),
        Corpus(np.array(ids[:4]), 251),
    ]
    assert len({corpus_hash(corpus) for corpus in different} | {corpus_hash(Corpus(np.array(ids), 251))}) == 5


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({"text": "a" * 64, "context": 5}, "context was 4 and is 5"),
        ({"text": "b" * 64, "context": 4}, 'text was "aaaaaaaaaaaa… and is "bbbbbbbbbbbb…'),
        ({"text": "a" * 64}, "context was 4 and is null"),
    ],
)
def test_a_difference_is_named(now: dict[str, Any], message: str) -> None:
    saved = {"text": "a" * 64, "context": 4}
    check_identity(saved, dict(saved), "the run")
    with pytest.raises(InputError, match=f"cannot resume: the run of the checkpoint differs: {message}"):
        check_identity(saved, now, "the run")


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FORMAT", 99)
    make(3).write(tmp_path)
    monkeypatch.undo()
    with pytest.raises(ModelDirError, match="of another format; this version reads format 1"):
        read(tmp_path)
