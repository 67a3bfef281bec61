"""Running somebody else's code: a process of its own, a time limit, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralgram.checking.verdict import Difference, Verdict
from neuralgram.errors import InputError
from neuralgram.pitfalls import PITFALLS


@dataclass(frozen=True)
class Report:
    """What became of a module: a verdict a case, in the contract's order."""

    module: Path
    verdicts: tuple[Verdict, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every case held."""
        return bool(self.verdicts) and all(verdict.outcome == "held" for verdict in self.verdicts)

    @property
    def pitfalls(self) -> tuple[str, ...]:
        """The pitfalls named, each once."""
        return tuple(dict.fromkeys(verdict.pitfall for verdict in self.verdicts if verdict.pitfall))

    def to_json(self) -> dict[str, Any]:
        """JSON values, the pitfalls with what they look like and what to do."""
        named = [{"name": name, **_told(name)} for name in self.pitfalls]
        return {
            "module": str(self.module),
            "holds": self.holds,
            "seconds": self.seconds,
            "cases": [verdict.to_json() for verdict in self.verdicts],
            "pitfalls": named,
        }


def _told(name: str) -> dict[str, str]:
    pitfall = PITFALLS[name]
    return {"title": pitfall.title, "symptom": pitfall.symptom, "advice": pitfall.advice}


class Finished:
    """How a process ended: its exit code, or that it was stopped at the limit."""

    def __init__(self, code: int, stopped: bool, output: str) -> None:
        self.code, self.stopped, self.output = code, stopped, output


def run_limited(
    command: Sequence[str], *, seconds: float, folder: Path, env: Mapping[str, str] | None = None
) -> Finished:
    """Run `command` in `folder`; at the limit it and all it started are killed. Output is kept, not shown."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        stopped = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            stopped = True
        finally:
            _kill_group(process)
        output.seek(0)
        return Finished(process.returncode, stopped, output.read(1 << 20).decode("utf-8", "replace"))


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the process and of whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def check_module(file: Path, *, seconds: float = 60.0) -> Report:
    """Hold the module in `file` against the contract, within `seconds`.

    Raises `InputError` where there is no such Python file or the limit makes no sense.
    """
    import time

    if not file.is_file() or file.suffix != ".py":
        raise InputError(f"{file}: no such Python file; expected a module with windows, NPLM, train_nplm, …")
    if not 0 < seconds < 1e6:
        raise InputError(f"time limit of {seconds} seconds: expected a number above 0")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        command = [sys.executable, "-m", "neuralgram.checking.child", str(file.resolve()), str(results)]
        finished = run_limited(command, seconds=seconds, folder=Path(folder), env={"OMP_NUM_THREADS": "1"})
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    verdicts = _verdicts([json.loads(line) for line in lines], finished, seconds)
    return Report(file, tuple(verdicts), time.perf_counter() - start)


def _verdicts(lines: list[dict[str, Any]], finished: Finished, seconds: float) -> list[Verdict]:
    from neuralgram.checking.child import CASES

    out = [_verdict(line) for line in lines if "case" in line]
    begun = [line["begin"] for line in lines if "begin" in line]
    if begun and begun[-1] == "end":
        return out
    says = {case.name: case.says for case in CASES}
    case = begun[-1] if begun else "import"
    if finished.stopped:
        message, outcome = f"not finished after {seconds:g} s: an endless loop, or much too slow?", "timeout"
    else:
        tail = " ".join(finished.output.strip().splitlines()[-1:])[:300]
        message, outcome = f"the process ended with code {finished.code}" + (f": {tail}" if tail else ""), "error"
    if not (out and out[-1].case == case):
        out.append(Verdict(case, says.get(case, "the module can be imported"), outcome, message))
    return out


def _verdict(line: dict[str, Any]) -> Verdict:
    difference = line.pop("difference")
    return Verdict(**line, difference=Difference(**difference) if difference else None)
