"""The most memory this process held, on Linux."""

from __future__ import annotations

import os
from pathlib import Path


def resident() -> int:
    """Bytes this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def forget() -> None:
    """From here on the peak is counted anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def highest() -> int:
    """The most bytes it held since `forget`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
