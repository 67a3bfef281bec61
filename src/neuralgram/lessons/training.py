"""Lessons that train: the animals; the story with and without weight decay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuralgram.lessons.base import Lesson, Values, check_wanted, figures, numbers, relation
from neuralgram.text.windows import Corpus
from neuralgram.tracing.formulas import given
from neuralgram.tracing.steps import Chart, Floats, Section
from neuralgram.tracing.vectors import closeness

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM
    from neuralgram.text.tokenizers import Tokenizer
    from neuralgram.training.loop import Trainer


class Sample(NamedTuple):
    """An embedded text as ids."""

    tokenizer: Tokenizer
    train: Corpus
    held_out: Corpus | None

    def ids(self, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """A text as ids [T]."""
        return np.asarray(self.tokenizer.encode(text)).astype(np.int64)


def sample_of(name: str) -> Sample:
    """`animals`, by words, all of it; or `story`, by characters, its last fifth held out."""
    from neuralgram.text.corpora import build_corpora
    from neuralgram.text.samples import animals, story
    from neuralgram.text.sources import text_document

    if name == "animals":
        made = build_corpora([text_document(animals(), name)], tokenizer="words", boundary="stream", vocab_from="all")
        return Sample(made.tokenizer, made.part("train"), None)
    made = build_corpora(
        [text_document(story(), name)], tokenizer="chars", boundary="stream", split="0.8,0.2", vocab_from="all"
    )
    return Sample(made.tokenizer, made.part("train"), made.part("valid"))


_LOOKS = 16  # how often a run is looked at


def _looks(steps: int) -> list[int]:
    """The steps at which a run is looked at: 0, the last, and some between."""
    return sorted({round(i * steps / _LOOKS) for i in range(_LOOKS + 1)})


# ---- the animals ----

_ANIMALS = ("cat", "dog", "fox", "cow", "goat", "sheep")
_FOODS = ("fish", "meat", "grass", "hay")


def _animals(v: Values) -> list[Section]:
    from neuralgram.ngram.relative_frequency import LongestMatch

    sample = sample_of("animals")
    counting = LongestMatch.fit(sample.train, 4)
    model, near = _train_animals(v, sample)
    asked = ("cow ate the", "sheep ate the")
    contexts = np.stack([sample.ids(text) for text in asked])
    by_count, by_network = np.exp(counting.log_probs(contexts)), np.exp(model.log_probs(contexts))
    columns = [f"{kind}, {text}" for text in ("cow", "sheep") for kind in ("4-gram", "network")]
    table = np.stack([by_count[0], by_network[0], by_count[1], by_network[1]], axis=1)
    rows = [int(sample.ids(food)[0]) for food in _FOODS]
    others = 1 - table[rows].sum(axis=0, keepdims=True)

    def name(i: int) -> str:
        return (*_FOODS, "all else")[i]

    meat, plants = table[rows[:2]].sum(axis=0), table[rows[2:]].sum(axis=0)
    checks = figures("4-gram: fish or meat after “the sheep ate the”", meat[2], 0.6, 0.01)
    checks.append(
        relation("network: grass and hay get most of it", plants[3] > 0.9, f"{plants[3]:.0%} of the probability")
    )
    text = (
        "The 4-gram never saw “sheep ate the”, falls back to “ate the”, and there most eaters were meat eaters. "
        "The network never saw it either, but it knows the sheep. (Other seeds end with 78% to 98% on grass and hay.)"
    )
    step = given("P", np.concatenate([table[rows], others]), rows=name, columns=columns)
    return [
        Section("What did the cow eat, and the sheep?", text, (step,), "next word", checks=tuple(checks)),
        *_closeness(near, sample),
    ]


def _train_animals(v: Values, sample: Sample) -> tuple[NPLM, dict[int, Floats]]:
    """The trained network, and at some steps how close every word's vector was to the sheep's."""
    from neuralgram.neural.nplm import NPLM
    from neuralgram.rng import PCG32

    seed, steps = int(v["seed"]), int(v["steps"])
    model = NPLM(sample.train.vocab_size, 3, 6, 32, direct=False, rng=PCG32(seed))
    trainer = _trainer(model, sample.train, v, "adamw")
    sheep = int(sample.ids("sheep")[0])
    near = {}
    for stop in _looks(steps):
        _run_to(trainer, stop)
        C = np.asarray(model.state()["emb.weight"], np.float64)
        near[stop] = closeness(C, C[sheep], "cosine")
    return model, near


def _closeness(near: dict[int, Floats], sample: Sample) -> list[Section]:
    ids = {animal: int(sample.ids(animal)[0]) for animal in _ANIMALS if animal != "sheep"}
    last = near[max(near)]
    values = np.array([last[i] for i in ids.values()])
    names = list(ids)
    kind = {i: "grazes" if name in ("cow", "goat") else "hunts" for i, name in enumerate(names)}
    step = given("cosine", values, equation="C[sheep]·C[w] / (‖C[sheep]‖ ‖C[w]‖)", rows=lambda i: names[i])
    x = np.array(sorted(near), np.float64)
    series = {name: np.array([near[int(stop)][i] for stop in x]) for name, i in ids.items()}
    grazers, hunters = values[[names.index("cow"), names.index("goat")]], values[:3]
    closer = relation(
        "the sheep's vector ended nearer to both grazers than to any hunter",
        bool(grazers.min() > hunters.max()),
        f"{grazers.min():.2f} > {hunters.max():.2f}",
    )
    text = (
        "Sheep, cow and goat all stand before “grazed”: each such window pulls its vector the same way, so the three "
        "drift together, and what is learned from the cow's meals holds for the sheep."
    )
    chart = Chart("step", "cosine with sheep", x, series)
    return [Section("Where the sheep's vector went", text, (step,), "word", marks=kind, checks=(closer,), chart=chart)]


ANIMALS = Lesson(
    "animals",
    "What did the sheep eat?",
    "a 4-gram and a network on a sentence neither has seen",
    """
