"""Frozen Structs of arrays as folders of Arrow files, and back.

``<stem>.json``               everything that is no column, and where each column is
``<table>.hot.arrow``         columns to be mapped: uncompressed, one batch for all their rows
``<table>.cold.arrow``        columns to be inflated when they are asked for: lz4, in batches
``<table>.packed.arrow``      columns to be widened when they are asked for (``columns.packed``)
``<field>.texts.arrow``       texts, where they are many
``<table>.plain``             small columns, as they are in memory

Which fields are columns, texts, tables or collections of tables follows from the annotations of the
Struct: a new column needs no change here. Columns of one length share a file, and so do the
tables of a collection, each in batches of its own. Files of Arrow open in any tool; where all
columns are small, it is not even imported. All arrays that are read back are read-only.
"""

from __future__ import annotations

import functools
import mmap
import sys
import threading
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
from isal import isal_zlib

from ..columns import (
    Array,
    Packed,
    PlainFile,
    arrow_column,
    counted,
    numbers,
    packed,
    plain_column,
    read_only,
    texts_array,
)
from .fields import StructField, fields
from .sealed import checksum, sealed, unsealed

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 256 * 1024
MANY_TEXTS, MANY_CHARACTERS = 256, 128 << 10
SMALL_BYTES = 256 << 10
"""Columns up to this size are stored as they are: Arrow takes longer to import than a small trace
takes to read."""
ARROW, PLAIN = ".arrow", ".plain"

T = TypeVar("T")


class DamagedError(ValueError):
    """The stored data is incomplete or was changed."""


class ColumnPlace(msgspec.Struct, frozen=True, array_like=True):
    """Where a column is: some batches of a file, and its number among the columns there."""

    file: str
    column: int
    batches: tuple[int, int]
    type: str
    shape: tuple[int, ...]
    hot: bool
    is_packed: bool = False  # numbers in another type, or few of them
    value: int | float | None = None  # of all rows that the file does not have
    offset: int | None = None  # in a plain file


class TableIndex(msgspec.Struct, frozen=True, omit_defaults=True):
    """Storage of one Struct, by field."""

    columns: dict[str, ColumnPlace] = {}
    texts: dict[str, str] = {}  # files
    tables: dict[str, TableIndex] = {}
    collections: dict[str, dict[str, TableIndex]] = {}
    lists: dict[str, list[tuple[str, list[Any]]]] = {}  # an array per row: types and values
    scalars: dict[str, Any] = {}


class FolderIndex(msgspec.Struct, frozen=True):
    """The content of the file of everything that is no column."""

    files: dict[str, tuple[int, int]]  # size and crc32 of those that are checked when opened
    table: TableIndex


# --- writing --------------------------------------------------------------------------------------


