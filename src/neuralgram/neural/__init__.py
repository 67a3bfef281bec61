"""The neural probabilistic language model: the equation, its reference, heads and kernels."""
