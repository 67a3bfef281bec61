"""Brown trained with each head: perplexity against training seconds.

    python -m benchmarks.brown_heads brown.zip [--heads softmax sampled …] [--epochs 5]

The stream of the paper's experiment: 800 000 tokens train, 200 000 validate, types seen up to 3 times are one
symbol. n − 1 = 4, m 60, h 100, no direct path, one thread; each head with the settings that suit it.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from benchmarks.timing import machine, publish, table

from neuralgram import NPLM, Corpus
from neuralgram.neural.scoring import log_normaliser
from neuralgram.rng import generator
from neuralgram.text.brown import brown_documents
from neuralgram.text.windows import token_frequencies
from neuralgram.training.config import TrainConfig
from neuralgram.training.run import fit

C, M, H = 4, 60, 100
EXACT = {"optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.01, "batch_size": 512}
SETTINGS: dict[str, dict] = {
    "softmax": EXACT,
    "adaptive": EXACT,
    "tree": {"optimizer": "adagrad", "lr": 0.1, "weight_decay": 1e-6, "batch_size": 512},
    "mos": EXACT,
    "sampled": {"optimizer": "adagrad", "lr": 0.1, "weight_decay": 1e-6, "batch_size": 512},
    "nce": {"optimizer": "adagrad", "lr": 0.1, "weight_decay": 1e-6, "batch_size": 512},
}


def brown_stream(path: Path) -> Corpus:
    """Every token of the corpus in its order; ids by frequency, 0 the unknown symbol."""
    words = [word for _, paragraphs in brown_documents(path) for text in paragraphs for word in text.split()]
    kept = [word for word, count in Counter(words).most_common() if count > 3]
    number = {word: i for i, word in enumerate(kept, start=1)}
    return Corpus(np.array([number.get(word, 0) for word in words], np.int32), len(kept) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("brown", type=Path)
    parser.add_argument("--heads", nargs="*", default=list(SETTINGS))
    parser.add_argument("--epochs", type=float, default=5)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--power", type=float, default=1.0)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--decay", type=float)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--optimizer")
    parser.add_argument("--keep", action="store_true", help="write the table beside this script")
    args = parser.parse_args()
    torch.set_num_threads(1)
    corpus = brown_stream(args.brown)
    train, valid = (Corpus(corpus.ids[a:b], corpus.vocab_size) for a, b in ((0, 800_000), (800_000, 1_000_000)))
    rows: list[list[object]] = []
    for head in args.heads:
        given = {"lr": args.lr, "weight_decay": args.decay, "batch_size": args.batch, "optimizer": args.optimizer}
        settings = SETTINGS[head] | {name: value for name, value in given.items() if value is not None}
        options = {"samples": args.samples, "power": args.power} if head in {"sampled", "nce"} else {}
        counts = token_frequencies(train)
        model = NPLM(
            corpus.vocab_size, C, M, H, False, head=head, head_options=options, head_counts=counts,
            rng=generator(0, "init"),
        )  # fmt: skip
        config = TrainConfig(epochs=args.epochs, threads=1, valid_tokens=20_000, eval_every=10**9, **settings)
        started = time.process_time()
        result = fit(model, train, None, config)
        seconds = time.process_time() - started
        windows = valid.windows(C)
        ppl = float(np.exp(model.score(windows).mean()))
        log_z = log_normaliser(model, windows) if head == "nce" else None
        spread = f"{log_z.mean:+.3f} ± {log_z.sd:.3f}" if log_z else ""
        speed = f"{result.steps * config.batch_size / seconds:,.0f}"
        settings_text = " ".join(f"{name} {value}" for name, value in (settings | options).items())
        rows.append([head, settings_text, f"{args.epochs:g}", f"{seconds:.0f}", speed, f"{ppl:.1f}", spread])
        print(rows[-1], flush=True)
    if args.keep:
        headers = ["head", "settings", "epochs", "training s", "tokens/s", "validation perplexity", "log Z"]
        lines = ["# Brown with each head", "", f"V {corpus.vocab_size:,}, context {C}, m {M}, h {H}, no direct path. "
                 f"Seconds are those one thread computed. {machine()}", ""]  # fmt: skip
        publish(__file__, lines + table(headers, rows))


if __name__ == "__main__":
    main()
