"""The contract, case by case, and the process a module answers in: `python -m neuralgram.checking.child MODULE OUT`.

Each verdict is written as soon as it is known, so that a module that hangs has still been heard up to there.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from neuralgram.checking import model_cases as model
from neuralgram.checking import training_cases as training
from neuralgram.checking import use_cases as use
from neuralgram.checking.student import Student, load_module
from neuralgram.checking.verdict import ContractError, Verdict


class Case(NamedTuple):
    """One part of the contract. It is asked only where those it `needs` hold: their fault would be found again.

    run  raises a `ContractError` where the module differs; what it returns is told beside a case that held
    """

    name: str
    says: str
    run: Callable[[Student], str | None]
    needs: tuple[str, ...] = ()


def _case(run: Callable[[Student], str | None], *needs: str) -> Case:
    return Case(run.__name__.replace("_", "-"), str(run.__doc__).strip(), run, needs)


CASES: tuple[Case, ...] = (
    _case(model.names),
    _case(model.windows, "names"),
    _case(model.state_dict, "names"),
    _case(model.architecture, "state-dict"),
    _case(model.loading, "state-dict"),
    _case(model.forward, "state-dict"),
    _case(model.initial, "state-dict"),
    _case(model.nll, "forward"),
    _case(model.perplexity, "nll"),
    _case(model.first_loss, "nll"),
    _case(training.steps, "nll", "windows"),
    _case(training.gradients, "steps"),
    _case(training.decay, "gradients"),
    _case(training.momentum, "gradients"),
    _case(training.clip, "gradients"),
    _case(use.ties, "state-dict"),
    _case(use.prompt, "forward"),
    _case(use.sampling, "forward"),
    _case(use.saving, "state-dict"),
    _case(use.bad_input, "forward"),
)


def judge(case: Case, student: Student, file: Path) -> Verdict:
    """One case's verdict; whatever the module raises is an answer."""
    try:
        told = case.run(student) or ""
    except ContractError as error:
        return Verdict(case.name, case.says, "failed", str(error), error.difference, error.pitfall)
    except Exception as error:  # a student's code raises what it likes
        return Verdict(case.name, case.says, "error", describe(error, file))
    return Verdict(case.name, case.says, "held", told)


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
    """Verdicts as JSON lines into the file OUT."""
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
