"""Where figures come from: the processor and its features, the GPU where one is used, and the libraries."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import torch

from neuralgram.errors import InputError
from neuralgram.training.machine import choose_device, cores

_FEATURES = {"avx2": "AVX2", "avx512_f": "AVX-512", "avx512_bf16": "AVX-512 BF16", "amx_bf16": "AMX BF16"}


def device_named(name: str) -> torch.device:
    """`cpu`, `cuda`, or `auto`: the GPU where there is one."""
    try:
        return choose_device(name)
    except InputError as error:
        raise SystemExit(str(error)) from None


def features() -> list[str]:
    """What this processor can do that matters to products."""
    able = torch.cpu.get_capabilities()
    return [shown for name, shown in _FEATURES.items() if able.get(name)]


def machine(device: torch.device) -> str:
    """One sentence."""
    able = features()
    units = [] if any("BF16" in feature for feature in able) else ["no bf16 units"]
    parts = [_processor(), f"{cores()} cores", *able, *units]
    if device.type == "cuda":
        parts.insert(0, torch.cuda.get_device_name(device))
    return f"{', '.join(parts)}; PyTorch {torch.__version__}, NumPy {np.__version__}."


def _processor() -> str:
    """Its architecture and, where the system tells, its name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return f"{platform.machine()} ({line.partition(':')[2].strip()})"
    except OSError:
        pass
    return platform.machine()
