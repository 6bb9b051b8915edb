"""Tables of a recording as files: Parquet, Arrow or CSV, each of them whole or not there at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from msgspec import Struct

from ..base.errors import UnavailableError
from ..handlers.outputs import appearing
from .arrow import arrow_table
from .sources import Source, named

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
            table = arrow_table(source.columns(name))
        except UnavailableError as error:
            yield WrittenTable(name, "", 0, 0, error.message)
            continue
        path = folder / f"{name}.{form}"
        with appearing(path) as hidden:
            _write(table, hidden, form)
        yield WrittenTable(name, str(path), table.num_rows, path.stat().st_size, "")


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
