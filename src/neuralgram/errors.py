"""The error tree. Every error a user can cause is one of these, and all are `ValueError`s.

    NeuralgramError
    ├── InputError       a value, size, id or option outside what was expected
    ├── TextError        a text that cannot be read, decoded or tokenized
    │   └── SplitError   a text with too few tokens or units for the parts it was to be split into
    ├── ModelDirError    a model directory that is truncated, foreign, tampered with or unfit
    └── DivergedError    a training run whose loss became NaN or exploded

A message names the value given, what was expected, and the way out, in one line.
"""


class NeuralgramError(ValueError):
    """Base of all errors raised for what the caller gave; the command prints it as one line."""


class InputError(NeuralgramError):
    """A value, size, id or option outside what was expected."""


class TextError(NeuralgramError):
    """A text that cannot be read, decoded or tokenized."""


class SplitError(TextError):
    """A text with too few tokens or units for the parts it was to be split into."""


class ModelDirError(NeuralgramError):
    """A model directory that is truncated, foreign, tampered with or unfit for the request."""


class DivergedError(NeuralgramError):
    """Training stopped because the loss became NaN or exploded; the last good checkpoint stays."""