class Writer:
    """Stores one Struct in an empty folder; large columns of it as soon as they are there.

    ``hot`` has the columns of each table that are to be mapped; None: all are, and texts are not
    compressed. ``is_packed``: numbers in as few bytes as they need, for columns that are read whole
    or not at all; the pages of a new file cost more than anything else about a column.
    """

    def __init__(
        self,
        folder: Path,
        hot: Mapping[str, Collection[str]] | None = None,
        *,
        is_packed: bool = False,
    ) -> None:
        self._folder = folder
        self._hot = hot
        self._is_packed = is_packed
        self._kept: dict[int, tuple[Array, ColumnPlace]] = {}
        self._files = _Files(folder, is_packed=is_packed)

    def __enter__(self) -> Writer:  # noqa: PYI034  Self is of Python 3.11
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def keep(self, name: str, column: Array) -> Array:
        """Store a column in a separate file and return it mapped.

        Where the Struct has it, it is not stored again.

        Raises:
            OSError: no room, or no permission.
        """
        last = name.rpartition(".")[2]
        with _Files(self._folder, is_packed=self._is_packed) as files:
            places = files.append(name, {last: column}, hot=True)
        mapped = _Source(self._folder, mapped=True).hot_column(places[last])
        self._remember({last: mapped}, places)
        return mapped

    def put(self, name: str, column: Packed) -> Array:
        """Stores a packed column, and lets go of it.

        Columns of one table and type share a file. What is returned stands for it: it is empty.

        Raises:
            OSError: no room, or no permission.
        """
        stem, _, last = name.rpartition(".")
        empty = {last: np.empty(0, column.dtype)}
        self._remember(empty, {last: self._files.append_packed(stem, {"": column})[""]})
        return empty[last]

    def append(self, stem: str, table: T) -> T:
        """Stores a table that is to be mapped, and lets go of it, as nothing reads it before.

        The columns of the table that is returned are empty: they stand for the stored ones. Tables
        of one stem share files.

        Raises:
            OSError: no room, or no permission.
        """
        columns = {
            field.name: getattr(table, field.name)
            for field in fields(type(table))
            if field.form == "column" and getattr(table, field.name) is not None
        }
        places = _append_columns(self._files, stem, columns, lambda _: True)
        empty = {name: np.empty(0, column.dtype) for name, column in columns.items()}
        self._remember(empty, places)
        return msgspec.structs.replace(table, **empty)  # type: ignore[type-var]

    def close(self, table: object, stem: str, *, checked: bool = False) -> None:
        """Store the rest and the index; ``checked`` when the files are opened.

        Raises:
            OSError: no room, or no permission.
        """
        index = self._write(table, "", stem)
        self._files.close()
        files = [file for file in sorted(self._folder.iterdir()) if file.suffix in (ARROW, PLAIN)]
        stored = FolderIndex({file.name: checksum(file) for file in files if checked}, index)
        text = sealed(msgspec.to_builtins(stored))
        (self._folder / f"{stem}.json").write_text(text, encoding="ascii")

    def _remember(self, columns: Mapping[str, Array], places: Mapping[str, ColumnPlace]) -> None:
        # The arrays are held, so that no other one gets the identity of one of them.
        self._kept.update((id(column), (column, places[name])) for name, column in columns.items())

    def _write(
        self, table: object, path: str, stem: str, shared: _Files | None = None
    ) -> TableIndex:
        """``path`` names the table among the fields, ``stem`` its files."""
        index = TableIndex()
        new: dict[str, Array] = {}
        with ExitStack() as stack:
            own = _Files(self._folder, is_packed=self._is_packed)
            files = shared or stack.enter_context(own)
            for field in fields(type(table)):
                value, below = getattr(table, field.name), f"{path}.{field.name}".lstrip(".")
                is_text = field.form == "texts"
                if value is None or field.form == "scalar" or (is_text and _are_few(value)):
                    index.scalars[field.name] = msgspec.to_builtins(value, str_keys=True)
                elif field.form == "column":
                    if id(value) in self._kept:
                        index.columns[field.name] = self._kept[id(value)][1]
                    else:
                        new[field.name] = value
                elif is_text:
                    hot = self._is_hot(path, field.name)
                    index.texts[field.name] = files.write_texts(below, value, hot=hot)
                elif field.form == "table":
                    index.tables[field.name] = self._write(value, below, below)
                elif field.form == "list":
                    index.lists[field.name] = [(str(one.dtype), one.tolist()) for one in value]
                else:
                    items = value.items() if field.key else enumerate(value)
                    index.collections[field.name] = {
                        str(key): self._write(item, below, below, files) for key, item in items
                    }
            hot_columns = functools.partial(self._is_hot, path)
            index.columns.update(_append_columns(files, stem, new, hot_columns))
        return index

    def _is_hot(self, path: str, column: str) -> bool:
        return self._hot is None or column in self._hot.get(path, ())


def _are_few(texts: Sequence[str]) -> bool:
    return len(texts) < MANY_TEXTS or sum(map(len, texts)) < MANY_CHARACTERS


def _append_columns(
    files: _Files, stem: str, columns: Mapping[str, Array], is_hot: Callable[[str], bool]
) -> dict[str, ColumnPlace]:
    """Columns of one length go together."""
    groups: dict[tuple[bool, int], dict[str, Array]] = {}
    for name, column in columns.items():
        groups.setdefault((is_hot(name), column.size), {})[name] = column
    places: dict[str, ColumnPlace] = {}
    for (hot, _), group in groups.items():
        places |= files.append(stem, group, hot=hot)
    return places


