"""Output layers: one file each, one contract; see `base.py`."""

from neuralgram.neural.heads.base import Head, HeadInputs
from neuralgram.neural.heads.nce import NCEHead
from neuralgram.neural.heads.sampled import SampledHead
from neuralgram.neural.heads.softmax import SoftmaxHead

HEADS: dict[str, type[Head]] = {
    "softmax": SoftmaxHead,
    "sampled": SampledHead,
    "nce": NCEHead,
}

__all__ = ["HEADS", "Head", "HeadInputs"]
