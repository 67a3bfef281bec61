"""Units of text (lines, documents, JSON objects, rows of Parquet) in and out: scored, filtered, read word by word."""
