"""Scoring inside the engines people run at scale, each on two local workers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import neuralgram as ng

TEXTS = ["the cat sat on the mat", "zebra zebra zebra", "the dog sat", "xylophones quickly", "a bird sang"] * 20


def perplexities(words: Path) -> list[float]:
    model = ng.load(words)
    return [math.exp(np.mean([token.nats for token in model.score(text)])) for text in TEXTS]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray about itself
def test_ray_data_on_two_workers(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    pytest.importorskip("pyarrow")
    from neuralgram.scoring.ray import Keeper, Scorer

    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        data = ray.data.from_items([{"text": text, "id": i} for i, text in enumerate(TEXTS)])
        scored = data.map_batches(Scorer, fn_constructor_args=[str(words)], concurrency=2, batch_size=16)
        found = {row["id"]: row["perplexity"] for row in scored.take_all()}
        assert [found[i] for i in range(len(TEXTS))] == pytest.approx(perplexities(words))
        kept = data.map_batches(
            Keeper, fn_constructor_args=[str(words)], fn_constructor_kwargs={"max_perplexity": 10.0}, concurrency=2
        )
        assert {row["id"] for row in kept.take_all()} == {i for i, p in enumerate(perplexities(words)) if p <= 10}
    finally:
        ray.shutdown()


def test_a_datatrove_pipeline_of_two_workers(words: Path, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    from datatrove.executor.local import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    from neuralgram.scoring.datatrove import PerplexityFilter

    source = tmp_path / "in"
    source.mkdir()
    for part in range(2):
        rows = [{"id": str(i), "text": text} for i, text in enumerate(TEXTS) if i % 2 == part]
        (source / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    step = PerplexityFilter(
        str(words),
        max_perplexity=10.0,
        exclusion_writer=JsonlWriter(str(tmp_path / "dropped"), compression=None),
    )
    pipeline = [JsonlReader(str(source)), step, JsonlWriter(str(tmp_path / "kept"), compression=None)]
    LocalPipelineExecutor(pipeline, tasks=2, workers=2, logging_dir=str(tmp_path / "logs"), skip_completed=False).run()
    kept = [json.loads(line) for path in (tmp_path / "kept").iterdir() for line in path.read_text().splitlines()]
    dropped = [json.loads(line) for path in (tmp_path / "dropped").iterdir() for line in path.read_text().splitlines()]
    values = perplexities(words)
    assert sorted(row["id"] for row in kept) == sorted(str(i) for i, p in enumerate(values) if p <= 10)
    assert len(kept) + len(dropped) == len(TEXTS)
    assert {row["metadata"]["filter_reason"] for row in dropped} == {"perplexity_above"}
    assert kept[0]["metadata"]["perplexity"] == pytest.approx(values[int(kept[0]["id"])])
