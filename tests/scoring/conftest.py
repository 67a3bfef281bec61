"""Two small models that the tests of scoring share: words by counting, and a network over characters."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from neuralgram.cli import main

STORY = [
    "the cat sat on the mat and looked at the dog",
    "the dog sat on the log and looked at the cat",
    "a cat and a dog ate the fish on the mat",
    "the fish was on the mat when the cat came",
    "a bird sang to the dog and the dog slept",
] * 12


def run(*arguments: object) -> int:
    """The command's exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def make(kind: str, *arguments: object) -> None:
    """Train a model, without a word: fixtures are made while a test listens."""
    nowhere = io.StringIO()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        assert run("train", kind, *arguments) == 0


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("scoring")
    (made / "story.txt").write_text("\n".join(STORY) + "\n")
    return made


@pytest.fixture(scope="session")
def words(folder: Path) -> Path:
    """Kneser–Ney over words, rare ones unknown."""
    out = folder / "words"
    given = ["--boundary", "line", "--tokenizer", "words", "--min-count", "13", "--split", "1.0", "--order", "3"]
    make("ngram", folder / "story.txt", "--out", out, *given)
    return out


@pytest.fixture(scope="session")
def network(folder: Path) -> Path:
    """A network over characters."""
    out = folder / "network"
    given = ["--boundary", "line", "--tokenizer", "chars", "--steps", "30", "--context", "4", "--d-emb", "8"]
    make("nplm", folder / "story.txt", "--out", out, *given, "--d-hidden", "16", "--threads", "1")
    return out
