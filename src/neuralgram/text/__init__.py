"""What strings become: tokenizers, sources, corpora of ids, windows, the embedded samples."""
