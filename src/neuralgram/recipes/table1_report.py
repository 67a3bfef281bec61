"""What the report of Table 1 says: the paper's rows, the ratios it stands on, and what a careful reviewer asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuralgram.evaluation.report import md_table
from neuralgram.numbers import figure
from neuralgram.recipes.report import MARK, Found, Report, fitted_on_valid, interval, lines_of, seed_spread
from neuralgram.text.windows import token_frequencies

# What the paper stands on: which family's best row (on validation) over which, and the published ratio on test.
RATIOS = (
    ("best n-gram over best mixture", "ngram", "mixture", 312 / 252),
    ("deleted interpolation over best mixture", "deleted-interpolation", "mixture", 336 / 252),
    ("best network over best Kneser–Ney", "network", "kn", 276 / 321),
    ("best mixture over best Kneser–Ney", "mixture", "kn", 252 / 321),
)
TARGETS = (
    ("best-network", 0.77, "best single network"),
    ("best-network-floor", 0.77, "same with floors"),
    ("best-mixture", 0.70, "best mixture"),
)


def sections(report: Report) -> tuple[list[str], dict[str, Any]]:
    """The report's Markdown lines, and its figures as JSON values."""
    text, about = _text(report)
    ratios, ratio_figures = _ratios(report)
    beyond, beyond_figures = _beyond(report)
    lines = [*text, "## The paper's rows", "", *report.table(report.of("paper")), "", *_notes(report)]
    lines += ["## The ratios the paper stands on", "", *ratios, *_review(report), *beyond, *_tried(report)]
    return lines, {"text": about, "ratios": ratio_figures, "beyond": beyond_figures, "seeds": _seeds(report)}


def _text(report: Report) -> tuple[list[str], dict[str, Any]]:
    found = next(iter(report.found.values())).row
    corpora = report.work.corpora(found)
    frequencies = token_frequencies(corpora.train)
    parts = {name: len(corpora.part(name)) for name in ("train", "valid", "test")}
    unknown = corpora.tokenizer.unknown
    shares = {name: float((corpora.part(name).ids == unknown).mean()) if unknown is not None else 0.0 for name in parts}
    about = {"vocab_size": corpora.vocab_size, "tokens": parts, "unknown": shares}
    about["unseen_types"] = int((frequencies == 0).sum())
    lines = lines_of(
        f"A stream of {figure(sum(parts.values()), 9)} tokens: {figure(parts['train'], 9)} train, "
        f"{figure(parts['valid'], 9)} validation, {figure(parts['test'], 9)} test. "
        f"V = {figure(corpora.vocab_size, 9)}, the same for every model; "
        f"{100 * shares['valid']:.1f}% of validation and {100 * shares['test']:.1f}% of test "
        f"are the unknown symbol. {about['unseen_types']} types never occur in training; figures *seen* leave them out."
    )
    lines += lines_of(
        "The stream is in the order of categories, so its split is a change of genre (training is informative prose, "
        "test fiction): compare models with each other, and ratios with the paper's. The paper's tokens are lost; its "
        "figures stand beside ours for their proportions. Every model scores the same tokens of a part, all but its "
        f"first {report.work.recipe.first}. The test part was scored once, after everything was settled on validation."
    )
    return lines, about


def _notes(report: Report) -> list[str]:
    notes = [f"{MARK} Weights or discounts, or a part's, were fitted on validation: no test of that figure.", ""]
    notes += lines_of("Train is the finished model's perplexity on 50 000 evenly spaced training tokens.")
    for found in report.of("paper"):
        if found.row.note:
            notes.append(f"- {found.row.label}: {found.row.note}")
    minutes = sum(found.valid["seconds"] for found in report.of("paper")) / 60
    return [*notes, f"These rows took {minutes:.0f} minutes.", ""]


