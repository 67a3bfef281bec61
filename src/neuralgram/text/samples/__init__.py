"""Texts that come with the package: the animals, a story, and a generator of tales."""

from __future__ import annotations

from collections.abc import Callable

from neuralgram.text.samples.animals import animals
from neuralgram.text.samples.story import story
from neuralgram.text.samples.tales import tale_text, tales

__all__ = ["SAMPLES", "animals", "story", "tale_text", "tales"]

SAMPLES: dict[str, Callable[..., str]] = {"animals": animals, "story": story, "tales": tale_text}
