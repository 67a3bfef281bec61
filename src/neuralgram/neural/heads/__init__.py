"""Output layers: one file each, one contract; see `base.py`."""

from neuralgram.neural.heads.adaptive import AdaptiveHead
from neuralgram.neural.heads.base import Head, HeadInputs
from neuralgram.neural.heads.mos import MoSHead
from neuralgram.neural.heads.nce import NCEHead
from neuralgram.neural.heads.sampled import SampledHead
from neuralgram.neural.heads.softmax import SoftmaxHead
from neuralgram.neural.heads.tree import TreeHead

HEADS: dict[str, type[Head]] = {
    "softmax": SoftmaxHead,
    "adaptive": AdaptiveHead,
    "tree": TreeHead,
    "sampled": SampledHead,
    "nce": NCEHead,
    "mos": MoSHead,
}

__all__ = ["HEADS", "Head", "HeadInputs"]
