"""A counting model as an ARPA file, which KenLM, SRILM and their kin load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralgram.errors import InputError
from neuralgram.exporting import Export, Written
from neuralgram.ngram.arpa import write_arpa
from neuralgram.ngram.backoff_model import BackoffModel
from neuralgram.textmodel import END, TextModel

_TABLE = {"keys", "log_p", "log_bow", "counts", "pruned"}  # all that the state of a back-off table holds


class Arpa(Export):
    """Any model that is stored as a back-off table; a network, a mixture, add-k have no such file."""

    help = "a Kneser–Ney model for KenLM and its kin, gzip where FILE ends in .gz"
    use = "loads in KenLM and SRILM, and here as a model"

    @classmethod
    def write(cls, model: TextModel, path: Path, settings: Any = None) -> Written:
        """Write `model` to `path`; `InputError` where it is no back-off table."""
        lm, state = model.model, model.model.state()
        if "log_p.1" not in state or {name.partition(".")[0] for name in state} - _TABLE:
            raise InputError(
                f"{lm.called} has no ARPA file: expected a back-off table (kneser-ney or modified-kneser-ney)"
            )
        symbols = model.tokenizer.symbols() + ([END] if model.boundary_id is not None else [])
        write_arpa(BackoffModel.restored(lm.config(), state), symbols, path, unknown=model.tokenizer.unknown)
        return Written({})
