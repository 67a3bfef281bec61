"""The families: what there is of each kind of thing, by name, and where it stands.

A new member is one file and one line here: help, docs, pages and contract tests find it by themselves. Nothing is
imported before it is asked for, so `--help` and counting models never load PyTorch. A member's own options are its
`Settings`, a frozen dataclass of `settings.setting` fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from neuralgram.errors import InputError
from neuralgram.settings import Described, described

KINDS = {  # of model, as neuralgram.json names them
    "nplm": "neuralgram.neural.nplm:NPLM",
    "ngram": "neuralgram.ngram.model:NgramModel",
    "mixture": "neuralgram.mixture:Mixture",
    "uniform": "neuralgram.mixture:Uniform",
}
HEADS = {
    "softmax": "neuralgram.neural.heads.softmax:SoftmaxHead",
    "adaptive": "neuralgram.neural.heads.adaptive:AdaptiveHead",
    "tree": "neuralgram.neural.heads.tree:TreeHead",
    "sampled": "neuralgram.neural.heads.sampled:SampledHead",
    "nce": "neuralgram.neural.heads.nce:NCEHead",
    "mos": "neuralgram.neural.heads.mos:MoSHead",
}
ESTIMATORS = {
    "mle": "neuralgram.ngram.relative_frequency:MaximumLikelihood",
    "add-k": "neuralgram.ngram.add_k:AddK",
    "longest-match": "neuralgram.ngram.relative_frequency:LongestMatch",
    "kneser-ney": "neuralgram.ngram.kneser_ney:KneserNey",
    "modified-kneser-ney": "neuralgram.ngram.kneser_ney:ModifiedKneserNey",
    "deleted-interpolation": "neuralgram.ngram.deleted_interpolation:DeletedInterpolation",
    "class": "neuralgram.ngram.class_model:ClassModel",
}
TOKENIZERS = {
    "bytes": "neuralgram.text.tokenizers.bytelevel:Bytes",
    "chars": "neuralgram.text.tokenizers.chars:Chars",
    "words": "neuralgram.text.tokenizers.words:Words",
    "bpe": "neuralgram.text.tokenizers.bpe:Bpe",
}
OPTIMISERS = {
    "sgd": "neuralgram.training.optimisers:SGD",
    "adamw": "neuralgram.training.optimisers:AdamW",
    "sparse-sgd": "neuralgram.training.optimisers:SparseSGD",
    "adagrad": "neuralgram.training.optimisers:Adagrad",
}
SCHEDULES = {
    "constant": "neuralgram.training.schedules:constant",
    "paper": "neuralgram.training.schedules:paper",
    "linear": "neuralgram.training.schedules:linear",
    "cosine": "neuralgram.training.schedules:cosine",
}
AVERAGES = {
    "none": "neuralgram.training.schedules:no_average",
    "ema": "neuralgram.training.schedules:Exponential",
    "tail": "neuralgram.training.schedules:Tail",
}
EXPORTS = {
    "html": "neuralgram.exporting.html:Html",
    "arpa": "neuralgram.exporting.arpa:Arpa",
}
VIEWS = {  # of the explorer, in the order of their tabs
    "train": "neuralgram.serving.explorer.views.train:Train",
    "inside": "neuralgram.serving.explorer.views.inside:Inside",
    "vectors": "neuralgram.serving.explorer.views.vectors:Vectors",
    "animals": "neuralgram.serving.explorer.views.animals:Why",
    "read": "neuralgram.serving.explorer.views.read:ReadWrite",
    "lessons": "neuralgram.serving.explorer.views.lessons:Lessons",
}


def member(family: Mapping[str, str], name: object, what: str) -> Any:
    """The member `name` of a family, imported now; an `InputError` lists the names where there is no such member."""
    if not isinstance(name, str) or name not in family:
        raise InputError(f"{what} {name!r}: expected one of {', '.join(family)}")
    module, attribute = family[name].split(":")
    return getattr(import_module(module), attribute)


def members(family: Mapping[str, str], what: str) -> dict[str, Any]:
    """Every member of a family by its name, imported now."""
    return {name: member(family, name, what) for name in family}


def options(family: Mapping[str, str]) -> dict[str, dict[str, Described]]:
    """Each option that any member takes, by its name on the command line: who takes it, in the family's order, and what
    it says of each."""
    found: dict[str, dict[str, Described]] = {}
    for name in reversed(list(family)):
        for one in described(member(family, name, "member").Settings):
            found[one.key] = {name: one, **found.get(one.key, {})}
    return found
