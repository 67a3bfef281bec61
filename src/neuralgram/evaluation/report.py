"""A comparison as JSON values and as Markdown: the table, where the models differ, and what each predicts best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from neuralgram.evaluation.compare import Difference, Ranked
from neuralgram.evaluation.evaluate import Evaluation
from neuralgram.evaluation.texts import Ranking
from neuralgram.evaluation.where import Breakdown, Skipped, Strength, by_context, by_file, by_frequency, strengths
from neuralgram.modeldir import bytes_on_disk
from neuralgram.numbers import figure
from neuralgram.text.staging import TOLD, UNITS

APART = "Models over different tokenizers or boundaries score different tokens: they are not ranked against each other."
_FILES_SHOWN = 100  # in Markdown; JSON has them all


def names(rows: Sequence[Ranked]) -> list[str]:
    """What each model is called: the last folder of its path, or the whole path where two would be the same."""
    paths = [row.evaluation.path.rstrip("/") for row in rows]
    short = [path.rsplit("/", 1)[-1] for path in paths]
    return short if len(set(short)) == len(short) else paths


def breakdowns(ranking: Ranking) -> list[Breakdown | Skipped]:
    """Where the models of a ranking differ."""
    rows = [row.evaluation for row in ranking.rows]
    return [by_frequency(rows), by_context(rows, ranking.text.corpus), by_file(rows, ranking.text.documents)]


def record(row: Ranked) -> dict[str, Any]:
    """One row as JSON values."""
    found = row.evaluation.to_json()
    found["size"] = {**row.evaluation.model.model.size()._asdict(), "bytes": _on_disk(row)}
    found["difference"] = None
    if row.difference is not None:
        found["difference"] = {**row.difference._asdict(), "first_is_better": row.better}
    found["seeds"] = row.seeds._asdict() if row.seeds else None
    return found


def to_json(ranking: Ranking) -> dict[str, Any]:
    """A ranking as JSON values: `models`, best first, `where` they differ, `best_at` for each."""
    rows = [row.evaluation for row in ranking.rows]
    if len(rows) < 2:
        return {"models": [record(row) for row in ranking.rows]}
    return {
        "models": [record(row) for row in ranking.rows],
        "where": [_breakdown_record(found) for found in breakdowns(ranking)],
        "best_at": [[strength._asdict() for strength in found] for found in strengths(rows)],
    }


def cells(row: Ranked) -> list[str]:
    """The figures of one row, in the order of `HEADERS`."""
    e, size, stored = row.evaluation, row.evaluation.model.model.size(), _on_disk(row)
    speed = e.tokens / e.seconds if e.seconds > 0 else None
    return [
        figure(e.perplexity) + (f" ± {figure(row.seeds.sd_perplexity, 2)}" if row.seeds else ""),
        figure(e.known_perplexity),
        figure(e.seen_perplexity),
        shown(row.difference, row.better),
        figure(e.bits_per_byte),
        f"{figure(size.numbers, 9)} {size.unit}",
        "–" if stored is None else f"{figure(stored / 1e6, 3)} MB",
        figure(speed, 3),
    ]


def _on_disk(row: Ranked) -> int | None:
    path = row.evaluation.model.path
    return None if path is None else bytes_on_disk(path)


def heading(e: Evaluation) -> str:
    """What all models of a ranking scored."""
    told = [f"{figure(e.tokens, 9)} tokens", f"{100 * e.unknown / e.tokens:.2f}% of them unknown"]
    if e.places is not None:
        told.append(f"the ends of {UNITS[e.model.boundary]} left out")
    elif e.ends:
        told.append(f"{figure(e.ends, 9)} {'end' if e.ends == 1 else 'ends'} of {UNITS[e.model.boundary]}")
    return f"{e.model.tokenizer.name}, {e.model.boundary}: {', '.join(told)}"


HEADERS = [
    "perplexity",
    "known",
    "seen",
    "to the first, nats (95%)",
    "bits/byte",
    "size",
    "on disk",
    "tokens/s",
]


def legend(rows: Sequence[Ranked]) -> list[str]:
    """What the columns mean, one sentence each."""
    lines = [
        "Perplexity over all scored tokens, over those that are not the unknown symbol (known), and over those whose "
        "type occurs in the training part (seen)."
    ]
    differences = [row.difference for row in rows if row.difference is not None]
    if differences:
        how = differences[0]
        lines.append(
            f"Differences in nats per token, with 95% intervals of a paired bootstrap over {how.groups} {how.kind}; "
            "no model is called better where the interval holds 0 or seeds alone explain it."
        )
    lines += _of_ends(rows)
    spread = [row.seeds for row in rows if row.seeds]
    if spread:
        lines.append(f"±: standard deviation over up to {max(s.seeds for s in spread)} seeds of the same settings.")
    if rows[0].evaluation.bits_per_byte is None:
        lines.append(f"No bits per byte: {rows[0].evaluation.bytes_reason}.")
    return lines


def _of_ends(rows: Sequence[Ranked]) -> list[str]:
    """What predicting that a unit ends costs, where that was scored."""
    made = [row.evaluation for row in rows]
    if not made[0].ends or made[0].ends == made[0].tokens:
        return []
    shares = []
    for name, e in zip(names(rows), made, strict=True):
        each, other = e.ends_nats / e.ends, (e.nats - e.ends_nats) / (e.tokens - e.ends)
        share = f"{100 * e.ends_nats / e.nats:.1f}%" if 0 < e.nats < math.inf else "–"
        of = f" of {name}" if len(rows) > 1 else ""
        shares.append(f"{share} of the nats{of} ({figure(each, 3)} each, other tokens {figure(other, 3)})")
    unit, rate = TOLD[made[0].model.boundary].capitalize(), made[0].ends / made[0].tokens
    return [f"{unit}: {100 * rate:.1f}% of the tokens, {', '.join(shares)}; --no-end leaves them out."]


def markdown(rankings: Sequence[Ranking]) -> str:
    """All rankings as one Markdown document."""
    out: list[str] = []
    for ranking in rankings:
        called = names(ranking.rows)
        out.append(f"## {heading(ranking.rows[0].evaluation)}\n")
        rows = [[name, *cells(row)] for name, row in zip(called, ranking.rows, strict=True)]
        out += [*md_table(["model", *HEADERS], rows), "", *legend(ranking.rows), ""]
        if len(ranking.rows) > 1:
            for found in breakdowns(ranking):
                out += _breakdown_lines(found, called)
            out += _strength_lines(strengths([row.evaluation for row in ranking.rows]), called)
    if len(rankings) > 1:
        out.append(APART)
    return "\n".join(out).rstrip() + "\n"


def md_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; the first column left, the others right."""
    lines = ["| " + " | ".join(headers) + " |", "|---" + "|---:" * (len(headers) - 1) + "|"]
    return lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def shown(difference: Difference | None, better: bool) -> str:
    """A difference with its interval, and whether it is one."""
    if difference is None:
        return "first"
    if math.isinf(difference.nats):
        return f"{difference.nats:+}: gives a token no probability"
    verdict = "" if better else " (undecided)"
    return f"{difference.nats:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]{verdict}"