def _ratios(report: Report) -> tuple[list[str], list[dict[str, Any]]]:
    rows, figures = [], []
    for label, upper, lower, paper in RATIOS:
        first, second = (_best(report.of("paper"), family) for family in (upper, lower))
        if first is None or second is None:
            continue
        names = first.row.name, second.row.name
        valid, test = (report.ratio(*names, part) for part in ("valid", "test"))
        called = f"{label} ({first.row.label} / {second.row.label})"
        rows.append([called, _ratio(valid), interval(report.compared(*names)), f"{paper:.3f}"])
        figures.append({"ratio": label, "rows": names, "valid": valid, "test": test, "paper": paper})
    head = ["Each family's best row is chosen on validation, as in the paper.", ""]
    return [*head, *md_table(["ratio", "valid", "test (95%)", "paper: test"], rows), ""], figures


def _best(found: Sequence[Found], family: str) -> Found | None:
    """The row of a family that is best on validation."""
    belongs = {
        "kn": lambda f: f.row.settings.get("smoothing") == "modified-kneser-ney",
        "deleted-interpolation": lambda f: f.row.settings.get("smoothing") == "deleted-interpolation",
    }.get(family, lambda f: f.row.kind == family)
    return min(filter(belongs, found), key=lambda f: f.perplexities[0], default=None)


def _review(report: Report) -> list[str]:
    """Sections for what is not in the paper's table."""
    out: list[str] = []
    for title, names, why in (
        ("Kneser–Ney: both forms, discounts from counts and tuned", _kneser_ney(), _FORMS),
        ("Mixtures: fixed, learned and binned weights", _mixed(report), _WEIGHTS),
        ("Seeds", _seeded(), "The headline rows, trained three times; nothing but the seed differs."),
        ("How MLP9 is trained", ["mlp9", "mlp9-exact", "mlp9-literal"], _LITERAL),
        ("A vocabulary from the training part alone", _variants("train-vocabulary"), _VOCABULARY),
        ("Every tenth file held out", _variants("files"), _FILES),
    ):
        found = [report.found[name] for name in names if name in report.found]
        if len(found) < 2:
            continue
        out += [f"## {title}", "", *lines_of(why), *report.table(found, paper=False), ""]
        out += _unseen(found) if title.startswith("How") else []
        out += [*(f"- {f.row.label}: {f.row.note}" for f in found if f.row.note), ""]
        if title == "Seeds":
            out += _seed_lines(report)
        if title.startswith("Every tenth") or title.startswith("A vocabulary"):
            out += _inner_ratios(found)
    return out


_FORMS = "The paper's toolkit made the back-off form; the interpolated form is today's standard."
_WEIGHTS = "The paper's table has weights of 0.5; its text also fits one weight, or one set a bin of context frequency."
_LITERAL = (
    "The rows are trained with AdamW and a softmax over the target and sampled words (Bengio & Senécal 2003), and "
    "evaluated exactly. *Exact*: an epoch of the exact softmax afterwards. *Literal*: the paper's plain SGD on the "
    "exact softmax, ε_t = ε_0/(1 + r·t), ε_0 = 10⁻³ an example, r = 10⁻⁸, decay 10⁻⁴."
)
_VOCABULARY = (
    "The paper's vocabulary knows which types the held-out parts hold. Here types seen at most 3 times in training are "
    "the unknown symbol, so every type is seen; another vocabulary scores other tokens, and only ratios compare."
)
_FILES = "Of every ten files one is test and one validation, so that all parts hold all genres."


def _unseen(found: Sequence[Found]) -> list[str]:
    """What a token costs whose type training never held: where the ways of training differ most."""
    costs = [f"{f.row.label} {figure(f.valid['valid']['unseen_nats'])}" for f in found]
    return lines_of(f"Nats a validation token whose type never occurs in training: {', '.join(costs)}.")


def _kneser_ney() -> list[str]:
    return [f"kn{n}{suffix}" for n in (3, 4, 5) for suffix in ("", "-tuned", "-interpolated", "-interpolated-tuned")]


def _mixed(report: Report) -> list[str]:
    return [f"mlp{i}{suffix}" for i in (2, 4, 6, 8, 10) for suffix in ("", "-learned", "-binned")]


