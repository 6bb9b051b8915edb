"""`kinetoscope export`: every table with its declaration, in each format."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from kinetoscope.ask import files
from kinetoscope.ask.sources import TABLES, Source
from kinetoscope.frames import frame_of
from kinetoscope.session.session import TraceSession
from tests.ask.test_sql import PICTURE
from tests.cli.runs import run
from tests.conftest import TRACES, requires_traces
from tests.drawing import draw, draw_at


def test_every_table_is_written_with_its_declaration(tmp_path: Path) -> None:
    source = Source(TraceSession(draw(PICTURE)))
    told = list(files.write_tables(source, tmp_path, "parquet"))
    assert [one.table for one in told] == list(TABLES)
    assert [one.table for one in told if one.reason] == ["modules", "blocks"]
    device = pa.parquet.read_table(tmp_path / "device.parquet")
    assert device.column("dur_ns").to_pylist() == source.trace.device.dur.tolist()
    field = device.schema.field("dur_ns")
    assert field.metadata == {b"meaning": b"Length.", b"unit": b"ns"}
    assert device.schema.metadata[b"meaning"].decode() == TABLES["device"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{one.table}.parquet" for one in told if not one.reason
    )


def test_pandas_reads_the_declaration_back(tmp_path: Path) -> None:
    source = Source(TraceSession(draw(PICTURE)))
    list(files.write_tables(source, tmp_path, "parquet", ("device", "operators")))
    frame = pd.read_parquet(tmp_path / "device.parquet")
    assert frame.attrs["units"]["dur_ns"] == "ns"
    assert frame.attrs["definitions"] == frame_of(source.columns("device")).attrs["definitions"]
    assert frame["end_ns"].tolist() == (source.trace.device.ts + source.trace.device.dur).tolist()
    shares = pd.read_parquet(tmp_path / "operators.parquet")
    calls = shares.set_index("name")["calls_per_step"]
    assert shares["calls"].tolist() == (calls * 2).tolist()


def test_csv_has_its_declaration_beside_it(tmp_path: Path) -> None:
    source = Source(TraceSession(draw(PICTURE)))
    list(files.write_tables(source, tmp_path, "csv", ("steps", "device")))
    names = {"steps.csv", "steps.csv-metadata.json", "device.csv", "device.csv-metadata.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    columns: dict[str, dict[str, str]] = {}
    for name in ("steps", "device"):
        told = json.loads((tmp_path / f"{name}.csv-metadata.json").read_text())
        frame = pd.read_csv(tmp_path / told["url"])
        columns = {one["name"]: one for one in told["tableSchema"]["columns"]}
        assert list(columns) == frame.columns.tolist()
        assert columns["dur_ns"]["schema:unitText"] == "ns"
        assert columns["dur_ns"]["datatype"] == "integer"
        assert columns["name"]["datatype"] == "string"
        assert all(one["dc:description"] for one in columns.values())
        assert told["dc:description"] == TABLES[name]
    assert columns["correlation"].keys() == {"name", "titles", "dc:description", "datatype"}


def test_formats_hold_the_same(tmp_path: Path) -> None:
    source = Source(TraceSession(draw(PICTURE)))
    for form in ("parquet", "arrow", "csv"):
        list(files.write_tables(source, tmp_path, form, ("device",)))
    first = pa.parquet.read_table(tmp_path / "device.parquet").to_pydict()
    with pa.ipc.open_file(tmp_path / "device.arrow") as file:
        assert file.read_all().to_pydict() == first
        assert file.schema.field("dur_ns").metadata[b"unit"] == b"ns"
    read = pa.csv.read_csv(tmp_path / "device.csv").to_pydict()
    assert (read["name"], read["end_ns"]) == (first["name"], first["end_ns"])


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(table: object, path: Path, form: str) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write", fails)
    source = Source(TraceSession(draw(PICTURE)))
    with pytest.raises(OSError, match="No space"):
        list(files.write_tables(source, tmp_path, "arrow", ("steps",)))
    assert list(tmp_path.iterdir()) == []


def test_the_command_names_what_it_wrote_and_what_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    shown = run("export", path, "--to", tmp_path / "out", "--tables", "steps,modules")
    assert "steps.parquet: 2 rows" in shown.stdout
    assert "modules: not available: No module was recorded" in shown.stdout
    wrong = run("export", path, "--to", tmp_path / "out", "--tables", "devise")
    assert (wrong.exit_code, "did you mean device?" in wrong.stderr) == (4, True)
    assert run("export", path, "--to", tmp_path / "out", "--format", "xls").exit_code == 2


def test_what_was_written_and_errors_are_json_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    command = ("export", path, "--to", tmp_path / "out", "--report", "json", "--tables")
    lines = map(json.loads, run(*command, "steps,modules").stdout.splitlines())
    assert [(one["table"], one["rows"], bool(one["reason"])) for one in lines] == [
        ("steps", 2, False),
        ("modules", 0, True),
    ]
    assert json.loads(run(*command, "devise").stdout) == {
        "error": {
            "kind": "not_found",
            "message": "there is no table 'devise'",
            "hint": "did you mean device?",
        }
    }


@requires_traces
def test_ranks_are_folders_that_other_tools_read_as_one_table(tmp_path: Path) -> None:
    done = run(
        "export", TRACES / "dlrm_8rank_v100", "--to", tmp_path, "--ranks", "--tables", "steps"
    )
    assert done.exit_code == 0
    table = pa.parquet.read_table(tmp_path)
    assert sorted(table.column("rank").to_pylist()) == list(range(8))
