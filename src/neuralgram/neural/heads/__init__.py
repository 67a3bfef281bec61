"""Output layers: one file each, one contract (`base.py`), by name in `families.HEADS`."""
