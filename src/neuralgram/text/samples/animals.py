"""The animals: what a network learns of an animal that it has never seen eat.

Six animals. The cat, the dog and the fox hunt and eat fish and meat; the cow and the goat graze and eat hay and grass.
The sheep grazes like them and is never seen eating. Of five eaters three eat meat, so after "ate the" fish or meat
stands 60% of the time. 16 words (the full stop is one), to be read as one stream.
"""

from __future__ import annotations

from neuralgram.text.shuffle import Permutation

HUNTERS = {"cat": ("fish", "meat"), "dog": ("meat", "fish"), "fox": ("meat", "fish")}
GRAZERS = {"cow": ("hay", "grass"), "goat": ("grass", "hay"), "sheep": ()}
_TIMES = 12


def animals() -> str:
    """The text, a sentence a line, in a fixed mixed order."""
    sentences = []
    for does, kind in (("hunted", HUNTERS), ("grazed", GRAZERS)):
        for animal, foods in kind.items():
            sentences += [f"the {animal} {does} .", f"the {animal} {does} .", f"the {animal} slept ."]
            sentences += [f"the {animal} ate the {food} ." for food in foods]
    sentences *= _TIMES
    order = Permutation(len(sentences), 0).take(0, len(sentences))
    return "".join(f"{sentences[i]}\n" for i in order)
