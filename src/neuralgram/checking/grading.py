"""Somebody's tests against known faults: each is put into a copy of this package, and the tests should notice.

The tests import the contract from a module of the name they were written for (`my_nplm`, or
`tinyllm.lm.nplm` and `tinyllm.num.rng`); here that module passes on what this package has.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neuralgram
from neuralgram import pitfalls
from neuralgram.checking.runner import Finished, run_limited
from neuralgram.errors import InputError
from neuralgram.pitfalls import PITFALLS, REQUIRED, Pitfall

THRESHOLD = 0.70  # the share of faults a set of tests should notice
_SHIM = "from neuralgram import PCG32, NPLM, load_nplm, save_nplm, train_nplm, windows\n"


@dataclass(frozen=True)
class Grade:
    """How many of the faults the tests noticed.

    killed, survived  names of pitfalls; the tests failed with the fault in place, or did not
    unclear           faults at which the tests neither failed nor passed: stopped at the time limit
    """

    killed: tuple[str, ...]
    survived: tuple[str, ...]
    unclear: tuple[str, ...]

    @property
    def share(self) -> float:
        """Killed over all; a run that had to be stopped counts as killed, as an endless loop is noticed too."""
        total = len(self.killed) + len(self.survived) + len(self.unclear)
        return (len(self.killed) + len(self.unclear)) / total if total else 0.0

    @property
    def required_killed(self) -> bool:
        """Whether the fault every set of tests must notice was noticed."""
        return REQUIRED not in self.survived

    @property
    def passes(self) -> bool:
        """Share and required fault."""
        return self.share >= THRESHOLD and self.required_killed

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "share": self.share,
            "threshold": THRESHOLD,
            "required": REQUIRED,
            "required_killed": self.required_killed,
            "passes": self.passes,
            "killed": list(self.killed),
            "survived": [{"name": name, "symptom": PITFALLS[name].symptom} for name in self.survived],
            "stopped": list(self.unclear),
        }


def grade_tests(
    tests: Path, module: str, *, seconds: float = 60.0, tell: Callable[[str], None] = lambda message: None
) -> Grade:
    """Run the pytest tests in `tests` on this package with each fault; `module` is the name they import.

    `seconds` bounds each run. Raises `InputError` where there are no tests, where they fail on the package
    as it is (they then ask for something the contract does not say), or where pytest is missing.
    """
    if not tests.is_dir() or not list(tests.rglob("test_*.py")):
        raise InputError(f"{tests}: no tests; expected a folder with files named test_….py")
    if not module.isidentifier():
        raise InputError(f"module name {module!r}: expected one that Python can import")
    _check_sound(_run(tests, module, None, seconds), seconds)
    killed: list[str] = []
    survived: list[str] = []
    unclear: list[str] = []
    with ThreadPoolExecutor(2) as two:  # each run is a process of its own; most of it is waiting for imports
        runs = two.map(lambda pitfall: _run(tests, module, pitfall, seconds), PITFALLS.values())
        for name, finished in zip(PITFALLS, runs, strict=True):
            fate = unclear if finished.stopped else survived if finished.code == 0 else killed
            fate.append(name)
            tell(f"{name}: {'stopped' if finished.stopped else 'survived' if finished.code == 0 else 'killed'}")
    return Grade(tuple(killed), tuple(survived), tuple(unclear))


def _check_sound(finished: Finished, seconds: float) -> None:
    if finished.stopped:
        raise InputError(f"the tests need more than {seconds:g} s on a correct model: give more with --timeout")
    if "No module named pytest" in finished.output:
        raise InputError("pytest is not installed: pip install pytest")
    if finished.code == 5:
        raise InputError("pytest found no tests: expected functions named test_…")
    if finished.code != 0:
        told = [line for line in finished.output.splitlines() if line.startswith(("FAILED", "ERROR", "E  "))]
        raise InputError(f"the tests fail on a correct model, so they cannot be graded: {'; '.join(told[:3])[:400]}")


def _run(tests: Path, module: str, pitfall: Pitfall | None, seconds: float) -> Finished:
    """pytest, on a copy of the tests, with a copy of the package that has the fault."""
    package = Path(neuralgram.__file__).parent
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        shutil.copytree(package, root / "lib" / "neuralgram", ignore=shutil.ignore_patterns("__pycache__"))
        if pitfall is not None:
            pitfalls.apply(pitfall, root / "lib" / "neuralgram")
        shutil.copytree(
            tests, root / "tests", ignore=shutil.ignore_patterns("__pycache__", f"{module}.py", ".*", "*.ini", "*.toml")
        )
        for name in (f"{module}.py", "tinyllm/lm/nplm.py", "tinyllm/num/rng.py"):
            shim = root / "lib" / name
            shim.parent.mkdir(parents=True, exist_ok=True)
            shim.write_text(_SHIM, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            str(root / "tests"),
        ]
        env = {
            "PYTHONPATH": str(root / "lib"),
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": "",
        }
        return run_limited(command, seconds=seconds, folder=root, env=env)
