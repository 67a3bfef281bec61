"""The small model and text that every case is asked about."""

from __future__ import annotations

from neuralgram.rng import PCG32

V, CONTEXT, M, H = 7, 3, 4, 5
SIZES = (V, CONTEXT, M, H)
IDS = [int(value) % V for value in PCG32(11).uint32s(15)]  # twelve windows, in which words repeat