def _breakdown_record(found: Breakdown | Skipped) -> dict[str, Any]:
    if isinstance(found, Skipped):
        return {"title": found.title, "skipped": found.reason}
    return found._asdict()


def _breakdown_lines(found: Breakdown | Skipped, called: Sequence[str]) -> list[str]:
    lines = [f"### Nats per token {found.title}\n"]
    if isinstance(found, Skipped):
        return [*lines, f"Left out: {found.reason}.", ""]
    rows = [
        [label, figure(tokens, 9), *(f"{means[g]:.3f}" for means in found.nats)]
        for g, (label, tokens) in enumerate(zip(found.labels, found.tokens, strict=True))
    ]
    kept = md_table([found.title.removeprefix("by "), "tokens", *called], rows[:_FILES_SHOWN])
    more = [f"… and {len(rows) - _FILES_SHOWN} more (JSON has them all)."] if len(rows) > _FILES_SHOWN else []
    return [*lines, *kept, *more, ""]


def _strength_lines(found: Sequence[Sequence[Strength]], called: Sequence[str]) -> list[str]:
    lines = ["### Tokens each model predicts best (nats gained over the best of the others, in all)\n"]
    for name, best in zip(called, found, strict=True):
        listed = ", ".join(f"`{s.symbol.replace('`', '´')}` {s.gained:.1f} ({s.times}×)" for s in best)
        lines.append(f"- {name}: {listed or 'none'}")
    return [*lines, ""]
