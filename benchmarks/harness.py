"""How a benchmark runs: one process for each number of threads, in it every contender in turn, then a table and data.

A script names what it measures, `measure(setting) -> Sheet`, and calls `run`. Seconds are those the process computed
where one thread works, which others on the machine hardly change, and those of the wall elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.figures import Figure, write
from benchmarks.machine import device_named, machine
from neuralgram.neural.kernels import has_bf16_units
from neuralgram.training.machine import cores

HERE = Path(__file__).resolve().parent
QUICK_OUT = Path("runs") / "benchmarks"  # a quick run never touches the kept page
_PAUSE = 0.2  # seconds: the threads of one library go on spinning for a while after its work is done


class Sheet(NamedTuple):
    """What one process found: Markdown lines, and the figures of the page's first table."""

    lines: list[str]
    figures: list[Figure]


@dataclass(frozen=True)
class Setting:
    """How one process measures.

    bf16     whether bfloat16 is measured too: where the device has units for it, or where `--bf16` insists
    options  the script's own
    """

    threads: int
    device: torch.device
    rounds: int
    quick: bool
    bf16: bool
    options: argparse.Namespace

    @property
    def precisions(self) -> list[str]:
        """What is multiplied in: fp32, and bf16 where that is measured."""
        return ["fp32", "bf16"] if self.bf16 else ["fp32"]

    def clock(self) -> float:
        """Seconds; see above."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        elif self.threads == 1:
            return time.process_time()
        return time.perf_counter()

    def in_turn(self, steps: Mapping[str, Callable[[], object]], rounds: int | None = None) -> dict[str, float]:
        """Median seconds of each step over `rounds` turns. They take turns, so that all meet the same machine."""
        pause = _PAUSE if self.threads > 1 and not self.quick else 0.0
        taken: dict[str, list[float]] = {name: [] for name in steps}
        for turn in range(1 + (1 if self.quick else rounds or self.rounds)):
            for name, step in steps.items():
                time.sleep(pause)
                start = self.clock()
                step()
                if turn:  # the first pays for allocation
                    taken[name].append(self.clock() - start)
        return {name: statistics.median(times) for name, times in taken.items()}

    def held(
        self, row: int, what: str, value: float | None, target: float | None, *, precision: str, direction: str = ">="
    ) -> list[Figure]:
        """A figure of this process; without a value, in bf16, one that says why, and that on one thread alone."""
        note = "" if value is not None else self.no_bf16
        if value is None and self.threads > 1:
            return []
        return [Figure(row, what, value, target, direction, self.threads, precision, note=note)]

    @property
    def no_bf16(self) -> str:
        """Why there is no figure in bf16."""
        return f"not measured: this {'GPU' if self.device.type == 'cuda' else 'processor'} has no bf16 units"


Measure = Callable[[Setting], Sheet]


def parser(doc: str) -> argparse.ArgumentParser:
    """The options every benchmark has; `doc` is the script's docstring, its first line what it measures."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--rounds", type=int, default=9, help="turns of each contender that count [9]")
    made.add_argument("--threads", type=int, nargs="*", help="numbers of threads, a process each")
    made.add_argument("--device", default="auto", help="cpu, cuda, or auto: the GPU where there is one [auto]")
    made.add_argument("--bf16", action="store_true", help="measure bf16 even where there are no units for it")
    made.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs: no figure means anything")
    made.add_argument("--out", type=Path, help=f"folder of the results [benchmarks; {QUICK_OUT} for --quick]")
    made.add_argument("--child", type=int, help=argparse.SUPPRESS)  # measure on so many threads, JSON on stdout
    return made


def out_folder(args: argparse.Namespace) -> Path:
    """Where results go; made if need be."""
    folder: Path = args.out or (QUICK_OUT if args.quick else HERE)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def setting_of(args: argparse.Namespace, threads: int) -> Setting:
    """The setting of this process, which from here on uses so many threads."""
    torch.set_num_threads(threads)
    device = device_named(args.device)
    return Setting(threads, device, args.rounds, args.quick, args.bf16 or has_bf16_units(device), args)


def run(
    script: str,
    title: str,
    about: str,
    measure: Measure,
    *,
    options: argparse.ArgumentParser,
    counts: Sequence[int] = (1,),
) -> None:
    """Measure in a process for each number of threads, one or `counts`, and keep NAME.md and NAME.json.

    about  the sentences above the tables; the number of turns, the threads and the machine are added
    """
    name, args = Path(script).stem, options.parse_args()
    if args.child:
        lines, figures = measure(setting_of(args, args.child))
        print(json.dumps({"lines": lines, "figures": [asdict(figure) for figure in figures]}))
        return
    device = device_named(args.device)
    chosen = [1] if device.type == "cuda" else args.threads or [count for count in counts if count <= cores()]
    where = machine(device)
    text = [f"# {title}", "", f"{about} {_how(args, chosen)} {where}", ""]
    found: list[Figure] = []
    for threads in chosen:
        kept = child_output(name, threads)
        if len(chosen) > 1:
            text += [f"On {threads} {'thread' if threads == 1 else 'threads'}:", ""]
        text += [*kept["lines"], ""]
        found += [Figure(**values) for values in kept["figures"]]
    folder = out_folder(args)
    page = re.sub(r"\n{3,}", "\n\n", "\n".join(text)).rstrip() + "\n"
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    write(folder / f"{name}.json", where, found)
    print(page)


def _how(args: argparse.Namespace, counts: Sequence[int]) -> str:
    if args.quick:
        return "A quick run: sizes are tiny and the figures mean nothing."
    threads = " and ".join(map(str, counts))
    return (
        f"On {threads} {'thread' if threads == '1' else 'threads'}; where steps take turns, medians of {args.rounds}."
    )


def child_output(name: str, threads: int, *options: str) -> Any:
    """What this script prints as JSON in a process of so many threads, told what it was told and `options`.

    Libraries read their number of threads when they are loaded: hence a process for each number.
    """
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(variables, str(threads))}
    command = [sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:], *options, "--child", str(threads)]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A Markdown table, and an empty line."""
    lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    return [*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]
