"""Scoring and single queries: exact, without the sum, and one window at a time.

    python -m benchmarks.scoring [--rounds 9] [--kenlm MODEL --text FILE]

V 16 384, context 4, m 30, h 100, no direct path, fp32, one thread. All take turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.timing import in_turn, machine, publish, table, zipf

from neuralgram import NPLM
from neuralgram.neural.scoring import Scorer
from neuralgram.text.windows import windows

V, C, M, H = 16_384, 4, 30, 100
TOKENS = 4096
MANY = 65_536


def eager(model: NPLM, contexts: np.ndarray, targets: np.ndarray) -> Callable[[], object]:
    """What one writes without thinking of speed: batches of 1 024 through log_softmax."""
    C_, H_, d, U, b = (model.get_parameter(name) for name in
                       ("emb.weight", "hidden.weight", "hidden.bias", "out.weight", "out.bias"))  # fmt: skip
    x, y = torch.from_numpy(contexts), torch.from_numpy(targets)

    @torch.no_grad()
    def score() -> float:
        total = 0.0
        for start in range(0, len(y), 1024):
            part = slice(start, start + 1024)
            a = torch.tanh(F.linear(F.embedding(x[part], C_).flatten(1), H_, d))
            total += F.linear(a, U, b).log_softmax(1).gather(1, y[part, None]).sum().item()
        return total

    return score


def texts(rounds: int) -> list[list[object]]:
    """Tokens per second over a text."""
    model = NPLM(V, C, M, H, False, head="nce")
    contexts, targets = windows(zipf(V, MANY + C), C)
    few = contexts[:TOKENS], targets[:TOKENS]
    scorer = Scorer(model)
    seconds = in_turn(
        {
            "eager": eager(model, *few),
            "exact": lambda: [
                model.context_nll(few[0][i : i + 1024], few[1][i : i + 1024]) for i in range(0, TOKENS, 1024)
            ],
            "self-normalised": lambda: scorer.nll(contexts, targets),
        },
        rounds,
    )
    count = {"eager": TOKENS, "exact": TOKENS, "self-normalised": MANY}
    speed = {name: count[name] / taken for name, taken in seconds.items()}
    names = {
        "eager": "eager PyTorch, log_softmax",
        "exact": "`context_nll`",
        "self-normalised": "`Scorer.nll`, without the sum",
    }
    return [[names[name], f"{v:,.0f}", f"{v / speed['eager']:.2f}"] for name, v in speed.items()]


def queries(rounds: int) -> list[list[object]]:
    """One window: the ten likeliest next tokens over the bare product, and one token's score."""
    rows: list[list[object]] = []
    for vocab_size, hidden in ((16_384, 100), (50_000, 256), (100_000, 100)):
        model = NPLM(vocab_size, C, M, hidden, False, head="nce")
        scorer, U, a = Scorer(model), model.get_parameter("out.weight").detach(), torch.randn(hidden)
        arrays = U.numpy(), a.numpy()
        window = [5, 900, 17, 3]
        words = [(row[:C], row[C]) for row in zipf(vocab_size, 1000 * (C + 1)).reshape(-1, C + 1).tolist()]
        seconds = in_turn(
            {
                "product": lambda U=U, a=a: torch.mv(U, a),
                "NumPy": lambda U=arrays[0], a=arrays[1]: U @ a,
                "top": lambda s=scorer, w=window: s.top(w, 10),
                "log_probs": lambda m=model, w=window: m.log_probs([w]),
            },
            30 * rounds,
        )
        us = {name: 1e6 * taken for name, taken in seconds.items()}
        us["one"] = 1e6 * in_turn({"one": lambda s=scorer, w=words: [s.one(*word) for word in w]}, rounds)["one"] / 1000
        ratio = f"{us['top'] / us['product']:.2f}"
        rows.append([f"{vocab_size:,}", hidden, *(f"{us[n]:,.0f}" for n in ("product", "NumPy", "top")), ratio,
                     f"{us['log_probs']:,.0f}", f"{us['one']:.0f}"])  # fmt: skip
    return rows


def full_scores(model: Path, text: Path, rounds: int) -> list[list[object]]:
    """KenLM's Python `full_scores` over the lines of a text."""
    import kenlm

    scorer, lines = kenlm.Model(str(model)), text.read_text(encoding="utf-8").splitlines()
    tokens = sum(len(line.split()) + 1 for line in lines)
    seconds = in_turn({"kenlm": lambda: [list(scorer.full_scores(line)) for line in lines]}, rounds)
    return [["KenLM, `full_scores`", f"{tokens / seconds['kenlm']:,.0f}", ""]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kenlm", type=Path, help="a KenLM model to stand beside")
    parser.add_argument("--text", type=Path, help="what it scores, a sentence a line")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = texts(args.rounds)
    if args.kenlm and args.text:
        rows += full_scores(args.kenlm, args.text, args.rounds)
    lines = [
        "# Scoring",
        "",
        f"V {V:,}, context {C}, m {M}, h {H}, no direct path, fp32; medians taken in turn, seconds that one thread "
        f"computed. {machine()}",
        "",
        *table(["over a text", "tokens/s", "× eager"], rows),
        "One window, microseconds: the bare product of the output vectors with a vector, `Scorer.top(window, 10)`, "
        "`log_probs` (float64), `Scorer.one(window, token)`.",
        "",
        *table(
            ["V", "h", "product", "product, NumPy", "top 10", "top 10 / product", "log_probs", "one token"],
            queries(args.rounds),
        ),
    ]
    publish(__file__, lines)


if __name__ == "__main__":
    main()