Three animals hunt and eat fish and meat. Cow and goat graze and eat hay and grass. The sheep grazes too, but no
sentence ever shows it eating. Both models read these sentences; then both are asked what follows “the sheep ate the”.
""",
    {
        "steps": numbers(600, "updates", whole=True, least=1, most=5000),
        "lr": numbers(0.02, "learning rate (AdamW)", least=0, most=10),
        "weight_decay": numbers(0.2, "weight decay", least=0, most=10),
        "seed": numbers(1, "seed of weights and order", whole=True, least=0, most=1e6),
    },
    _animals,
    seconds=3,
)


# ---- the story ----


def _trainer(model: NPLM, corpus: Corpus, v: Values, optimizer: str, decay: float | None = None) -> Trainer:
    from neuralgram.training.config import TrainConfig
    from neuralgram.training.loop import Trainer

    config = TrainConfig(
        steps=int(v["steps"]),
        batch_size=32,
        seed=int(v["seed"]),
        optimizer=optimizer,
        lr=float(v["lr"]),
        momentum=0.9,
        weight_decay=float(v["weight_decay"]) if decay is None else decay,
        schedule="linear",
    )
    return Trainer(model, corpus.windows(model.context), config, int(v["steps"]))


def _run_to(trainer: Trainer, step: int) -> None:
    for _ in trainer.run(step):
        check_wanted()


def _perplexities(v: Values, sample: Sample, decay: float) -> tuple[Floats, Floats]:
    """Training and held-out perplexity at each look."""
    from neuralgram.neural.nplm import NPLM
    from neuralgram.rng import PCG32

    if sample.held_out is None:
        return np.empty(0), np.empty(0)
    model = NPLM(sample.train.vocab_size, 4, 10, 64, direct=False, rng=PCG32(int(v["seed"])))
    trainer = _trainer(model, sample.train, v, "sgd", decay)
    seen, unseen = [], []
    for stop in _looks(int(v["steps"])):
        _run_to(trainer, stop)
        seen.append(_perplexity(model, sample.train, stop, float(v["lr"])))
        unseen.append(_perplexity(model, sample.held_out, stop, float(v["lr"])))
    return np.array(seen), np.array(unseen)


def _perplexity(model: NPLM, corpus: Corpus, step: int, lr: float) -> float:
    """exp of the mean loss; a run that lost itself is a `DivergedError`."""
    from neuralgram.training.loop import diverged

    losses = model.score(corpus.windows(model.context))
    mean = float(losses.mean())
    if not mean < 700:  # exp overflows soon after, and NaN is no number below it
        raise diverged(mean, step, lr)
    return math.exp(mean)


def _story(v: Values) -> list[Section]:
    from neuralgram.ngram.add_k import tune

    sample = sample_of("story")
    if sample.held_out is None:
        return []
    best = tune(sample.train, sample.held_out, 8)
    rival = math.exp(best.loss)
    decay = float(v["weight_decay"])
    with_decay, without = _perplexities(v, sample, decay), _perplexities(v, sample, 0.0)
    x = np.array(_looks(int(v["steps"])), np.float64)
    steps = (
        given("training", with_decay[0], equation=f"perplexity, weight decay {decay:g}", rows=lambda i: f"{x[i]:.0f}"),
        given("held out", with_decay[1], rows=lambda i: f"{x[i]:.0f}"),
        given("training, none", without[0], equation="without weight decay", rows=lambda i: f"{x[i]:.0f}"),
        given("held out, none", without[1], rows=lambda i: f"{x[i]:.0f}"),
        given("best add-k", rival, equation=f"n = {best.order}, k = {best.k:g}, tuned on the held-out part"),
    )
    after = slice(1, None)  # the untrained model, at perplexity V, would flatten the picture
    series = {f"held out, weight decay {decay:g}": with_decay[1][after], "held out, none": without[1][after]}
    chart = Chart("step", "perplexity", x[after], series, {"best add-k n-gram": rival})
    lowest, last, kept = float(without[1].min()), float(without[1][-1]), float(with_decay[1][-1])
    at = int(x[int(without[1].argmin())])
    checks = (
        relation("with weight decay the network ends below the best add-k", kept < rival, f"{kept:.2f} < {rival:.2f}"),
        relation(
            "without, it turns upward", last > 1.2 * lowest, f"lowest {lowest:.2f} at step {at}, then up to {last:.2f}"
        ),
        relation("and climbs past 10", last > 10, f"{last:.2f} at the end"),
        relation(
            "while its training perplexity keeps falling",
            bool(without[0][-1] <= without[0].min() * 1.05),
            f"{without[0][-1]:.2f} at the end",
        ),
    )
    text = "The same network, weights and order of windows, once with weight decay and once without."
    return [Section("Two runs", text, steps, "step", checks=checks, chart=chart)]


STORY = Lesson(
    "story",
    "A story, with and without weight decay",
    "what keeps a network from learning 435 words by heart",
    """
A story of about 435 words, letter by letter: four fifths to learn from, the last fifth held out. The text is so small
that a network can learn it by heart. Weight decay pulls every weight (no bias) a little towards 0 at each step.
""",
    {
        "steps": numbers(4000, "updates", whole=True, least=1, most=20000),
        "lr": numbers(0.1, "learning rate (SGD, momentum 0.9)", least=0, most=10),
        "weight_decay": numbers(0.003, "weight decay of the first run", least=0, most=1),
        "seed": numbers(0, "seed of weights and order", whole=True, least=0, most=1e6),
    },
    _story,
    seconds=8,
)
