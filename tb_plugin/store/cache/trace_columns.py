"""A ``Trace`` as a folder of Arrow IPC files: written, and read again.

``index.json``                 everything that is no column; size and checksum of every file
``strings.arrow``              the texts behind all codes
``<table>.hot.arrow``          columns of the timeline: one batch, uncompressed, to be mapped
``<table>.cold.arrow``         all other columns: lz4, batches of 256k rows
``<table>.args.<type>.arrow``  sparse columns (row, value), each in batches of its own

The files are plain Arrow and open in any tool that reads it. Tables, columns and their types are
taken from the dataclasses of ``trace/model.py``: a new column needs no change here.

Every file is checked when the folder is opened. Hot columns are views of the mapped files: they
take no memory of their own. Cold and sparse columns are inflated one by one, each at its first use:
a view that needs three of them does not wait for twenty. All arrays are read-only.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import threading
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
from isal import isal_zlib
from numpy.typing import NDArray

from ...base.arrays import Sparse
from ...trace.model import Trace

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


BATCH_ROWS = 256 * 1024
INDEX = "index.json"
STRINGS = "strings.arrow"
HOT: Mapping[str, frozenset[str]] = {
    "host": frozenset(
        ("ts", "dur", "name", "category", "kind", "thread", "parent", "depth", "raw")
    ),
    "device": frozenset(
        ("ts", "dur", "name", "category", "kind", "klass", "device", "stream", "raw")
    ),
}

Array = NDArray[Any]
_INDEX_TEXT = re.compile(r'\{"crc32": (\d+), "index": (.*)\}', re.DOTALL)


class DenseFile(msgspec.Struct, frozen=True):
    """One file of dense columns."""

    file: str
    columns: list[str]
    types: list[str]
    rows: int
    hot: bool


class SparseFile(msgspec.Struct, frozen=True):
    """One sparse column: which batches of which file, and how long it is."""

    file: str
    batches: tuple[int, int]
    rows: int
    types: tuple[str, str]


class TableIndex(msgspec.Struct, frozen=True):
    """How one table is stored."""

    parts: list[DenseFile]
    args: dict[str, SparseFile] | None  # None: a table without args
    lists: dict[str, list[list[int]]]  # columns that hold an array per row
    scalars: dict[str, Any]


class Index(msgspec.Struct, frozen=True):
    """The content of index.json."""

    files: dict[str, tuple[int, int]]  # size, crc32
    tables: dict[str, TableIndex]
    scalars: dict[str, Any]


def write(trace: Trace, folder: Path) -> None:
    """Stores a trace in an empty folder, table by table, with little memory on top of it.

    Raises:
        OSError: no room, or no permission.
    """
    tables, scalars = {}, {}
    _write_strings(trace.strings, folder / STRINGS)
    for field in dataclasses.fields(trace):
        value = getattr(trace, field.name)
        if field.name == "strings":
            continue
        if _is_table(value):
            tables[field.name] = _write_table(field.name, value, folder)
        else:
            scalars[field.name] = msgspec.to_builtins(value)
    files = {file.name: checksum(file) for file in sorted(folder.iterdir())}
    (folder / INDEX).write_text(_index_text(Index(files, tables, scalars)), encoding="ascii")


def parse_index(text: str) -> Index:
    """The index from the text of its file.

    Raises:
        ValueError: it is not the text that was written.
    """
    match = _INDEX_TEXT.fullmatch(text)
    if not match or isal_zlib.crc32(match[2].encode()) != int(match[1]):
        raise ValueError("the index is damaged")
    return msgspec.convert(json.loads(match[2]), Index, strict=False)


def _index_text(index: Index) -> str:
    # The standard library keeps what metadata may hold: NaN, huge integers, lone surrogates.
    body = json.dumps(msgspec.to_builtins(index))
    return f'{{"crc32": {isal_zlib.crc32(body.encode())}, "index": {body}}}'


def checksum(file: Path) -> tuple[int, int]:
    """Size and CRC-32 of a file."""
    size = crc = 0
    with file.open("rb") as stream:
        while piece := stream.read(1 << 20):
            crc = isal_zlib.crc32(piece, crc)
            size += len(piece)
    return size, crc


def _is_table(value: object) -> bool:
    return dataclasses.is_dataclass(value) and any(
        isinstance(getattr(value, f.name), np.ndarray) for f in dataclasses.fields(value)
    )


def _write_table(name: str, table: DataclassInstance, folder: Path) -> TableIndex:
    groups: dict[tuple[bool, int], dict[str, Array]] = {}
    args: dict[str, SparseFile] | None = None
    lists: dict[str, list[list[int]]] = {}
    scalars: dict[str, Any] = {}
    for field in dataclasses.fields(table):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray):
            hot = field.name in HOT.get(name, ())
            groups.setdefault((hot, len(value)), {})[field.name] = value
        elif isinstance(value, Mapping):
            args = _write_args(name, value, folder)
        elif isinstance(value, tuple):
            lists[field.name] = [rows.tolist() for rows in value]
        else:
            scalars[field.name] = value
    parts = []
    for (hot, rows), columns in groups.items():
        stem = f"{name}.{'hot' if hot else 'cold'}"
        lone = sum(kind == hot for kind, _ in groups) == 1
        file = f"{stem}.arrow" if lone else f"{stem}.{rows}.arrow"
        _write_arrow(folder / file, columns, [(0, rows)] if hot else _batches(rows), hot=hot)
        types = [str(column.dtype) for column in columns.values()]
        parts.append(DenseFile(file, list(columns), types, rows, hot))
    return TableIndex(parts, args, lists, scalars)


def _write_args(table: str, args: Mapping[str, Sparse], folder: Path) -> dict[str, SparseFile]:
    by_type: dict[tuple[str, str], list[str]] = {}
    for key, sparse in args.items():
        by_type.setdefault((str(sparse.row.dtype), str(sparse.value.dtype)), []).append(key)
    index: dict[str, SparseFile] = {}
    for types, keys in by_type.items():
        file = f"{table}.args.{types[1]}.arrow"
        if types[0] != "int32":
            file = f"{table}.args.{types[0]}.{types[1]}.arrow"
        schema = pa.schema([("row", _arrow_type(types[0])), ("value", _arrow_type(types[1]))])
        first = 0
        with pa.OSFile(str(folder / file), "wb") as sink, _writer(sink, schema) as writer:
            for key in keys:
                sparse = args[key]
                spans = list(_batches(len(sparse.row)))
                for span in spans:
                    writer.write_batch(_batch([sparse.row, sparse.value], span, schema))
                index[key] = SparseFile(file, (first, first + len(spans)), len(sparse.row), types)
                first += len(spans)
    return index


def _write_strings(strings: Sequence[str], file: Path) -> None:
    schema = pa.schema([("text", pa.large_binary())])
    with pa.OSFile(str(file), "wb") as sink, _writer(sink, schema) as writer:
        for start, stop in _batches(len(strings)):
            texts = [text.encode("utf-8", "surrogatepass") for text in strings[start:stop]]
            writer.write_batch(pa.record_batch([_texts_as_arrow(texts)], schema=schema))


def _write_arrow(
    file: Path,
    columns: Mapping[str, Array],
    spans: Iterator[tuple[int, int]] | list[tuple[int, int]],
    *,
    hot: bool,
) -> None:
    schema = pa.schema([(name, _arrow_type(str(c.dtype))) for name, c in columns.items()])
    with pa.OSFile(str(file), "wb") as sink, _writer(sink, schema, compress=not hot) as writer:
        for span in spans:
            writer.write_batch(_batch(list(columns.values()), span, schema))


def _writer(
    sink: pa.OSFile, schema: pa.Schema, *, compress: bool = True
) -> pa.ipc.RecordBatchFileWriter:
    options = pa.ipc.IpcWriteOptions(compression="lz4" if compress else None, use_threads=False)
    return pa.ipc.new_file(sink, schema, options=options)


def _batch(columns: Sequence[Array], span: tuple[int, int], schema: pa.Schema) -> pa.RecordBatch:
    start, stop = span
    arrays = [_as_arrow(column[start:stop]) for column in columns]
    return pa.record_batch(arrays, schema=schema)


def _as_arrow(column: Array) -> pa.Array:
    """The same memory as Arrow sees it; ``pa.array`` would import pandas to look at it."""
    content = pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(_arrow_type(str(column.dtype)), len(column), [None, content])


def _texts_as_arrow(texts: Sequence[bytes]) -> pa.Array:
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    content = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.large_binary(), len(texts), content)


def _batches(rows: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + BATCH_ROWS, rows)) for start in range(0, rows, BATCH_ROWS))


def _arrow_type(dtype: str) -> pa.DataType:
    return pa.from_numpy_dtype(np.dtype(dtype))


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

    def __init__(self, parts: Sequence[tuple[DenseFile, pa.Buffer]]) -> None:
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


def _hot_columns(part: DenseFile, source: pa.Buffer) -> dict[str, Array]:
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

    def __init__(self, places: Mapping[str, SparseFile], sources: Mapping[str, pa.Buffer]) -> None:
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

    def _load(self, place: SparseFile) -> Sparse:
        row, value = (np.empty(place.rows, dtype) for dtype in place.types)
        reader = pa.ipc.open_file(self._sources[place.file])
        _fill(reader, place.batches, {"row": row, "value": value})
        return Sparse(row, value)
