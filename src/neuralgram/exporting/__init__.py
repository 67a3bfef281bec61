"""Models as files for other programs and for people. An export is one file and one line in `families.EXPORTS`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from neuralgram.textmodel import TextModel


class Written(NamedTuple):
    """What is told of a file beside its size: `facts` as JSON values, and a sentence that `says` them."""

    facts: dict[str, Any]
    says: str = ""


@dataclass(frozen=True)
class NoSettings:
    """Of an export that takes no options."""


class Export(ABC):
    """A way to write a model as one file.

    help      which models become what, for whom; one line
    use       what one does with the file; it follows the file's size
    Settings  the options, a frozen dataclass of `settings.setting` fields
    """

    help: ClassVar[str]
    use: ClassVar[str]
    Settings: ClassVar[type] = NoSettings

    @classmethod
    @abstractmethod
    def write(cls, model: TextModel, path: Path, settings: Any) -> Written:
        """Write `model` to `path`, the file whole or not there; `InputError` for a model that cannot be written so."""
