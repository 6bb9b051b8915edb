"""A folder of Arrow files, as written by ``columns.py``, as a ``Trace`` again.

Every file is checked when the folder is opened. Hot columns are views of the mapped files: they
take no memory of their own. Cold and sparse columns are inflated one by one, each when it is asked
for: a view that needs three of them does not wait for twenty. All arrays are read-only.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import typing
from collections.abc import Iterator, Mapping, Sequence
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
        values[name] = _table(types[name], table, sources)
    values["strings"] = _strings(sources[STRINGS])
    values["path"] = path
    return Trace(**values)


def _open(file: Path, size: int, crc: int, *, mapped: bool) -> pa.Buffer:
    with pa.memory_map(str(file)) if mapped else pa.OSFile(str(file)) as source:
        content: pa.Buffer = source.read_buffer()
    if content.size != size or isal_zlib.crc32(content) != crc:
        raise DamagedError(f"{file.name} is not as it was written")
    return content


def _table(
    kind: type[Any],
    table: TableIndex,
    sources: Mapping[str, pa.Buffer],
) -> Any:  # noqa: ANN401  an instance of ``kind``
    values: dict[str, Any] = dict(table.scalars)
    cold = []
    for part in table.parts:
        if part.hot:
            values.update(_hot_columns(part, sources[part.file]))
        else:
            cold.append((part, sources[part.file]))
    for name, lists in table.lists.items():
        values[name] = tuple(np.array(rows, np.int32) for rows in lists)
    if table.args is not None:
        values["args"] = StoredArgs(table.args, sources)
    columns = StoredColumns(cold)
    missing = {field.name for field in dataclasses.fields(kind)} - values.keys() - columns.names
    if missing:
        raise DamagedError(f"{kind.__name__} has no {min(missing)}")
    result = object.__new__(_stored(kind))  # type: ignore[arg-type]  # classes are hashable
    object.__setattr__(result, "_columns", columns)
    for name, value in values.items():
        object.__setattr__(result, name, value)
    return result


@functools.cache
def _stored(kind: type[Any]) -> type[Any]:
    """The same kind of table, whose columns are read when they are asked for."""

    def missing(self: Any, name: str) -> Any:  # noqa: ANN401  as __getattr__ is
        if name.startswith("_") or name not in self._columns.names:
            raise AttributeError(f"{kind.__name__} has no {name}")
        column = self._columns.read(name)
        object.__setattr__(self, name, column)
        return column

    return type(kind.__name__, (kind,), {"__slots__": ("_columns",), "__getattr__": missing})


class StoredColumns:
    """Dense columns by name, each inflated when it is read."""

    def __init__(self, parts: Sequence[tuple[Part, pa.Buffer]]) -> None:
        self._parts = {
            name: (part, place, source)
            for part, source in parts
            for place, name in enumerate(part.columns)
        }
        self.names = self._parts.keys()
        self._lock = threading.Lock()

    def read(self, name: str) -> Array:
        """One column, whole."""
        part, place, source = self._parts[name]
        column = np.empty(part.rows, part.types[place])
        with self._lock:
            options = pa.ipc.IpcReadOptions(included_fields=[place], use_threads=False)
            reader = pa.ipc.open_file(source, options=options)
            _fill(reader, (0, reader.num_record_batches), {name: column})
        return column


def _hot_columns(part: Part, source: pa.Buffer) -> dict[str, Array]:
    batch = pa.ipc.open_file(source).get_batch(0)
    return {
        name: _as_numpy(batch.column(name), dtype)
        for name, dtype in zip(part.columns, part.types, strict=True)
    }


def _as_numpy(column: pa.Array, dtype: Any) -> Array:  # noqa: ANN401  what numpy takes for one
    """The same memory as numpy sees it; ``to_numpy`` would import pandas to look at it."""
    if len(column) == 0:
        return np.empty(0, dtype)
    _, content = column.buffers()
    return np.frombuffer(content, dtype, len(column), column.offset * np.dtype(dtype).itemsize)


def _fill(
    reader: pa.ipc.RecordBatchFileReader, batches: tuple[int, int], columns: Mapping[str, Array]
) -> None:
    """Copies batches one behind the other into columns that are as long as all of them."""
    start = 0
    for number in range(*batches):
        batch = reader.get_batch(number)
        for name, column in columns.items():
            column[start : start + batch.num_rows] = _as_numpy(batch.column(name), column.dtype)
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