def _seeded() -> list[str]:
    return [f"{row}{suffix}" for row in ("mlp9", "mlp10") for suffix in ("", "-seed-1", "-seed-2")]


def _variants(suffix: str) -> list[str]:
    bases = ("deleted-interpolation", "kn5", "kn5-interpolated", "class500-3", "mlp9", "mlp10")
    return [f"{base}-{suffix}" for base in bases]


def _seeds(report: Report) -> dict[str, Any]:
    found = {}
    for row in ("mlp9", "mlp10"):
        family = [report.found[n] for n in _seeded() if n in report.found and n.split("-")[0] == row]
        found[row] = seed_spread(family)
    return found


def _seed_lines(report: Report) -> list[str]:
    lines = []
    for row, spread in _seeds(report).items():
        if spread:
            valid, test = spread["valid"], spread["test"]
            lines.append(
                f"- {row.upper()}, {spread['seeds']} seeds: validation {valid[0]:.1f} ± {valid[1]:.1f}, "
                f"test {test[0]:.1f} ± {test[1]:.1f}"
            )
    return [*lines, ""]


def _inner_ratios(found: Sequence[Found]) -> list[str]:
    """The paper's ratios once more, among rows of another text."""
    lines = []
    for label, upper, lower, paper in RATIOS:
        first, second = _best(found, upper), _best(found, lower)
        if first is not None and second is not None:
            ours = first.perplexities[1] / second.perplexities[1]
            lines.append(f"- {label} ({first.row.label} / {second.row.label}): {ours:.3f} on test; paper {paper:.3f}")
    return [*lines, ""]


def _beyond(report: Report) -> tuple[list[str], list[dict[str, Any]]]:
    """The best that can be trained here on the same text, as ratios to the reference."""
    found, reference = report.of("beyond"), report.work.recipe.reference
    if not found:
        return [], []
    rows, figures = [], []
    for f in found:
        valid, test = (report.ratio(f.row.name, reference, part) for part in ("valid", "test"))
        minutes = f.valid["seconds"] / 60
        unseen = f.valid["valid"]["unseen_nats"]
        mark = MARK if fitted_on_valid(report.work, f.row) else ""
        cells = [figure(f.perplexities[0]) + mark, _ratio(valid) + mark, figure(f.perplexities[1])]
        cells += [interval(report.compared(f.row.name, reference)), figure(unseen), f"{minutes:.0f}"]
        rows.append([f.row.label, *cells])
        figures.append({"row": f.row.name, "valid_ratio": valid, "test_ratio": test, "minutes": minutes})
    headers = ["model", "valid", "valid ratio", "test", "test ratio (95%)", "nats a never-seen type, valid", "minutes"]
    lines = ["## Beyond the paper", "", *lines_of(f"Ratios are to `{reference}`, over all tokens.")]
    lines += [*md_table(headers, rows), ""]
    for f in found:
        if f.row.note:
            lines.append(f"- {f.row.label}: {f.row.note}")
    for name, target, label in TARGETS:
        ratio = report.ratio(name, reference, "valid")
        if ratio is not None:
            verdict = "reached" if ratio <= target else "missed"
            mark = MARK if fitted_on_valid(report.work, report.found[name].row) else ""
            lines.append(f"- Target for the {label}, at most {target:.2f} on validation: {ratio:.3f}{mark}, {verdict}.")
    return [*lines, ""], figures


def _tried(report: Report) -> list[str]:
    """How many configurations each row was chosen from."""
    counts: dict[int, list[str]] = {}
    for f in report.found.values():
        if f.row.group != "review":
            counts.setdefault(f.row.tried, []).append(f.row.label)
    lines = [f"- {n}: {', '.join(labels)}" for n, labels in sorted(counts.items(), reverse=True)]
    head = ["## Configurations tried", "", *lines_of("How many each model was tried with, all judged on validation.")]
    return [*head, *lines, ""]


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
