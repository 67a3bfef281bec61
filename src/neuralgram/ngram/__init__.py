"""Counting models: counts, one file an estimator, word classes, ARPA files."""
