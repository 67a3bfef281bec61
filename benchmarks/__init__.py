"""Ratios against peers: `python -m benchmarks` measures, `README.md` keeps the last figures."""
