"""The demo: a network with weight decay against the best add-k n-gram, on a story of about 435 words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from neuralgram.evaluation.evaluate import evaluate
from neuralgram.ngram.add_k import AddK, tune
from neuralgram.text.corpora import build_corpora
from neuralgram.text.samples import story
from neuralgram.text.sources import text_document
from neuralgram.text.windows import token_frequencies
from neuralgram.textmodel import TextModel
from neuralgram.training import events
from neuralgram.training.config import TrainConfig
from neuralgram.training.jobs.network import CURVE, train_network
from neuralgram.training.jobs.texts import claim, versions

# Found by measuring: a longer window learns so small a text by heart. Without weight decay the held-out loss turns
# upward after about a thousand steps; `neuralgram lesson story` shows it.
SIZES = {"context": 3, "d_emb": 10, "d_hidden": 60}
TRAINING = TrainConfig(
    steps=4000,
    batch_size=32,
    optimizer="sgd",
    lr=0.1,
    momentum=0.9,
    weight_decay=0.003,
    schedule="linear",
    eval_every=250,
    threads=1,
)
SPLIT = "0.8,0.2"
LARGEST_ORDER = 8
PROMPT = "the hen "


def run_demo(out: Path, *, on_event: events.OnEvent = events.ignore) -> dict[str, Any]:
    """Train both models into `out`, and return every figure the demo prints."""
    corpora = build_corpora(
        [text_document(story(), "the story")], tokenizer="chars", boundary="stream", split=SPLIT, vocab_from="all"
    )
    train, held_out = corpora.part("train"), corpora.part("valid")
    best = tune(train, held_out, LARGEST_ORDER)
    counting = TextModel(
        AddK.fit(train, best.order, k=best.k),
        corpora.tokenizer,
        corpora.boundary,
        {"data": corpora.info, "versions": versions()},
        out / "add-k",
        token_frequencies(train),
    )
    counting.save(out / "add-k")
    first = max(SIZES["context"], counting.model.context)  # both are scored on the same tokens
    scored = evaluate(counting, held_out, path=str(counting.path), first=first)
    claim(out / "nplm", resume=False, overwrite=True)
    network, result = train_network(
        corpora,
        SIZES,
        TRAINING,
        out / "nplm",
        story={"command": "neuralgram demo", "versions": versions()},
        references={f"best add-k (n = {best.order})": scored.nats / scored.tokens},
        on_event=on_event,
    )
    learned = evaluate(network, held_out, path=str(network.path), first=first)
    scores = {"nplm": learned.to_json(), "add-k": scored.to_json()}
    return {
        **scores,
        "vocab_size": corpora.vocab_size,
        "train_tokens": len(train),
        "held_out_tokens": len(held_out),
        "first_loss": result.first_loss,
        "log_v": math.log(corpora.vocab_size),
        "n": best.order,
        "k": best.k,
        "prompt": PROMPT,
        "sample": "".join(network.generate(PROMPT, 240, seed=1)),
        "paths": {"nplm": str(out / "nplm"), "add-k": str(out / "add-k")},
        "learning_curve": str(out / "nplm" / CURVE),
    }
