"""The pipeline of units: order, resuming after kill -9, outputs that are whole or not there."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from neuralgram.errors import InputError, TextError
from neuralgram.scoring.parquet import read_blocks
from neuralgram.scoring.pipeline import Done, Fault, run
from neuralgram.scoring.units import Block, Broken, Form, Source, sources
from neuralgram.scoring.working import packed


class Upper:
    """A work that turns letters into capitals; units that hold a 7 are broken. Picklable."""

    def __init__(self, pause: float = 0.0, compress: str = "") -> None:
        self.pause, self.compress = pause, compress

    def __call__(self) -> Callable[[Block, Source], Done]:
        return self._work

    def _work(self, block: Block, source: Source) -> Done:
        time.sleep(self.pause)
        faults = [Fault(block.number + i, "a 7") for i, unit in enumerate(block.units) if b"7" in unit]
        main = [unit.upper() for unit in block.units if b"7" not in unit]
        return Done({"main": packed(main, self.compress)}, {"units": len(block.units), "broken": len(faults)}, faults)


def lines(count: int) -> bytes:
    return b"".join(b"line %d of a text that is long enough to fill blocks\n" % i for i in range(count))


def expected(data: bytes) -> bytes:
    return b"".join(line.upper() for line in data.splitlines(keepends=True) if b"7" not in line)


@pytest.mark.parametrize("jobs", [1, 2])
def test_units_come_out_in_order(tmp_path: Path, jobs: int) -> None:
    data = lines(5000)
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "b.txt").write_bytes(b"last")
    out = tmp_path / "out.txt"
    inputs = sources([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    state = run(inputs, {"main": out}, Upper(), identity=1, jobs=jobs)
    assert out.read_bytes() == expected(data) + b"LAST"
    assert state.sums["units"] == 5001
    assert state.sums["broken"] == sum("7" in str(i) for i in range(5000))
    assert state.faults[0] == [str(tmp_path / "a.txt"), 8, "a 7"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "out.txt"]


_RUN = """
import sys
from pathlib import Path
from neuralgram.scoring import pipeline
from neuralgram.scoring.units import sources
from tests.scoring.test_pipeline import Upper
pipeline.SAVE_SECONDS = 0.01
how = sys.argv[3]
pipeline.run(sources([sys.argv[1]]), {"main": Path(sys.argv[2])}, Upper(0.003, how), identity=1, jobs=1)
"""


def units_done(note: Path) -> int:
    try:
        return int(json.loads(note.read_text())["units"])
    except (FileNotFoundError, ValueError):
        return 0


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "txt.zst"])
def test_killed_at_random_moments_nothing_is_lost_and_nothing_twice(tmp_path: Path, ending: str) -> None:
    data = lines(60_000)
    source, out = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    how = ending.partition(".")[2]
    source.write_bytes(packed([data], how))
    command = [sys.executable, "-c", _RUN, str(source), str(out), how]
    moments, note, seen = random.Random(ending), tmp_path / f"{out.name}.progress", 0
    for _ in range(5):
        process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
        while process.poll() is None and units_done(note) <= seen:
            time.sleep(0.01)
        time.sleep(moments.random() * 0.05)
        assert process.poll() is None, "the run ended before it was killed: give it more to do"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        seen = units_done(note)
        assert not out.exists()
    assert subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode == 0
    written = out.read_bytes()
    found = (
        gzip.decompress(written)
        if how == "gz"
        else zstandard.ZstdDecompressor().stream_reader(written, read_across_frames=True).read()
        if how
        else written
    )
    assert found == expected(data)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, out.name])


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(b"a\n")
    out.write_bytes(b"mine")
    with pytest.raises(InputError, match="exists already"):
        run(sources([str(source)]), {"main": out}, Upper(), identity=1)
    assert out.read_bytes() == b"mine"
    run(sources([str(source)]), {"main": out}, Upper(), identity=1, overwrite=True)
    assert out.read_bytes() == b"A\n"


def test_another_command_does_not_go_on_with_what_was_begun(tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(lines(2000))

    class Fails(Upper):
        def _work(self, block: Block, source: Source) -> Done:
            if block.number > 1:
                raise KeyboardInterrupt
            return super()._work(block, source)

    with pytest.raises(InputError, match="unit 8: a 7"):
        run(sources([str(source)]), {"main": out}, Upper(), identity=1, strict=True)
    (tmp_path / "out.txt.progress").write_text(json.dumps({"identity": "another"}))
    with pytest.raises(InputError, match="was begun by another command"):
        run(sources([str(source)]), {"main": out}, Upper(), identity=2)


def test_a_line_that_is_too_long_is_broken_and_the_next_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuralgram.scoring.units.LONGEST", 100)
    path = tmp_path / "in.txt"
    path.write_bytes(b"x" * 1000 + b"\nshort\n")
    (block,) = read_blocks(Source(str(path), "text"), 0)
    assert block.units[1] == b"short\n"
    assert len(block.units[0]) == 101
    assert block.end == 1007
    with pytest.raises(Broken, match="longer than"):
        Form().text(block.units[0])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": 3}', "holds a int, no text"),
        (b'{"a": "b"}', "no field 'text'"),
        (b"[1]", "a JSON list, no object"),
        (b'{"text": ', "not JSON"),
        (b'{"text": "\\ud800"}', "lone surrogate"),
        (b"\xff", "not utf-8"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_wrong_with_a_json_line(line: bytes, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        Form("json").text(line)


def test_fields_are_nested_by_dots() -> None:
    assert Form("json", "a.b").text(b'{"a": {"b": "found"}}') == "found"
    assert Form("json", "a.b").text(b'{"a.b": "whole", "a": {"b": "found"}}') == "whole"


def test_forms_are_seen_from_names(tmp_path: Path) -> None:
    for name in ("a.txt", "b.jsonl.gz", "c.parquet"):
        (tmp_path / name).write_bytes(b"")
    form = [sources([str(tmp_path / name)])[0].form for name in ("a.txt", "b.jsonl.gz", "c.parquet")]
    assert form == ["text", "json", "parquet"]
    with pytest.raises(InputError, match="json and text files together"):
        sources([str(tmp_path / "a.txt"), str(tmp_path / "b.jsonl.gz")])
    with pytest.raises(TextError, match="no such file"):
        sources([str(tmp_path / "nothing")])
    with pytest.raises(InputError, match="lines are found by their bytes"):
        Form(encoding="utf-16")


@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_a_compressed_file_that_is_cut_off_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(packed([lines(3000)], name[2:])[:-20])
    with pytest.raises(TextError, match=name):
        list(read_blocks(Source(str(path), "text"), 0))
