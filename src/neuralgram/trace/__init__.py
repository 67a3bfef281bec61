"""Every number of one prediction and one update, each with its equation and its own inputs."""

from __future__ import annotations

from neuralgram.trace.differences import Difference
from neuralgram.trace.explain import Outcome, Part, Place, Trace, trace
from neuralgram.trace.steps import Chart, Check, Formula, Section, Step
from neuralgram.trace.update import Update

__all__ = [
    "Chart",
    "Check",
    "Difference",
    "Formula",
    "Outcome",
    "Part",
    "Place",
    "Section",
    "Step",
    "Trace",
    "Update",
    "trace",
]
