"""Counting: seconds a token of modified Kneser–Ney, order 5, as the text grows, within memory and with a limit.

    python -m benchmarks.counting [--millions 1 4 16] [--limit 64]

The text is a chain of tokens by Zipf's law (`texts.chain`), in sentences of 24: it has new n-grams at any length, as
texts have. The whole estimate is timed, counts to table, in processor seconds of one thread; each in a process of its
own, whose peak is over what it held with the text in memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import time
from typing import NamedTuple

import numpy as np

from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, child_output, parser, run, setting_of, table
from benchmarks.peak import forget, highest, resident
from benchmarks.texts import chain, sentences
from neuralgram import Corpus
from neuralgram.ngram import fit
from neuralgram.numbers import spaced

ORDER, V = 5, 50_000
TARGET = 1.5  # seconds a token of the longest text over those of the shortest
KENLM_WORDS, KENLM_SECONDS = 766_000, 1.4  # lmplz, order 5, on another 2-core machine
ABOUT = f"Modified Kneser–Ney, order {ORDER}, on sentences of 24 tokens by Zipf's law, V {spaced(V)}."


class Estimate(NamedTuple):
    """What one estimate took: tokens, processor seconds, bytes at the peak, n-grams of all orders."""

    tokens: int
    seconds: float
    peak: int
    ngrams: int


def estimate(corpus: Corpus, limit: int | None) -> Estimate:
    """In this process, with at most `limit` bytes for counting."""
    before = resident()
    forget()
    started = time.process_time()
    model = fit("modified-kneser-ney", corpus, ORDER, memory_limit=limit)
    seconds = time.process_time() - started
    ngrams = sum(len(array) for name, array in model.state().items() if name.startswith("log_p"))
    return Estimate(len(corpus), seconds, highest() - before, ngrams)


def in_process(tokens: int, limit: int) -> Estimate:
    """The same in a process of its own; a limit of 0 is none."""
    return Estimate(*child_output("counting", 1, "--case", str(tokens), str(limit)))


def grown(setting: Setting) -> tuple[list[str], list[Figure]]:
    """Every length without and with the limit."""
    lengths = [5000, 20_000] if setting.quick else [round(m * 1e6) for m in setting.options.millions]
    megabytes = 1 if setting.quick else setting.options.limit
    rows: list[list[object]] = []
    figures = []
    for limit, name in ((0, "none"), (megabytes << 20, f"{megabytes} MiB")):
        found = [in_process(tokens, limit) for tokens in lengths]
        first, last = found[0], found[-1]
        for e in found:
            cost = e.seconds / e.tokens / (first.seconds / first.tokens)
            rows.append([spaced(e.tokens), name, spaced(e.ngrams), f"{e.seconds:.1f}",
                         spaced(e.tokens / e.seconds), f"{cost:.2f}", spaced(e.peak / 2**20)])  # fmt: skip
        growth = last.seconds / last.tokens / (first.seconds / first.tokens)
        what = f"a token of {_millions(last.tokens)} over one of {_millions(first.tokens)} tokens, memory limit {name}"
        figures.append(Figure(7, what, growth, TARGET, "<=", precision=""))
    headers = ["tokens", "limit", "n-grams", "seconds", "tokens/s", "a token over the first's", "peak, MiB"]
    return table(headers, rows), figures


def _millions(tokens: int) -> str:
    return f"{tokens / 1e6:.3g} million"


def beside_kenlm(setting: Setting) -> tuple[list[str], list[Figure]]:
    """Ours on sentences, and KenLM's estimator where its program is found, else the seconds it is quoted with."""
    name, corpora = sentences(setting.quick)
    corpus = corpora.train
    words = len(corpus) - int((np.asarray(corpus.ids) == corpus.boundary).sum())
    own = estimate(corpus, None)
    lines = [f"{name}: {spaced(words)} words and {spaced(len(corpus) - words)} ends in {own.seconds:.2f} s, "
             f"{spaced(words / own.seconds)} words/s."]  # fmt: skip
    what = "peer: words/s over KenLM's `lmplz`"
    program = shutil.which("lmplz")
    if program is None:
        quoted = KENLM_WORDS / KENLM_SECONDS
        lines.append(f"KenLM's `lmplz` is not here; on another 2-core machine it took {KENLM_SECONDS} CPU-seconds for "
                     f"{spaced(KENLM_WORDS)} words of Brown, {spaced(quoted)} words/s.")  # fmt: skip
        return lines, [Figure(7, f"{what}, as quoted from another machine", words / own.seconds / quoted, precision="")]
    theirs = lmplz(program, corpus)
    lines.append(f"KenLM's `lmplz`: {theirs:.2f} CPU-seconds, {spaced(words / theirs)} words/s.")
    return lines, [Figure(7, what, theirs / own.seconds, precision="")]


def lmplz(program: str, corpus: Corpus) -> float:
    """CPU-seconds of KenLM's estimator on the same sentences, ids for words."""
    ends = np.flatnonzero(np.asarray(corpus.ids) == corpus.boundary)
    units = np.split(np.asarray(corpus.ids), ends + 1)[:-1]
    text = "\n".join(" ".join(map(str, unit[:-1].tolist())) for unit in units) + "\n"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "-o", str(ORDER), "-S", "1G", "--discount_fallback"]
    subprocess.run(command, input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(setting: Setting) -> Sheet:
    """Growth, and KenLM."""
    lines, figures = grown(setting)
    more, beside = beside_kenlm(setting)
    return Sheet([*lines, *more], figures + beside)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--millions", type=float, nargs="*", default=[1, 4, 16], help="tokens, millions [1 4 16]")
    options.add_argument("--limit", type=int, default=64, help="MiB for counting, where it is limited [64]")
    options.add_argument("--case", type=int, nargs=2, help=argparse.SUPPRESS)  # tokens and bytes, JSON on stdout
    args = options.parse_args()
    if args.case:
        setting_of(args, 1)
        tokens, limit = args.case
        print(json.dumps(estimate(chain(V, tokens), limit or None)))
    else:
        run(__file__, "Counting", ABOUT, measure, options=options)


if __name__ == "__main__":
    main()
