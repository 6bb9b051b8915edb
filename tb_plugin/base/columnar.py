"""Columns as Arrow files that are mapped: one batch each, uncompressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[Any]
SUFFIX = ".arrow"


def narrowest(values: Array) -> Array:
    """Numbers from 0 on in the smallest of our types that holds them all."""
    most = int(values.max(initial=0))
    for dtype in (np.uint16, np.uint32):
        if most <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.int64)


def put(folder: Path, stem: str, columns: Mapping[str, Array]) -> None:
    """Stores columns of one length.

    Raises:
        OSError: no room, or no permission.
    """
    arrays = [_arrow(np.ascontiguousarray(column)) for column in columns.values()]
    _write(folder / (stem + SUFFIX), pa.record_batch(arrays, list(columns)))


def get(folder: Path, stem: str) -> dict[str, Array]:
    """The columns again, read-only and mapped.

    Raises:
        OSError: there is no such file.
        pa.ArrowException: it is damaged.
    """
    batch = _read(folder / (stem + SUFFIX))
    return {name: numbers(batch.column(name)) for name in batch.schema.names}


# Arrow's own conversions import pandas where it is installed: half a second before the first
# picture. Numbers without gaps are one buffer either way.


def _arrow(column: Array) -> pa.Array:
    kind = pa.from_numpy_dtype(column.dtype)
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


def numbers(column: pa.Array) -> Array:
    """The same memory as numpy sees it.

    Raises:
        ValueError: there are gaps, or the column is not of whole bytes.
    """
    if column.null_count or column.type.bit_width % 8:
        raise ValueError(f"a column of {column.type} with {column.null_count} gaps")
    dtype = np.dtype(column.type.to_pandas_dtype())
    whole = np.frombuffer(column.buffers()[1] or b"", dtype)
    return whole[column.offset : column.offset + len(column)]


def texts_array(encoded: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Texts or bytes of a large kind as a column."""
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return pa.Array.from_buffers(
        kind, len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    )


def put_texts(folder: Path, stem: str, texts: Sequence[str]) -> None:
    """Stores texts, whatever is in them.

    Raises:
        OSError: no room, or no permission.
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    column = texts_array(encoded, pa.large_binary())
    _write(folder / (stem + SUFFIX), pa.record_batch([column], ["text"]))


def get_texts(folder: Path, stem: str) -> tuple[str, ...]:
    """The texts again.

    Raises:
        OSError: there is no such file.
        pa.ArrowException: it is damaged.
    """
    column = _read(folder / (stem + SUFFIX)).column("text")
    return tuple(text.decode("utf-8", "surrogatepass") for text in column.to_pylist())


def _write(file: Path, batch: pa.RecordBatch) -> None:
    options = pa.ipc.IpcWriteOptions(compression=None, use_threads=False)
    with (
        pa.OSFile(str(file), "wb") as sink,
        pa.ipc.new_file(sink, batch.schema, options=options) as writer,
    ):
        writer.write_batch(batch)


def _read(file: Path) -> pa.RecordBatch:
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source.read_buffer()).get_batch(0)
