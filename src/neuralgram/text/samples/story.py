"""The story: 26 characters, small enough that a network learns it by heart unless weight decay keeps it from it."""

from __future__ import annotations

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
