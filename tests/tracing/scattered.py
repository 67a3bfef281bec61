"""Networks far from their initial calm, so that every term of a trace matters."""

import torch

from neuralgram.neural.nplm import NPLM
from neuralgram.rng import PCG32


def scattered(model: NPLM) -> NPLM:
    """The model with every parameter, biases too, uniform in (−1, 1)."""
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            draws = torch.from_numpy(PCG32(50 + i).uniforms(parameter.numel())).reshape(parameter.shape)
            parameter.copy_(2 * draws.to(parameter.dtype) - 1)
    return model
