"""Small tales of any length from a small grammar: who and what a tale is about returns again and again.

What follows "said" or "the red" depends on words far back, so that longer contexts predict better: a corpus for
comparing models on bytes, characters or words, and for timing them on as much text as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuralgram.errors import InputError
from neuralgram.rng import PCG32

_NAMES = ("Mila", "Tom", "Anna", "Ben", "Rosa", "Otto", "Lena", "Max", "Ida", "Paul")
_KINDS = ("cat", "dog", "fox", "hen", "bear", "mouse", "rabbit", "frog")
_COLOURS = ("red", "blue", "green", "yellow", "white")
_THINGS = ("ball", "kite", "boat", "hat", "bell", "drum", "lamp", "cup")
_PLACES = ("river", "forest", "garden", "market", "hill", "lake")
_FOODS = ("soup", "bread", "cake", "apples", "honey")

_OPENINGS = (
    "Once upon a time there was a little %(kind)s named %(name)s. %(name)s had a %(colour)s %(thing)s. ",
    "In a small house by the %(place)s lived a %(kind)s. The %(kind)s was called %(name)s. ",
    "%(name)s was a happy %(kind)s who liked %(food)s. ",
    "There once was a %(kind)s named %(name)s who lived near the %(place)s. ",
)
_PLOTS = (
    "One day %(name)s went to the %(place)s with the %(colour)s %(thing)s. On the way the %(thing)s was lost. "
    '%(name)s sat down and cried. Then %(friend)s the %(other)s came by. "Why do you cry?" said %(friend)s. '
    '"I lost my %(colour)s %(thing)s," said %(name)s. So they looked for it together. %(friend)s looked under a tree '
    "and there was the %(colour)s %(thing)s. %(name)s was happy again. ",
    'One morning %(name)s met %(friend)s the %(other)s at the %(place)s. "What do you have there?" said %(name)s. '
    '"This is my %(colour)s %(thing)s," said %(friend)s. "May I play with the %(thing)s?" said %(name)s. '
    '"Yes, you may," said %(friend)s. So they played with the %(colour)s %(thing)s until it was dark. ',
    'It was a cold day and %(name)s was hungry. "I want some %(food)s," said %(name)s. But there was no %(food)s in '
    "the house. So %(name)s walked to the %(place)s. There stood %(friend)s the %(other)s with a big pot of %(food)s. "
    '"Come and eat with me," said %(friend)s. They ate all the %(food)s and were warm. ',
    "%(friend)s the %(other)s wanted to find a %(colour)s %(thing)s for %(name)s. First %(friend)s went to the "
    "%(place)s, but there was no %(thing)s. Then %(friend)s went home and made a %(thing)s from wood and painted it "
    '%(colour)s. "Is this %(thing)s for me?" said %(name)s. "Yes, it is for you," said %(friend)s. ',
    "The rain fell on the %(place)s all day. %(name)s the %(kind)s could not go out. So %(name)s called %(friend)s the "
    '%(other)s. "Come to my house," said %(name)s. "I have %(food)s and a %(colour)s %(thing)s." %(friend)s came at '
    "once. They ate the %(food)s and played with the %(colour)s %(thing)s. ",
)
_ENDINGS = (
    "From that day on %(name)s and %(friend)s were friends.\n",
    '"Thank you, %(friend)s," said %(name)s. "Good night, %(name)s," said %(friend)s.\n',
    "Then %(name)s the %(kind)s went home and slept.\n",
    "And %(name)s never forgot %(friend)s the %(other)s.\n",
)
_TABLE = (_OPENINGS, _PLOTS, _ENDINGS, _NAMES, _NAMES[:-1], _KINDS, _KINDS[:-1], _COLOURS, _THINGS, _PLACES, _FOODS)
_BLOCK = 512  # tales made from one block of random numbers


def tales(words: int, seed: int = 0) -> Iterator[str]:
    """Whole tales, one a line, until there are at least `words` words; a few hundred tales a string.

    One seed gives one endless text, of which this is the beginning. Millions of words a second, in constant memory.
    """
    if words < 1:
        raise InputError(f"{words} words of tales: expected at least 1")
    random = PCG32(seed, stream=106)
    sizes = np.array([len(column) for column in _TABLE], np.uint64)
    while words > 0:
        draws = random.uint32s(_BLOCK * len(sizes)).reshape(_BLOCK, len(sizes))
        rows = ((draws * sizes) >> np.uint64(32)).tolist()
        made = []
        for row in rows:
            made.append(_tale(row))
            words -= made[-1].count(" ") + 1
            if words <= 0:
                break
        yield "".join(made)


def _tale(row: list[int]) -> str:
    opening, plot, ending, name, friend, kind, other, colour, thing, place, food = row
    friend += friend >= name  # somebody else
    other += other >= kind
    return (_OPENINGS[opening] + _PLOTS[plot] + _ENDINGS[ending]) % {
        "name": _NAMES[name],
        "friend": _NAMES[friend],
        "kind": _KINDS[kind],
        "other": _KINDS[other],
        "colour": _COLOURS[colour],
        "thing": _THINGS[thing],
        "place": _PLACES[place],
        "food": _FOODS[food],
    }


def tale_text(words: int = 100_000, seed: int = 0) -> str:
    """The tales as one string."""
    return "".join(tales(words, seed))
