"""Scoring and single queries: exact, without the sum, and one window at a time.

    python -m benchmarks.scoring [--rounds 9] [--threads 1 2]

V 16 384, context 4, m 30, h 100, no direct path, fp32. All take turns; queries and scores without the sum are measured
on one thread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from benchmarks.texts import zipf
from neuralgram import NPLM
from neuralgram.neural.scoring import Scorer
from neuralgram.numbers import spaced
from neuralgram.text.windows import windows

V, C, M, H = 16_384, 4, 30, 100
FEW, MANY = 4096, 65_536  # tokens scored exactly, and without the sum
QUERIED = ((16_384, 100), (50_000, 256), (100_000, 100))  # V and h
TARGETS = {"fp32": 2.5, "bf16": 4.0}
NORMALISED, TOP, ONE = 1_600_000, 1.6, 50.0  # tokens/s, × the bare product, µs
BATCH = 1024
ABOUT = f"V {spaced(V)}, context {C}, m {M}, h {H}, no direct path, fp32."


def eager(model: NPLM, ids: NDArray[np.int64]) -> Callable[[], float]:
    """What one writes without thinking of speed: batches of 1 024 through log_softmax."""
    C_, H_, d, U, b = (model.get_parameter(name) for name in
                       ("emb.weight", "hidden.weight", "hidden.bias", "out.weight", "out.bias"))  # fmt: skip
    x, y = (torch.from_numpy(part).to(U.device) for part in windows(ids, C))

    @torch.no_grad()
    def score() -> float:
        total = 0.0
        for start in range(0, len(y), BATCH):
            part = slice(start, start + BATCH)
            a = torch.tanh(F.linear(F.embedding(x[part], C_).flatten(1), H_, d))
            total += F.linear(a, U, b).log_softmax(1).gather(1, y[part, None]).sum().item()
        return total

    return score


def texts(setting: Setting) -> tuple[list[list[object]], list[Figure]]:
    """Tokens per second over a text."""
    vocab_size, few, many = (256, 128, 512) if setting.quick else (V, FEW, MANY)
    model = NPLM(vocab_size, C, M, H, False, head="nce").to(setting.device)
    ids = zipf(vocab_size, many + C).astype(np.int64)
    short = ids[: few + C]
    steps = {"eager": eager(model, short), "exact": lambda: model.nll(short, BATCH)}
    count = {"eager": few, "exact": few, "unnormalised": many}
    names = {
        "eager": "eager PyTorch, log_softmax",
        "exact": "`nll`, exact and normalised in float64",
        "unnormalised": "`Scorer.nll`, without the sum",
    }
    if setting.threads == 1:
        contexts, targets = windows(ids, C)
        scorer = Scorer(model)
        steps["unnormalised"] = lambda: scorer.nll(contexts, targets)
    seconds = setting.in_turn(steps)
    speed = {name: count[name] / taken for name, taken in seconds.items()}
    rows: list[list[object]] = [[names[name], spaced(v), f"{v / speed['eager']:.2f}"] for name, v in speed.items()]
    gain = speed["exact"] / speed["eager"]
    figures = setting.held(5, "exact scores over eager PyTorch", gain, TARGETS["fp32"], precision="fp32")
    if setting.threads == 1:
        why = "not measured: scores are always exact: no part of them is computed in bf16"
        figures.append(Figure(5, "exact scores over eager PyTorch", None, TARGETS["bf16"], precision="bf16",
                              note=why))  # fmt: skip
        value = speed["unnormalised"]
        figures.append(Figure(5, "self-normalised scores, no sum over V", value, NORMALISED, unit="tokens/s"))
    return rows, figures


def query(setting: Setting, vocab_size: int, hidden: int) -> dict[str, float]:
    """Microseconds: the ten likeliest next tokens and what they are compared with, and one token's score."""
    model = NPLM(vocab_size, C, M, hidden, False, head="nce").to(setting.device)
    scorer, U = Scorer(model), model.get_parameter("out.weight").detach()
    a = torch.randn(hidden, device=setting.device)
    window = [5, 90, 17, 3]
    words = [(row[:C], row[C]) for row in zipf(vocab_size, 1000 * (C + 1)).reshape(-1, C + 1).tolist()]
    steps: dict[str, Callable[[], object]] = {
        "product": lambda: torch.mv(U, a),
        "top": lambda: scorer.top(window, 10),
        "log_probs": lambda: model.log_probs([window]),
    }
    if setting.device.type == "cpu":
        arrays = U.numpy(), a.numpy()
        steps["NumPy"] = lambda: arrays[0] @ arrays[1]
    us = {name: 1e6 * taken for name, taken in setting.in_turn(steps, 30 * setting.rounds).items()}
    each = setting.in_turn({"one": lambda: [scorer.one(*word) for word in words]})
    return us | {"one": 1e6 * each["one"] / len(words)}


def queries(setting: Setting) -> tuple[list[list[object]], list[Figure]]:
    """One window, at several V and h."""
    rows: list[list[object]] = []
    figures = []
    for vocab_size, hidden in ((256, 16),) if setting.quick else QUERIED:
        us = query(setting, vocab_size, hidden)
        ratio = us["top"] / min(us["product"], us.get("NumPy", us["product"]))
        numpy = spaced(us["NumPy"]) if "NumPy" in us else ""
        rows.append([spaced(vocab_size), hidden, spaced(us["product"]), numpy, spaced(us["top"]), f"{ratio:.2f}",
                     spaced(us["log_probs"]), f"{us['one']:.0f}"])  # fmt: skip
        size = f"V {spaced(vocab_size)}, h {hidden}"
        figures.append(
            Figure(5, f"the ten likeliest next tokens over the faster bare product, {size}", ratio, TOP, "<=")
        )
        figures.append(Figure(5, f"one word's score from Python, {size}", us["one"], ONE, "<=", unit="µs"))
    return rows, figures


def measure(setting: Setting) -> Sheet:
    """Texts, and on one thread single queries."""
    rows, figures = texts(setting)
    lines = table(["over a text", "tokens/s", "× eager"], rows)
    if setting.threads == 1:
        rows, more = queries(setting)
        figures += more
        lines += [
            "One window, microseconds: the bare product of the output vectors with a vector, `Scorer.top(window, 10)` "
            "(and over the faster of the two products), `log_probs` (float64), `Scorer.one(window, token)`.",
            "",
            *table(["V", "h", "product", "NumPy's", "top 10", "over product", "log_probs", "one token"], rows),
        ]
    return Sheet(lines, figures)


if __name__ == "__main__":
    run(__file__, "Scoring", ABOUT, measure, options=parser(__doc__), counts=(1, 2))
