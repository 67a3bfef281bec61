"""How large a model is: what it learned or counted, and what it takes on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from neuralgram.lm import LanguageModel


class Size(NamedTuple):
    """`numbers` parameters or n-grams (`unit` says which); `bytes` of its directory, None for a model in memory."""

    numbers: int
    unit: str
    bytes: int | None


def size_of(model: LanguageModel, folder: Path | None = None) -> Size:
    """A network's free parameters, a counting model's n-grams; a mixture has its parts' together."""
    count, unit = _count(model)
    return Size(count, unit, None if folder is None else bytes_on_disk(folder))


def bytes_on_disk(folder: Path) -> int | None:
    """The files of a model directory and of its parts, without what training left in `run/`; None where there is none.

    Pictures beside a model are not part of it.
    """
    if not folder.is_dir():
        return None
    files = [*folder.glob("*.json"), *folder.glob("*.safetensors")]
    return sum(file.stat().st_size for file in files) + sum(
        bytes_on_disk(part) or 0 for part in (folder / "parts").glob("*")
    )


def _count(model: LanguageModel) -> tuple[int, str]:
    parts = getattr(model, "parts", None)
    if parts:
        found = [_count(part) for part in parts]
        units = {unit for count, unit in found if count}
        return sum(count for count, _ in found), units.pop() if len(units) == 1 else "numbers"
    named = getattr(model, "named_parameters", None)
    if named is not None:
        return sum(p.numel() for _, p in named()), "parameters"
    state: dict[str, Any] = model.state()  # type: ignore[attr-defined]
    keys = [array for name, array in state.items() if name.startswith("keys.")]
    if not state:
        return 0, "n-grams"
    return model.vocab_size + sum(len(array) for array in keys), "n-grams"