class _Files:
    """Files of a folder while they are written."""

    def __init__(self, folder: Path, *, is_packed: bool = False) -> None:
        self._folder = folder
        self._plain: dict[str, PlainFile] = {}
        self._is_packed = is_packed
        self._open: dict[tuple[Any, ...], tuple[str, pa.ipc.RecordBatchFileWriter]] = {}
        self._batches: dict[str, int] = {}
        self._stack = ExitStack()

    def __enter__(self) -> _Files:  # noqa: PYI034  Self is of Python 3.11
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all files."""
        self._open.clear()
        self._plain.clear()
        self._stack.close()

    def append(
        self, stem: str, columns: Mapping[str, Array], *, hot: bool
    ) -> dict[str, ColumnPlace]:
        """Columns of one length, behind those of the same names and types."""
        if all(column.nbytes <= SMALL_BYTES for column in columns.values()):
            return {name: self._append_plain(stem, one) for name, one in columns.items()}
        if self._is_packed and hot:
            return self.append_packed(stem, {name: packed(one) for name, one in columns.items()})
        return self._append(stem, columns, hot=hot)

    def append_packed(self, stem: str, columns: Mapping[str, Packed]) -> dict[str, ColumnPlace]:
        """Columns that are to be mapped, packed and as a batch of their own."""
        plain = {n: one for n, one in columns.items() if one.is_listed(SMALL_BYTES)}
        small = {name: one.small for name, one in columns.items() if name not in plain}
        whole = {name: one.numbers for name, one in small.items() if one.value is None}
        places = self._append(stem, whole, hot=True) if whole else {}
        for name, one in small.items():
            kind, shape = str(columns[name].dtype), columns[name].shape
            at = places.get(name) or ColumnPlace("", 0, (0, 0), kind, shape, hot=True)
            if one.rows is not None:
                few = {"row": one.rows, name: one.numbers}
                at = self._append(f"{stem}.few", few, hot=True)[name]
            is_packed = one.value is not None or str(one.numbers.dtype) != kind
            places[name] = msgspec.structs.replace(
                at, type=kind, shape=shape, is_packed=is_packed, value=one.value
            )
        return places | {n: self._append_plain(stem, one.widened()) for n, one in plain.items()}

    def _append_plain(self, stem: str, column: Array) -> ColumnPlace:
        """A small column, as it is; one without rows is in no file."""
        kind, name, at = str(column.dtype), "", 0
        if column.size:
            if stem not in self._plain:
                self._plain[stem] = PlainFile(self._free_name(stem, PLAIN), self._stack)
            file = self._plain[stem]
            name, at = file.name, file.append(column)
        return ColumnPlace(name, 0, (0, 0), kind, column.shape, hot=True, offset=at)

    def _append(
        self, stem: str, columns: Mapping[str, Array], *, hot: bool
    ) -> dict[str, ColumnPlace]:
        import pyarrow as pa

        arrays = [arrow_column(column) for column in columns.values()]
        rows = len(arrays[0])
        schema = pa.schema(list(zip(columns, (one.type for one in arrays), strict=True)))
        key = (stem, hot, *columns, *(str(one.type) for one in arrays))
        if key not in self._open:
            parts = f"{stem}.{'hot' if hot else 'cold'}" if len(columns) > 1 else stem
            self._open[key] = self._new(parts, schema, compress=not hot)
        file, writer = self._open[key]
        first = self._batches.get(file, 0)
        spans = [(0, rows)] if hot else list(_spans(rows))
        for start, stop in spans:
            part = [one.slice(start, stop - start) for one in arrays]
            writer.write_batch(pa.record_batch(part, schema=schema))
        self._batches[file] = first + len(spans)
        batches = (first, first + len(spans))
        return {
            name: ColumnPlace(file, number, batches, str(column.dtype), column.shape, hot)
            for number, (name, column) in enumerate(columns.items())
        }

    def write_texts(self, stem: str, texts: Sequence[str], *, hot: bool) -> str:
        """The name of the file the texts are in."""
        import pyarrow as pa

        schema = pa.schema([("text", pa.large_binary())])
        file, writer = self._new(f"{stem}.texts", schema, compress=not hot)
        for start, stop in _spans(len(texts)):
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts[start:stop]]
            column = texts_array(encoded, pa.large_binary())
            writer.write_batch(pa.record_batch([column], schema=schema))
        return file

    def _new(
        self, stem: str, schema: pa.Schema, *, compress: bool
    ) -> tuple[str, pa.ipc.RecordBatchFileWriter]:
        import pyarrow as pa

        file = self._free_name(stem, ARROW)
        options = pa.ipc.IpcWriteOptions(compression="lz4" if compress else None, use_threads=False)
        sink = self._stack.enter_context(pa.OSFile(str(file), "wb"))
        writer = self._stack.enter_context(pa.ipc.new_file(sink, schema, options=options))
        return file.name, writer

    def _free_name(self, stem: str, suffix: str) -> Path:
        file, count = self._folder / f"{stem}{suffix}", 1
        while file.exists():
            count += 1
            file = self._folder / f"{stem}.{count}{suffix}"
        return file


def _spans(rows: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + BATCH_ROWS, rows)) for start in range(0, rows, BATCH_ROWS))


# --- reading --------------------------------------------------------------------------------------


def load(kind: type[T], folder: Path, stem: str, *, mapped: bool = True) -> T:
    """Load a table. Hot columns are views of the files; cold ones are read at their first use.

    ``mapped`` leaves the files open and mapped; without it, everything is copied into memory.

    Raises:
        DamagedError: something is missing, or does not have the content that was written.
    """
    try:
        index = parse_index((folder / f"{stem}.json").read_text(encoding="ascii"))
        source = _Source(folder, mapped=mapped)
        source.check(index.files)
        return typing.cast("T", _read(kind, index.table, source))
    except DamagedError:
        raise
    except _signs_of_damage() as error:
        raise DamagedError(f"{type(error).__name__}: {error}") from error


def _signs_of_damage() -> tuple[type[Exception], ...]:
    """Exceptions of reading damaged files; errors of json, msgspec and numpy are ValueErrors."""
    errors = (OSError, ValueError, LookupError, TypeError)
    arrow = sys.modules.get("pyarrow")
    return (*errors, arrow.ArrowException) if arrow else errors


def parse_index(text: str) -> FolderIndex:
    """The index from the text of its file.

    Raises:
        ValueError: it is not the text that was written.
    """
    return msgspec.convert(unsealed(text), FolderIndex, strict=False)


def _read(kind: type[Any], index: TableIndex, source: _Source) -> Any:  # noqa: ANN401  of ``kind``
    values: dict[str, Any] = {}
    cold: dict[str, ColumnPlace] = {}
    for field in fields(kind):
        name = field.name
        if name in index.scalars:
            told = index.scalars[name]
            values[name] = (
                None if told is None else msgspec.convert(told, field.hint, str_keys=True)
            )
        elif name in index.columns:
            place = index.columns[name]
            if place.hot and not place.is_packed:
                values[name] = source.hot_column(place)
            else:
                cold[name] = place
        elif name in index.texts:
            values[name] = source.texts(index.texts[name])
        elif name in index.tables:
            values[name] = _read(field.item, index.tables[name], source)
        elif name in index.lists:
            values[name] = tuple(np.array(rows, dtype) for dtype, rows in index.lists[name])
        elif name in index.collections:
            items = index.collections[name].items()
            tables = ((key, _read(field.item, one, source)) for key, one in items)
            values[name] = _collection(field, tables)
        else:
            raise DamagedError(f"{kind.__name__} has no {name}")
    if not cold:
        return kind(**values)
    result = _stored(kind)(**values, **dict.fromkeys(cold))  # type: ignore[arg-type]
    result.__dict__["_columns"] = StoredColumns(cold, source)
    for name in cold:  # a field without a value is looked for in ``__getattr__``
        getattr(kind, name).__delete__(result)
    return result


def _collection(field: StructField, tables: Iterable[tuple[str, Any]]) -> Any:  # noqa: ANN401
    if field.key is None:
        return tuple(table for _, table in tables)
    return {msgspec.convert(key, field.key, strict=False): table for key, table in tables}


@functools.cache
def _stored(kind: type[Any]) -> Callable[..., Any]:
    """The same kind of table, with columns that are read at their first use."""

    def missing(self: Any, name: str) -> Any:  # noqa: ANN401  as __getattr__ is
        if name.startswith("_") or name not in self._columns.places:
            raise AttributeError(f"{kind.__name__} has no {name}")
        msgspec.structs.force_setattr(self, name, self._columns.read(name))
        return getattr(self, name)

    def written(self: Any) -> str:  # noqa: ANN401  as __repr__ is
        return repr(kind(**{name: getattr(self, name) for name in kind.__struct_fields__}))

    return msgspec.defstruct(
        kind.__name__,
        [],
        bases=(kind,),
        module=kind.__module__,
        namespace={"__getattr__": missing, "__repr__": written},
        frozen=True,
        dict=True,  # for what reads them
    )


class StoredColumns:
    """Cold and packed columns by name, each inflated or widened when it is read."""

    def __init__(self, places: Mapping[str, ColumnPlace], source: _Source) -> None:
        self.places = places
        files = {place.file for place in places.values()} - {""}
        self._sources = {file: source.buffer(file) for file in files}
        self._lock = threading.Lock()

    def read(self, name: str) -> Array:
        """One column, whole.

        Raises:
            DamagedError: it has another length than it was written with.
        """
        place = self.places[name]
        if place.value is not None:
            return counted(read_only(self._filled(place)))
        column = np.empty(place.shape, place.type)
        flat, start = column.reshape(-1), 0
        for (part,) in self._batches(place, [place.column]):
            flat[start : start + len(part)] = part
            start += len(part)
        if start != column.size:
            raise DamagedError(f"{start} rows instead of {column.size}")
        return counted(read_only(column))

    def _filled(self, place: ColumnPlace) -> Array:
        column = np.full(place.shape, place.value, place.type)
        if place.file:
            for rows, values in self._batches(place, [place.column - 1, place.column]):
                column[rows] = values
        return column

    def _batches(self, place: ColumnPlace, columns: list[int]) -> Iterator[list[Array]]:
        import pyarrow as pa

        with self._lock:
            options = pa.ipc.IpcReadOptions(included_fields=columns, use_threads=False)
            reader = pa.ipc.open_file(self._sources[place.file], options=options)
            for number in range(*place.batches):
                batch = reader.get_batch(number)
                yield [numbers(batch.column(at)) for at in range(len(columns))]


class _Source:
    """Files of a folder while a table is read from them."""

    def __init__(self, folder: Path, *, mapped: bool) -> None:
        self._folder = folder
        self._is_mapped = mapped
        self._buffers: dict[str, pa.Buffer] = {}
        self._plain: dict[str, bytes | mmap.mmap] = {}
        self._readers: dict[str, pa.ipc.RecordBatchFileReader] = {}
        self._batches: dict[tuple[str, int], pa.RecordBatch] = {}

    def check(self, files: Mapping[str, tuple[int, int]]) -> None:
        """Open files and compare them with the index."""
        for name, (size, crc) in files.items():
            content = self.plain(name) if name.endswith(PLAIN) else self.buffer(name)
            if len(memoryview(content)) != size or isal_zlib.crc32(content) != crc:
                raise DamagedError(f"{name} is not as it was written")

    def buffer(self, name: str) -> pa.Buffer:
        """A whole file of Arrow."""
        if name not in self._buffers:
            import pyarrow as pa

            file = f"{self._folder}/{name}"
            with pa.memory_map(file) if self._is_mapped else pa.OSFile(file) as stream:
                self._buffers[name] = stream.read_buffer()
        return self._buffers[name]

    def plain(self, name: str) -> bytes | mmap.mmap:
        """A whole file of small columns."""
        if name not in self._plain:
            with (self._folder / name).open("rb") as file:
                self._plain[name] = (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    if self._is_mapped
                    else file.read()
                )
        return self._plain[name]

    def hot_column(self, place: ColumnPlace) -> Array:
        """A column as a view of its file."""
        if place.offset is not None:
            content = self.plain(place.file) if place.file else b""
            return plain_column(content, place.offset, place.type, place.shape)
        key = place.file, place.batches[0]
        if key not in self._batches:
            self._batches[key] = self._reader(place.file).get_batch(place.batches[0])
        return numbers(self._batches[key].column(place.column)).reshape(place.shape)

    def texts(self, name: str) -> tuple[str, ...]:
        """All texts of a file."""
        reader = self._reader(name)
        found: list[str] = []
        for number in range(reader.num_record_batches):
            column = reader.get_batch(number).column(0)
            found += [text.decode("utf-8", "surrogatepass") for text in column.to_pylist()]
        return tuple(found)

    def _reader(self, name: str) -> pa.ipc.RecordBatchFileReader:
        if name not in self._readers:
            import pyarrow as pa

            self._readers[name] = pa.ipc.open_file(self.buffer(name))
        return self._readers[name]
