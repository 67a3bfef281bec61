"""Experiments a user reruns with one command: a folder of TOML files each, one file a row of its table."""
