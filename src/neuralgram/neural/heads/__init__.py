"""Output layers: one file each, one contract; see `base.py`."""
