"""`neuralgram … | head`: whoever reads the output may stop reading; the command then ends without a word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuralgram.ngram import fit
from neuralgram.text.tokenizers import tokenizer_class
from neuralgram.text.windows import Corpus
from neuralgram.textmodel import TextModel

ENV = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # as most people run it
TEXT = "the cat sat on the mat and the dog sat on the log"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "counts"
    tokenizer = tokenizer_class("chars").train([TEXT])
    ids = tokenizer.encode(TEXT)
    TextModel(fit("add-k", Corpus(ids, tokenizer.vocab_size, None), 2, k=0.1), tokenizer).save(folder)
    return folder


def ended(arguments: tuple[object, ...], stdout: int) -> tuple[int, bytes]:
    """Exit code and standard error of the command with its output going into `stdout`."""
    command = [sys.executable, "-c", "from neuralgram.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=ENV, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("generate", "MODEL", "the", "-n", 3000), ("trace", "MODEL", "the"), ("info", "MODEL"), ("--help",)],
    ids=["generate", "trace", "info", "help"],
)
def test_a_closed_pipe_ends_the_command_quietly(model: Path, arguments: tuple[object, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        assert ended(tuple(model if a == "MODEL" else a for a in arguments), write) == (141, b"")
    finally:
        os.close(write)


def test_what_was_read_before_is_the_text(model: Path) -> None:
    command = [sys.executable, "-c", "from neuralgram.cli import main; main()", "generate", str(model), "the"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, "-n", "200000"], stdout=pipe, stderr=pipe, env=ENV) as process:
        start = process.stdout.read(40)
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (141, b"")
    whole = subprocess.run([*command, "-n", "60"], capture_output=True, check=True).stdout
    assert start == whole[:40]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110
def test_a_full_disk_is_an_error(model: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        assert ended(("generate", model, "the"), full) == (2, b"neuralgram: No space left on device\n")
    finally:
        os.close(full)


def test_no_output_at_all_is_no_error(model: Path) -> None:
    command = f"{sys.executable} -c 'from neuralgram.cli import main; main()' info {model} >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, env=ENV, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
