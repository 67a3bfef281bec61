"""Pretrained vectors for C: put in by rows, then trained on or kept as they are."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike

from neuralgram.errors import InputError
from neuralgram.neural.nplm import NPLM
from neuralgram.text.windows import as_ids


@torch.no_grad()
def set_embeddings(model: NPLM, ids: ArrayLike, vectors: ArrayLike, *, freeze: bool = False) -> None:
    """Set rows `ids` [N] of C to `vectors` [N, m]; the other rows stay as they were drawn.

    With `freeze` the whole of C is no longer trained (where output vectors are tied to it, neither are they).
    Raises `InputError` for ids outside the vocabulary or given twice, another width, and numbers that are not finite.
    """
    rows = as_ids(ids, model.vocab_size)
    given = np.asarray(vectors, np.float64)
    expected = (len(rows), model.settings.d_emb)
    if rows.ndim != 1 or given.shape != expected:
        raise InputError(f"vectors of shape {list(given.shape)} for {len(rows)} rows: expected {list(expected)}")
    if len(np.unique(rows)) != len(rows):
        raise InputError(
            f"{len(rows)} rows, {len(rows) - len(np.unique(rows))} of them given twice: expected each once"
        )
    if not np.isfinite(given).all():
        raise InputError("vectors with numbers that are infinite or not a number: expected finite ones")
    table = model.emb.weight
    table[torch.from_numpy(rows).to(table.device)] = torch.from_numpy(given).to(table)
    if freeze:
        table.requires_grad_(False)
