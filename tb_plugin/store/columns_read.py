"""A folder of Arrow files, as written by ``columns.py``, as a ``Trace`` again.

Hot columns are views of the mapped files: they take no memory of their own. Cold columns are
inflated at once, sparse ones when they are asked for. All arrays are read-only.
"""

from __future__ import annotations

import threading
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from isal import isal_zlib

from ..trace.model import Trace
from ..trace.raw import Sparse
from .columns import INDEX, STRINGS, Array, Index, Part, SparsePart, TableIndex, parse_index


class DamagedError(Exception):
    """The stored columns are incomplete or were changed."""


def read(folder: Path, path: str, *, mapped: bool) -> Trace:
    """The trace stored in ``folder``, which was read from the file ``path``.

    ``mapped`` leaves the files open and mapped; without it, everything is copied into memory.

    Raises:
        DamagedError: something is missing, or does not have the content that was written.
    """
    try:
        index = parse_index((folder / INDEX).read_text(encoding="ascii"))
        return _read(folder, index, path, mapped=mapped)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        # json, msgspec and numpy errors are ValueErrors.
        raise DamagedError(f"{type(error).__name__}: {error}") from error


def _read(folder: Path, index: Index, path: str, *, mapped: bool) -> Trace:
    sources = {
        name: _open(folder / name, size, crc, mapped=mapped)
        for name, (size, crc) in index.files.items()
    }
    types = typing.get_type_hints(Trace)
    values: dict[str, Any] = {
        name: msgspec.convert(value, types[name]) for name, value in index.scalars.items()
    }
    for name, table in index.tables.items():
        values[name] = types[name](**_table(table, sources))
    values["strings"] = _strings(sources[STRINGS])
    values["path"] = path
    return Trace(**values)


def _open(file: Path, size: int, crc: int, *, mapped: bool) -> pa.Buffer:
    with pa.memory_map(str(file)) if mapped else pa.OSFile(str(file)) as source:
        content: pa.Buffer = source.read_buffer()
    if content.size != size or isal_zlib.crc32(content) != crc:
        raise DamagedError(f"{file.name} is not as it was written")
    return content


def _table(table: TableIndex, sources: Mapping[str, pa.Buffer]) -> dict[str, Any]:
    values: dict[str, Any] = dict(table.scalars)
    for part in table.parts:
        values.update(_columns(part, sources[part.file]))
    for name, lists in table.lists.items():
        values[name] = tuple(np.array(rows, np.int32) for rows in lists)
    if table.args is not None:
        values["args"] = StoredArgs(table.args, sources)
    return values


def _columns(part: Part, source: pa.Buffer) -> dict[str, Array]:
    reader = pa.ipc.open_file(source)
    if part.hot:
        batch = reader.get_batch(0)
        return {name: batch.column(name).to_numpy(zero_copy_only=False) for name in part.columns}
    columns = {
        name: np.empty(part.rows, dtype)
        for name, dtype in zip(part.columns, part.types, strict=False)
    }
    _fill(reader, (0, reader.num_record_batches), columns)
    return columns


def _fill(
    reader: pa.ipc.RecordBatchFileReader, batches: tuple[int, int], columns: Mapping[str, Array]
) -> None:
    """Copies batches one behind the other into columns that are as long as all of them."""
    start = 0
    for number in range(*batches):
        batch = reader.get_batch(number)
        for name, column in columns.items():
            column[start : start + batch.num_rows] = batch.column(name).to_numpy(
                zero_copy_only=False
            )
        start += batch.num_rows
    for column in columns.values():
        if start != len(column):
            raise DamagedError(f"{start} rows instead of {len(column)}")
        column.flags.writeable = False


def _strings(source: pa.Buffer) -> tuple[str, ...]:
    reader = pa.ipc.open_file(source)
    texts: list[str] = []
    for number in range(reader.num_record_batches):
        column = reader.get_batch(number).column(0)
        texts += [text.decode("utf-8", "surrogatepass") for text in column.to_pylist()]
    return tuple(texts)


class StoredArgs(Mapping[str, Sparse]):
    """Sparse columns by name, each read at its first use."""

    def __init__(self, places: Mapping[str, SparsePart], sources: Mapping[str, pa.Buffer]) -> None:
        self._places = places
        self._sources = {place.file: sources[place.file] for place in places.values()}
        self._read: dict[str, Sparse] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Sparse:
        with self._lock:
            if name not in self._read:
                self._read[name] = self._load(self._places[name])
            return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places  # of Mapping, this would read the column

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _load(self, place: SparsePart) -> Sparse:
        row, value = (np.empty(place.rows, dtype) for dtype in place.types)
        reader = pa.ipc.open_file(self._sources[place.file])
        _fill(reader, place.batches, {"row": row, "value": value})
        return Sparse(row, value)
