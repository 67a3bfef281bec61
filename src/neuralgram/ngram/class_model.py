"""A class n-gram: P(w | h) = P(g(w) | g(h)) · P(w | g(w)), g the class of a word.

The classes follow one another as modified Kneser–Ney says. Within its class a word has its discounted relative
frequency, (c(w) − D)/c(g); what D frees goes to all the words of the class, or (`unigrams="unseen"`, and in the
back-off form) to those of them that the text lacks, if any. (Brown et al. 1992.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError, ModelDirError
from neuralgram.explanation import Index, Panel, Quantity, Spelled
from neuralgram.ngram.backoff import BackoffTable
from neuralgram.ngram.backoff_model import panels
from neuralgram.ngram.counts import Counts
from neuralgram.ngram.counts_on_disk import chunk_of, replaced
from neuralgram.ngram.kneser_ney import Discounts, Plan, Smoothing, described, estimate, form_of, numbered
from neuralgram.ngram.model import Config, NgramModel, State, log, sizes
from neuralgram.ngram.trie import Floats, Ints
from neuralgram.ngram.word_classes import Classes, exchange
from neuralgram.numbers import number
from neuralgram.settings import setting
from neuralgram.text.windows import Corpus, as_ids, smallest_dtype, token_frequencies


class ClassModel(NgramModel):
    """A back-off table over classes, the class of each token and the log-probability of each in its class."""

    smoothing = "class"

    @dataclass(frozen=True)
    class Settings(Smoothing):
        """The options of class models. In Python `classes` may be `Classes` made before."""

        classes: int = setting(500, help="Word classes.", low=1, refused="{value} classes: expected at least 1")
        sweeps: int = setting(20, help="At most so many passes of the exchange algorithm.", low=0)

    @classmethod
    def check(cls, order: int, **options: Any) -> None:
        """As every estimator does, and discounts that are numbers."""
        classes = options.get("classes")
        own = {name: value for name, value in options.items() if name != "classes" or not isinstance(classes, Classes)}
        super().check(order, **numbered(order, own))

    def __init__(
        self, table: BackoffTable, class_of: Ints, log_word: Floats, boundary: int | None, options: Config
    ) -> None:
        self.table, self.class_of, self.log_word = table, class_of, log_word
        self.vocab_size = len(class_of)
        self.context = table.order - 1
        self.boundary = boundary
        self._options = options

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        order: int,
        *,
        classes: int | Classes = Settings.classes,
        form: str = Settings.form,
        unigrams: str = Settings.unigrams,
        discounts: Discounts = Settings.discounts,
        valid: Corpus | None = None,
        sweeps: int = Settings.sweeps,
        memory_limit: int | None = Settings.memory_limit,
    ) -> Self:
        """Cluster the words into `classes` (or take given ones), and count and smooth the text of classes.

        `form`, `unigrams`, `discounts` and `valid` are those of Kneser–Ney. Frequent classes leave no counts of 1 to
        3 to estimate the lowest orders' discounts from; these fall back without a warning. Within `memory_limit` words
        and classes are counted; clustering holds the distinct pairs of words in memory.
        """
        smoothed = {"form": form, "unigrams": unigrams, "discounts": discounts}
        cls.check(order, classes=classes, sweeps=sweeps, memory_limit=memory_limit, **smoothed)
        if isinstance(classes, Classes):
            found = classes
        else:
            found = exchange(corpus, classes, sweeps=sweeps, memory_limit=memory_limit)
        _check(found, corpus)
        plan = Plan(True, form_of(form, unigrams), discounts, quiet=True)
        chunk = chunk_of(memory_limit)
        counts = Counts.of(_text_of_classes(corpus, found, chunk), order, memory_limit=memory_limit)
        made, D = estimate(counts, plan, None if valid is None else _text_of_classes(valid, found, chunk))
        log_word = _within(token_frequencies(corpus, chunk), found, plan.form.unigrams)
        return cls(made, found.class_of, log_word, corpus.boundary, {"classes": found.total} | described(plan, D))

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Natural log-probabilities [B, V] after `contexts` [B, c]."""
        rows = self.table.rows(self.class_of[self.check_windows(contexts)])
        out: NDArray[np.float64] = rows[:, self.class_of] + self.log_word
        return out

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, [B]."""
        windows, words = self.check_windows(contexts, targets), as_ids(targets)
        return self.table.losses(self.class_of[windows], self.class_of[words]) - self.log_word[words]

    def orders(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.int64]:
        """The length of the n-gram of classes each probability is read from, [B]."""
        windows, words = self.check_windows(contexts, targets), as_ids(targets)
        return self.table.longest(self.class_of[windows], self.class_of[words])

    def explain(self, context: Ints, words: Sequence[int]) -> tuple[Panel, ...]:
        """Each word within its class, then the way of the classes through their table."""
        classes = self.class_of[context]
        of_class = np.exp(self.table.rows(classes[None, :])[0])[self.class_of]
        within = np.exp(self.log_word)

        def opened(index: Index, spelled: Spelled) -> tuple[str, str]:
            w = index[0]
            return "P(class | h)·P(w | class)", f"{number(float(of_class[w]))}·{number(float(within[w]))}"

        quantities = (
            Quantity("class", self.class_of.astype(np.float64)),
            Quantity("P(class | h)", of_class),
            Quantity("P(w | class)", within),
            Quantity("p", of_class * within, "p = P(g(w) | g(h)) · P(w | g(w))", opened=opened),
        )
        own = Panel("Words within classes", quantities, text="Where P(class | h) comes from stands below.")
        return own, *(p.over(self.class_of, self._members) for p in panels(self.table, self.config(), classes))

    def _members(self, g: int, spelled: Spelled) -> str:
        """A class by its first words."""
        words = np.flatnonzero(self.class_of == g)
        return f"{{{' '.join(spelled(int(w)) for w in words[:3])}{' …' if len(words) > 3 else ''}}}"

    def seen(self, contexts: ArrayLike) -> None:
        """None: it counts classes, and keeps no count of tokens."""

    def state(self) -> State:
        """The table over classes, `class_of` and `log_word` [V]."""
        return self.table.state() | {"class_of": self.class_of, "log_word": self.log_word}

    def config(self) -> Config:
        """What was chosen: the order, the number of classes (the boundary's included), the form and discounts."""
        return self.chosen(**self._options)

    @classmethod
    def restored(cls, config: Config, state: State) -> Self:
        """The model that `config()` and `state()` describe."""
        V, order, boundary = sizes(config)
        class_of = np.asarray(state["class_of"], np.int64)
        log_word = np.asarray(state["log_word"], np.float64)
        C = config["classes"]
        if class_of.shape != (V,) or log_word.shape != (V,) or class_of.min() < 0 or class_of.max() >= C:
            raise ModelDirError(f"class_of and log_word do not fit {V} tokens in {C} classes: make the model again")
        table = BackoffTable.from_state(C, order, None if boundary is None else int(class_of[boundary]), state)
        known = ("smoothing", "order", "vocab_size", "boundary")
        options = {name: value for name, value in config.items() if name not in known}
        return cls(table, class_of, log_word, boundary, options)


def _check(found: Classes, corpus: Corpus) -> None:
    class_of, total = found
    if class_of.shape != (corpus.vocab_size,) or class_of.min() < 0 or class_of.max() >= total:
        raise InputError(f"given classes: expected one of 0 … {total - 1} for each of {corpus.vocab_size} tokens")
    if corpus.boundary is not None and (class_of == class_of[corpus.boundary]).sum() != 1:
        raise InputError("given classes: expected the boundary symbol to have a class of its own")


def _text_of_classes(corpus: Corpus, found: Classes, chunk: int) -> Corpus:
    """The class of every token in its place."""
    boundary = None if corpus.boundary is None else int(found.class_of[corpus.boundary])
    if len(corpus) < chunk:
        return Corpus(found.class_of[as_ids(corpus.ids, len(found.class_of))], found.total, boundary)
    return Corpus(replaced(corpus, found.class_of, smallest_dtype(found.total), chunk), found.total, boundary)


def _within(frequencies: Ints, found: Classes, rest: str) -> Floats:
    """log P(w | g(w)), [V]; `frequencies` c(w), [V]."""
    c = frequencies.astype(np.float64)
    n1, n2 = int((c == 1).sum()), int((c == 2).sum())
    D = n1 / (n1 + 2 * n2) if n1 and n2 else 0.5
    g, size = found.class_of, found.total
    total, words = np.bincount(g, c, minlength=size), np.bincount(g, minlength=size)
    types = np.bincount(g, c > 0, minlength=size)
    shares = np.where((types == words) | (rest == "uniform"), words, words - types)  # words that share what D frees
    shared = (c == 0) | (shares == words)[g]
    p = np.maximum(c - D, 0.0) + np.where(shared, (D * types / np.maximum(shares, 1))[g], 0.0)
    return log(np.where(total[g] > 0, p / np.maximum(total, 1.0)[g], 1.0 / words[g]))
