"""Texts that come with the package: the animals, a story, and tales of any length.

The animals show what a network learns of an animal that it has never seen eat. The cat, the dog and the fox hunt and
eat fish and meat; the cow and the goat graze and eat hay and grass. The sheep grazes like them and is never seen
eating. Of five eaters three eat meat, so after "ate the" fish or meat stands 60% of the time. 16 words (the full stop
is one), to be read as one stream.

The story has 26 characters and is so small that a network learns it by heart unless weight decay keeps it from it.

The tales come from a small grammar: who and what a tale is about returns again and again, and what follows "said" or
"the red" depends on words far back, so that longer contexts predict better: a corpus for comparing models on bytes,
characters or words, and for timing them on as much text as one likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from neuralgram.errors import InputError
from neuralgram.rng import generator
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


_STORY = """
a little hen lived in a red house on a green hill. every morning the hen went down the hill to the river.
one day the hen met a duck on the road. where are you going said the duck.
i am going down to the river said the hen. the sun is out and the water is warm.
then i will come with you said the duck.
so the hen and the duck went down the road. they met a goat under a tree. the goat was eating leaves.
where are you going said the goat. we are going to the river said the duck.
the goat looked at the sky. there is a dark cloud over the hill said the goat but i will come with you.
so the hen and the duck and the goat went on. at the bridge they met a big brown dog. the dog was asleep.
good morning dog said the hen. good morning dog said the duck. the dog did not hear.
then the goat stamped on the bridge and the dog jumped up. who is making that noise said the dog.
we are going to the river said the goat. will you come with us. i am too old to swim said the dog
but i will come with you.
so the four friends came to the river. the duck swam in the water. the hen walked in the sand and found a white stone.
the goat ate the grass and the dog lay in the sun.
after a while the cloud came over the hill. the wind blew and the rain began to fall. it fell on the hen and it fell
on the goat and it fell on the dog. only the duck was happy.
we must go home said the hen. my house is small but it is dry. come with me.
so they ran over the bridge and up the road to the red house on the hill.
the hen lit the fire. the goat brought the wood. the duck made a pot of soup.
they had hot soup and brown bread. the rain fell on the roof and the wind blew in the tree
but the four friends were warm and dry.
when the soup was gone the dog told a story. it was a story of a little hen who lived in a red house on a green hill.
that is a good story said the hen. that is a very good story said the duck and the goat.
then the fire went down and the moon came up over the river and the four friends fell asleep.
"""


def story() -> str:
    """The text, a few sentences a line."""
    return _STORY.removeprefix("\n")


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
    random = generator(seed, "tales")
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


SAMPLES: dict[str, Callable[..., str]] = {"animals": animals, "story": story, "tales": tale_text}
