"""A ``Trace`` as a folder of Arrow IPC files, and back.

``index.json``                 everything that is no column; size and checksum of every file
``strings.arrow``              the texts behind all codes
``<table>.hot.arrow``          what the timeline is cut from: one batch, uncompressed, to be mapped
``<table>.cold.arrow``         all other columns: lz4, batches of 256k rows
``<table>.args.<type>.arrow``  sparse columns (row, value), each in batches of its own

The files are plain Arrow and open in any tool that reads it. Tables, columns and their types are
taken from the dataclasses of ``trace/model.py``: a new column needs no change here.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
from isal import isal_zlib
from numpy.typing import NDArray

from ..trace.model import Trace
from ..trace.raw import Sparse

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


class Part(msgspec.Struct, frozen=True):
    """One file of dense columns."""

    file: str
    columns: list[str]
    types: list[str]
    rows: int
    hot: bool


class SparsePart(msgspec.Struct, frozen=True):
    """One sparse column: which batches of which file, and how long it is."""

    file: str
    batches: tuple[int, int]
    rows: int
    types: tuple[str, str]


class TableIndex(msgspec.Struct, frozen=True):
    """How one table is stored."""

    parts: list[Part]
    args: dict[str, SparsePart] | None  # None: a table without args
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
    args: dict[str, SparsePart] | None = None
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
        parts.append(Part(file, list(columns), types, rows, hot))
    return TableIndex(parts, args, lists, scalars)


def _write_args(table: str, args: Mapping[str, Sparse], folder: Path) -> dict[str, SparsePart]:
    by_type: dict[tuple[str, str], list[str]] = {}
    for key, sparse in args.items():
        by_type.setdefault((str(sparse.row.dtype), str(sparse.value.dtype)), []).append(key)
    index: dict[str, SparsePart] = {}
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
                index[key] = SparsePart(file, (first, first + len(spans)), len(sparse.row), types)
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
