"""Every number of one prediction and one update, each with its equation and its own inputs."""

from __future__ import annotations

from neuralgram.tracing.explain import trace
from neuralgram.tracing.learning import Difference
from neuralgram.tracing.network_health import Health, health
from neuralgram.tracing.result import Outcome, Part, Place, Trace
from neuralgram.tracing.steps import Chart, Check, Formula, Section, Step
from neuralgram.tracing.update import Update
from neuralgram.tracing.vectors import Neighbor, neighbors

__all__ = [
    "Chart",
    "Check",
    "Difference",
    "Formula",
    "Health",
    "Neighbor",
    "Outcome",
    "Part",
    "Place",
    "Section",
    "Step",
    "Trace",
    "Update",
    "health",
    "neighbors",
    "trace",
]
