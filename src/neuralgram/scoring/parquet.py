"""Parquet in and out: rows in batches, columns added, every other column as it was (extra `[parquet]`, pyarrow).

While a run goes on, its output is a row of Arrow streams, which can be cut anywhere between two blocks; at the end it
is written as one Parquet file, a batch at a time.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.errors import InputError, TextError
from neuralgram.scoring.units import Block, Scored, Source, line_blocks

_ROWS = 512
_MISSING = b"\xff"  # stands for a null: no UTF-8
_GROUP = 1 << 16  # rows of a row group
_TYPES = {"tokens": "int64", "unknown": "int64", "nats": "float64", "perplexity": "float64", "bits_per_byte": "float64"}


def arrow() -> Any:
    """pyarrow, or an `InputError` that says how to get it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("Parquet needs pyarrow, which is not installed: pip install 'neuralgram[parquet]'") from None
    return pyarrow


def read_blocks(source: Source, number: int, *, skip: int = 0, done: int = 0) -> Iterator[Block]:
    """The units of source `number`, of any form, after the first `done`, which took `skip` bytes, in blocks."""
    if source.form == "parquet":
        return read_parquet(source, number, source.field, done=done)
    return line_blocks(source, number, skip=skip, done=done)


def read_parquet(source: Source, number: int, field: str, *, done: int = 0) -> Iterator[Block]:
    """The rows after the first `done` in blocks: the text of each, and the whole rows beside them."""
    pa = arrow()
    try:
        with pa.parquet.ParquetFile(source.path) as file:
            first = 1
            for batch in file.iter_batches(batch_size=_ROWS):
                count = batch.num_rows
                if first > done:
                    yield Block(number, first, _texts(pa, batch, field, source), first + count - 1, _packed(pa, batch))
                first += count
    except (pa.ArrowException, OSError) as error:
        raise TextError(f"{source.name}: not a whole Parquet file ({' '.join(str(error).split())})") from None


def _texts(pa: Any, batch: Any, field: str, source: Source) -> list[bytes]:
    first, *inner = (field,) if field in batch.schema.names else field.split(".")
    if first not in batch.schema.names:
        raise InputError(f"{source.name}: no column {field!r}, only {', '.join(batch.schema.names)} (choose --field)")
    column = batch.column(first)
    for name in inner:
        column = pa.compute.struct_field(column, name)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InputError(f"{source.name}: column {field!r} holds {column.type}: expected text (choose --field)")
    return [_MISSING if text is None else text.encode() for text in column.to_pylist()]


def _packed(pa: Any, batch: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def with_scores(block: Block, places: Sequence[int], found: Sequence[Scored], prefix: str) -> Any:
    """The rows of a block with the columns of scores, null where a row could not be read."""
    pa = arrow()
    batch = _unpacked(pa, block.rows)
    columns: dict[str, list[Any]] = {name: [None] * batch.num_rows for name in _TYPES}
    per_token: list[Any] | None = [None] * batch.num_rows if found and found[0].per_token is not None else None
    for place, scored in zip(places, found, strict=True):
        for name, values in columns.items():
            value = getattr(scored, name)
            values[place] = None if isinstance(value, float) and np.isnan(value) else value
        if per_token is not None and scored.per_token is not None:
            per_token[place] = scored.per_token.tolist()
    for name, values in columns.items():
        batch = _appended(pa, batch, prefix + name, pa.array(values, getattr(pa, _TYPES[name])()))
    if per_token is not None:
        batch = _appended(pa, batch, prefix + "token_nats", pa.array(per_token, pa.list_(pa.float64())))
    return batch


def with_words(batch: Any, name: str, values: Sequence[str | None]) -> Any:
    """The rows with a column of text."""
    pa = arrow()
    return _appended(pa, batch, name, pa.array(list(values), pa.string()))


def plain(block: Block) -> Any:
    """The rows of a block as they were."""
    return _unpacked(arrow(), block.rows)


def rows(batch: Any, keep: Sequence[bool]) -> bytes:
    """The rows kept, as a stream of their own; no bytes where there are none."""
    pa = arrow()
    chosen = batch.filter(pa.array(list(keep), pa.bool_()))
    return _packed(pa, chosen) if chosen.num_rows else b""


def finish(partial: Path, out: Path) -> None:
    """Turn the streams in `partial` into the Parquet file `out`, in row groups; whole, or not there."""
    pa = arrow()
    made = out.with_name(out.name + ".making")
    writer = None
    waiting: list[Any] = []
    with partial.open("rb") as file:
        while file.read(1):
            file.seek(-1, io.SEEK_CUR)
            waiting += list(pa.ipc.open_stream(file))
            writer = writer or pa.parquet.ParquetWriter(made, waiting[0].schema)
            if sum(batch.num_rows for batch in waiting) >= _GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting and writer is not None:
            writer.write_table(pa.Table.from_batches(waiting))
    if writer is None:
        pa.parquet.write_table(pa.table({}), made)
    else:
        writer.close()
    made.replace(out)


def _unpacked(pa: Any, data: bytes) -> Any:
    return next(iter(pa.ipc.open_stream(data)))


def _appended(pa: Any, batch: Any, name: str, column: Any) -> Any:
    if name in batch.schema.names:
        raise InputError(f"a column {name!r} is there already: choose other names with --prefix")
    return pa.RecordBatch.from_arrays([*batch.columns, column], schema=batch.schema.append(pa.field(name, column.type)))
