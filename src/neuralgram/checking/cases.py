"""The contract, case by case: a student's numbers beside the equation's, and beside what each fault would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from neuralgram.checking import model_cases as model
from neuralgram.checking import training_cases as training
from neuralgram.checking import use_cases as use
from neuralgram.checking.student import Student


class Case(NamedTuple):
    """One part of the contract. It is asked only where those it `needs` hold: their fault would be found again."""

    name: str
    says: str
    run: Callable[[Student], None]
    needs: tuple[str, ...] = ()


def _case(run: Callable[[Student], None], *needs: str) -> Case:
    return Case(run.__name__.replace("_", "-"), str(run.__doc__).strip(), run, needs)


CASES: tuple[Case, ...] = (
    _case(model.names),
    _case(model.windows, "names"),
    _case(model.state_dict, "names"),
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
