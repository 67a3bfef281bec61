"""A counting model as an ARPA file, which KenLM, SRILM and their kin load."""

from __future__ import annotations

from pathlib import Path

from neuralgram.errors import InputError
from neuralgram.ngram.arpa import write_arpa
from neuralgram.ngram.backoff_model import BackoffModel
from neuralgram.textmodel import END, TextModel


def to_arpa(model: TextModel, path: Path) -> None:
    """Write `model` to `path`, gzip where it ends in .gz.

    Raises `InputError` where the model is no back-off table: a network, a mixture, add-k have no such file.
    """
    if not isinstance(model.model, BackoffModel):
        raise InputError(
            f"{model.model.called} has no ARPA file: expected a back-off table (kneser-ney or modified-kneser-ney)"
        )
    symbols = model.tokenizer.symbols() + ([END] if model.boundary_id is not None else [])
    write_arpa(model.model, symbols, path, unknown=model.tokenizer.unknown)
