"""A trace as Arrow files, and back."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.base.arrays import with_fields
from kinetoscope.base.columnar import DamagedError, StoredColumns, tables
from kinetoscope.base.columnar.sealed import sealed
from kinetoscope.store.cache.disk import TRACE, read_trace, write_trace
from kinetoscope.trace.model import Trace
from tests.conftest import TRACES, requires_traces
from tests.store.fakes import made_trace, same


def stored(trace: Trace, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_trace(trace, folder)
    return folder


@settings(max_examples=40)
@given(
    rows=st.integers(0, 40),
    seed=st.integers(0, 1000),
    mapped=st.booleans(),
    small=st.sampled_from([0, 100, tables.SMALL_BYTES]),
)
def test_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, rows: int, seed: int, mapped: bool, small: int
) -> None:
    trace = made_trace(rows, rank=3, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "SMALL_BYTES", small)
        again = read_trace(stored(trace, tmp_path_factory.mktemp("t")), "elsewhere", mapped=mapped)
    assert again.path == "elsewhere"
    assert same(with_fields(again, path=trace.path), trace)


def test_many_batches_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH_ROWS", 7)
    monkeypatch.setattr(tables, "SMALL_BYTES", 0)
    trace = made_trace(50, rank=None)
    assert same(with_fields(read_trace(stored(trace, tmp_path), "p", mapped=True)), trace)


def test_every_array_is_read_only_and_hot_ones_are_mapped(tmp_path: Path) -> None:
    trace = read_trace(stored(made_trace(100, rank=None), tmp_path), "p", mapped=True)
    for table in (trace.host, trace.device, trace.memory):
        for name in table.__struct_fields__:
            array = getattr(table, name)
            if isinstance(array, np.ndarray):
                assert not array.flags.writeable, name
    assert not trace.host.ts.flags.owndata
    assert pa.total_allocated_bytes() < 1 << 30


def test_cold_columns_are_inflated_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "SMALL_BYTES", 0)
    stored(made_trace(100, rank=None), tmp_path)
    inflated: list[str] = []
    usual = StoredColumns.read

    def read_one(self: StoredColumns, name: str) -> np.ndarray:
        inflated.append(name)
        return usual(self, name)

    monkeypatch.setattr(StoredColumns, "read", read_one)
    trace = read_trace(tmp_path, "p", mapped=True)
    assert inflated == []
    assert trace.host.parent is trace.host.parent  # hot
    assert trace.host.self_ns is trace.host.self_ns
    assert inflated == ["self_ns"]
    with pytest.raises(AttributeError, match="HostTable has no nonsense"):
        trace.host.nonsense  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="immutable"):
        trace.host.step = trace.host.parent  # type: ignore[misc]


def test_a_table_without_one_of_its_columns_is_damaged(tmp_path: Path) -> None:
    """Such as one that an older program wrote."""
    file = stored(made_trace(3, rank=None), tmp_path) / f"{TRACE}.json"
    index = tables.parse_index(file.read_text())
    del index.table.tables["host"].columns["self_ns"]
    file.write_text(sealed(msgspec.to_builtins(index)))
    with pytest.raises(DamagedError, match="HostTable has no self_ns"):
        read_trace(tmp_path, "p", mapped=True)


def test_names_are_known_before_sparse_columns_are_read_trace(tmp_path: Path) -> None:
    trace = read_trace(stored(made_trace(9, rank=None), tmp_path), "p", mapped=True)
    assert "correlation" in trace.host.args
    assert "nonsense" not in trace.host.args
    assert trace.host.args["correlation"] is trace.host.args["correlation"]
    with pytest.raises(KeyError):
        trace.host.args["nonsense"]


@pytest.mark.parametrize("small", [0, tables.SMALL_BYTES])
@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "delete"])
def test_damage_to_any_file_is_found(
    tmp_path: Path, damage: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "SMALL_BYTES", small)
    pristine = stored(made_trace(30, rank=None), tmp_path / "pristine")
    names = [file.name for file in pristine.iterdir()]
    assert len(names) > (3 if small else 10)
    for name in names:
        folder = stored(made_trace(30, rank=None), tmp_path / f"{name}.damaged")
        data = bytearray((folder / name).read_bytes())
        if damage == "flip":
            data[len(data) // 2] ^= 0x10
            (folder / name).write_bytes(data)
        elif damage == "delete":
            (folder / name).unlink()
        else:
            os.truncate(folder / name, len(data) // 2 if damage == "truncate" else 0)
        with pytest.raises(DamagedError):
            read_trace(folder, "p", mapped=True)


def test_large_columns_open_in_any_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "SMALL_BYTES", 0)
    stored(made_trace(5, rank=None), tmp_path)
    hot = pa.ipc.open_file(str(tmp_path / "host.hot.arrow")).read_all()
    assert {"ts", "dur", "name"} <= set(hot.column_names)
    assert hot.num_rows == 5


@requires_traces
@pytest.mark.parametrize(
    "path",
    [
        "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "fresh_torch1.8.1/mem_only/memory_only.json.gz",
        "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "ascend_npu/trace_view.json",
        "derived_oddities/container/truncated.json.gz",
    ],
)
def test_real_traces_come_back_as_they_were(tmp_path: Path, path: str) -> None:
    reader = pytest.importorskip("kinetoscope.trace.read")
    trace = reader.read(str(TRACES / path), lambda _: None)
    assert same(read_trace(stored(trace, tmp_path), trace.path, mapped=True), trace)
