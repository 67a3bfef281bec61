"""Perplexity, comparison with its uncertainty, reports and plots."""
