"""Worker names: what they are by default, and what is made of those a user gives."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.handlers import tensorboard_trace_handler
from kinetoscope.handlers.naming import TraceName, safe_worker, worker_of
from kinetoscope.handlers.process import Process, current_process
from kinetoscope.handlers.remote_address import is_remote
from tests.handlers.recording import StandIn, save


@pytest.mark.parametrize(
    ("process", "worker"),
    [
        (Process("node-3.lab", 17, None, None), "node-3.lab_17"),
        (Process("node-3.lab", 17, 5, 8), "node-3.lab_17_rank5"),
        (Process("", 17, 0, None), "unknown_17_rank0"),
    ],
)
def test_default_worker(process: Process, worker: str) -> None:
    assert worker_of(process, None) == worker
    assert worker_of(process, "") == worker


@pytest.mark.parametrize(
    ("wanted", "worker"),
    [
        ("worker0", "worker0"),
        ("trainer 0 (é)", "trainer 0 (é)"),
        ("tp0/dp1", "tp0_dp1"),
        ("../../etc/x", "_.._etc_x"),
        ("C:\\logs", "C__logs"),
        ("a\nb\x00c\x1b", "a_b_c_"),
        ("lone \udcff byte", "lone _ byte"),
        (".hidden", "hidden"),
        ("...", ""),
        ("  ", ""),
    ],
)
def test_safe_worker(wanted: str, worker: str) -> None:
    assert safe_worker(wanted) == worker


@given(st.text(max_size=400))
def test_any_name_becomes_one_visible_path_component(wanted: str) -> None:
    worker = worker_of(Process("host", 1, None, None), wanted)
    name = TraceName(worker, 1_700_000_000_000_000_000, use_gzip=True)

    assert Path(name.file_name).name == name.file_name
    assert not name.file_name.startswith(".")
    hidden = name.hidden_name(f"{'f' * 12}-{2**32}-{2**64 - 1}")
    for file_name in (name.file_name, hidden + ".tmp"):  # torch adds one more
        assert len(os.fsencode(file_name)) <= 255
        assert file_name.isprintable()


@given(st.text(max_size=400))
def test_what_is_safe_stays_as_it_is(wanted: str) -> None:
    assert safe_worker(safe_worker(wanted)) == safe_worker(wanted)


def test_long_names_that_differ_at_the_end_stay_different() -> None:
    assert safe_worker("n" * 300 + "0") != safe_worker("n" * 300 + "1")


@pytest.mark.parametrize(
    ("directory", "remote"),
    [
        ("s3://bucket/logs", True),
        ("hdfs://host:9000/x", True),
        ("s3:/bucket", True),  # what Path makes of it
        ("/data/s3://x", False),
        ("./log", False),
        ("C:/logs", False),
        ("run:1", False),
    ],
)
def test_is_remote(directory: str, remote: bool) -> None:
    assert is_remote(directory) is remote


def test_rank_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")

    path = save(tensorboard_trace_handler(tmp_path), StandIn())

    host = re.escape(socket.gethostname())
    assert path is not None
    assert re.fullmatch(rf"{host}_{os.getpid()}_rank3\.\d{{19}}\.pt\.trace\.json\.gz", path.name)


@pytest.mark.parametrize("value", ["", "one", "-1", "1.0", "²"])
def test_a_rank_that_is_no_number_is_no_rank(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RANK", value)
    monkeypatch.delenv("WORLD_SIZE", raising=False)

    assert (current_process().rank, current_process().world_size) == (None, None)
