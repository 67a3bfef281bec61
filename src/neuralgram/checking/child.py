"""The process a student's module runs in: `python -m neuralgram.checking.child MODULE RESULTS`.

Each verdict is written as soon as it is known, so that a module that hangs has still been heard up to there.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuralgram.checking.cases import CASES, Case
from neuralgram.checking.student import Student, load_module
from neuralgram.checking.verdict import ContractError, Verdict


def judge(case: Case, student: Student, file: Path) -> Verdict:
    """One case's verdict; whatever the module raises is an answer."""
    try:
        case.run(student)
    except ContractError as error:
        return Verdict(case.name, case.says, "failed", str(error), error.difference, error.pitfall)
    except Exception as error:  # a student's code raises what it likes
        return Verdict(case.name, case.says, "error", describe(error, file))
    return Verdict(case.name, case.says, "held")


def describe(error: BaseException, file: Path) -> str:
    """The error in a line, with the last line of the student's file it came from."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    if isinstance(error, SyntaxError) and error.lineno is not None:
        lines = [error.lineno]
    where = f" ({file.name}, line {lines[-1]})" if lines else ""
    return " ".join(f"{type(error).__name__}: {error}{where}".split())[:500]


def run(file: Path, report: Callable[[dict[str, Any]], None]) -> None:
    """Import the module and report every verdict; a case is asked only where those it needs hold."""
    report({"begin": "import"})
    try:
        student = Student(load_module(file))
    except BaseException as error:  # even SystemExit at import is an answer
        report(Verdict("import", "the module can be imported", "error", describe(error, file)).to_json())
        return
    held: set[str] = set()
    for case in CASES:
        report({"begin": case.name})
        missing = [name for name in case.needs if name not in held]
        verdict = judge(case, student, file) if not missing else _skipped(case, missing)
        report(verdict.to_json())
        if verdict.outcome == "held":
            held.add(case.name)


def _skipped(case: Case, missing: list[str]) -> Verdict:
    return Verdict(case.name, case.says, "skipped", f"not asked before {' and '.join(missing)} holds")


def main() -> None:
    """Verdicts as JSON lines into the file RESULTS."""
    file, results = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    warnings.simplefilter("ignore")
    with results.open("a", encoding="utf-8") as out:

        def report(value: dict[str, Any]) -> None:
            out.write(json.dumps(value) + "\n")
            out.flush()

        run(file, report)
        report({"begin": "end"})


if __name__ == "__main__":
    main()
