"""neuralgram: a neural n-gram. The neural probabilistic language model, the counting models it is
measured against and their mixtures as one kind of thing, over the same tokens."""

__version__ = "0.1.0"
