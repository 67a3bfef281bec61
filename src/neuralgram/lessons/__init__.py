"""Worked examples that print their figures step by step and let the reader change every number."""

from __future__ import annotations

from neuralgram.errors import InputError
from neuralgram.lessons.base import Change, Lesson, Page, Parameter
from neuralgram.lessons.logic import FOLDING, GATES, XOR
from neuralgram.lessons.measures import LOG_V, PERPLEXITY, SIZE, SOFTMAX
from neuralgram.lessons.networks import FIVE_WORDS, THREE_TOKENS
from neuralgram.lessons.training import ANIMALS, STORY
from neuralgram.lessons.unit import UNIT

# In the order in which one reads them.
LESSONS: dict[str, Lesson] = {
    lesson.name: lesson
    for lesson in (
        UNIT,
        GATES,
        XOR,
        FOLDING,
        SOFTMAX,
        PERPLEXITY,
        SIZE,
        THREE_TOKENS,
        FIVE_WORDS,
        LOG_V,
        ANIMALS,
        STORY,
    )
}


def lesson(name: str) -> Lesson:
    """The lesson of that name, or an `InputError` that lists them."""
    if name not in LESSONS:
        raise InputError(f"lesson {name!r}: expected one of {', '.join(LESSONS)}")
    return LESSONS[name]


__all__ = ["LESSONS", "Change", "Lesson", "Page", "Parameter", "lesson"]
