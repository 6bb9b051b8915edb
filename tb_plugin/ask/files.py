"""Tables of a recording as files: Parquet, Arrow or CSV, each of them whole or not there at all.

Each has its declaration: units and meanings. Parquet and Arrow have it in the metadata of fields,
and as ``attrs`` for pandas; CSV has it in a file beside it, as "CSV on the Web" of the W3C says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa
from msgspec import Struct

from ..base.errors import UnavailableError
from ..handlers.outputs import appearing
from .arrow import arrow_table
from .made import SourceColumn
from .sources import TABLES, Source, named

FileFormat = Literal["parquet", "arrow", "csv"]


class WrittenTable(Struct, frozen=True):
    """One table: where it is, or why this recording does not have it."""

    table: str
    file: str  # "" where there is none
    rows: int
    bytes: int
    reason: str


def write_tables(
    source: Source, folder: Path, form: FileFormat, tables: Collection[str] = ()
) -> Iterator[WrittenTable]:
    """Write tables, by default all of them, one after the other.

    Raises:
        NotFoundError: there is no such table.
        OSError: no room, or no permission.
    """
    names = named(tables)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        try:
            table = declared_table(name, source.columns(name))
        except UnavailableError as error:
            yield WrittenTable(name, "", 0, 0, error.message)
            continue
        path = folder / f"{name}.{form}"
        if form == "csv":
            with appearing(folder / f"{path.name}-metadata.json") as hidden:
                _write_declaration(table, path, hidden)
        with appearing(path) as hidden:
            _write(table, hidden, form)
        yield WrittenTable(name, str(path), table.num_rows, path.stat().st_size, "")


def declared_table(name: str, columns: Sequence[SourceColumn]) -> Any:  # noqa: ANN401
    """The table with its meaning, and what pandas shows as ``attrs`` of a frame."""
    table = arrow_table(columns)
    attrs = {"title": name, "definitions": {one.key: one.help for one in columns},
             "units": {one.key: one.unit for one in columns if one.unit}}  # fmt: skip
    about = {"meaning": TABLES[name], "PANDAS_ATTRS": msgspec.json.encode(attrs)}
    return table.replace_schema_metadata(about)


def _write_declaration(table: Any, described: Path, path: Path) -> None:  # noqa: ANN401
    """Write the declaration of a CSV file."""
    columns = [
        {
            "name": field.name,
            "titles": field.name,
            "dc:description": field.metadata[b"meaning"].decode(),
            "datatype": _datatype(field.type),
            **({"schema:unitText": unit} if (unit := field.metadata[b"unit"].decode()) else {}),
        }
        for field in table.schema
    ]
    declaration = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": described.name,
        "dc:description": table.schema.metadata[b"meaning"].decode(),
        "tableSchema": {"columns": columns},
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(declaration)))


def _datatype(kind: Any) -> str:  # noqa: ANN401
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    return "double" if pa.types.is_floating(kind) else "string"


def _write(table: Any, path: Path, form: FileFormat) -> None:  # noqa: ANN401
    if form == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, path, compression="zstd")
    elif form == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        from pyarrow import csv

        csv.write_csv(_without_codes(table), path)


def _without_codes(table: Any) -> Any:  # noqa: ANN401
    """The table with texts in place of codes, which CSV does not have."""
    columns = [
        column.cast(pa.large_string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))
