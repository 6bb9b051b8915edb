"""Every memory snapshot goes through every view and every part, whatever it lacks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from werkzeug.test import Client

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.cli.entry import main
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.session.session import FileSession
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.views import all_views
from kinetoscope.web.app import create_app
from tests.conftest import TRACES
from tests.trace.pickles.drawn_snapshot import MIB, block, event, segment, snapshot
from tests.waiting import wait_for

HELD = segment(1 << 20, block(MIB), block(MIB, "inactive"))
ALLOC = event("alloc", 1 << 30, MIB, 1, "a.py:1 f")


def traces(*of: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A snapshot with the history of each device."""
    return {**snapshot(**more), "device_traces": list(of)}


DRAWN: dict[str, dict[str, Any]] = {
    "nothing": traces(),
    "no history": traces([], segments=(HELD,)),
    "history of another device": traces([], [ALLOC], segments=(HELD,)),
    "history alone": traces([ALLOC]),
    "releases alone": traces([event("free_completed", 1 << 30, MIB, 1)]),
    "given out twice": traces([ALLOC, ALLOC]),
    "out of memory alone": traces([event("oom", 0, MIB, 1)], segments=(HELD,)),
    "a segment without blocks": traces([], segments=(segment(1 << 20),)),
    "blocks without bytes": traces([ALLOC], segments=(segment(1 << 20, block(0)),)),
    "the host alone": traces(host_segments=[HELD]),
    "no times": traces([{**ALLOC, "time_us": None}], segments=(HELD,)),
    "sizes beyond reason": traces([{**ALLOC, "size": 1 << 62}, {**ALLOC, "size": 1 << 62}]),
    "blocks in blocks": traces([{**ALLOC, "addr": block(MIB)}], segments=(HELD, block(MIB))),
}


def real_ones() -> Iterator[Path]:
    """The snapshots of the collection; none where it is absent."""
    for path in sorted(TRACES.rglob("*")) if TRACES.is_dir() else ():
        if path.is_file() and path.name.lower().endswith((".pickle", ".pkl", ".pickle.gz")):
            yield path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """All of them as the workers of a run."""
    folder = tmp_path / "log" / "run"
    folder.mkdir(parents=True)
    for name, root in DRAWN.items():
        (folder / f"{name.replace(' ', '_')}.pickle").write_bytes(pickle.dumps(root))
    return folder


def build_everything(path: Path) -> int:
    """Each view and part of a file; how many were built."""
    session, built = FileSession(str(path)), 0
    for view in all_views():
        try:
            view.tables(view.build(session.asked(view), view.query()))
            built += 1
        except KinetoscopeError:
            continue
        for part in view.parts:
            try:
                query = msgspec.convert({}, part.query)
            except msgspec.ValidationError:
                continue  # it needs more
            try:
                found = part.build(session.subject(view), query)
                msgspec.json.encode(list(found) if isinstance(found, Iterator) else found)
            except KinetoscopeError:
                continue
            built += 1
    return built


@pytest.mark.parametrize("name", DRAWN)
def test_each_view_and_part_is_built_or_says_why_not(name: str, run: Path) -> None:
    assert build_everything(run / f"{name.replace(' ', '_')}.pickle") >= 1  # Health, always


@pytest.mark.parametrize("path", list(real_ones()), ids=str)
def test_each_view_of_real_snapshots(path: Path) -> None:
    assert build_everything(path) >= 4


def test_what_is_held_without_a_history_is_told(run: Path) -> None:
    for name in ("no_history", "history_of_another_device"):
        said = CliRunner().invoke(main, ["show", "memory", str(run / f"{name}.pickle")])
        assert said.exit_code == 0, said.output
        assert "fills 100 % of the peak of 1.00 MiB" in " ".join(said.output.split())
        (row,) = (line for line in said.output.splitlines() if line.startswith("cuda:0"))
        assert row.split()[-2:] == ["1.000", "2.000"]


def test_the_server_answers_for_each(run: Path) -> None:
    with facts_catalog(resolve(str(run.parent), None)) as catalog:
        client = Client(create_app(catalog, all_views(), "standalone"))

        def states() -> set[str]:
            runs = catalog.snapshot().runs
            return {span.state for one in runs for w in one.workers for span in w.spans}

        wait_for(lambda: bool(states()) and states() <= {"ready", "refused"}, 60)
        workers = catalog.snapshot().runs[0].workers
        assert len(workers) == len(DRAWN)
        for worker in workers:
            for view in all_views():
                address = f"/api/view/{view.stem}?run=run&worker={worker.name}"
                wait_for(partial(is_there, client, address), 60)
                assert client.get(address).status_code < 500, address


def is_there(client: Client, address: str) -> bool:
    return client.get(address).status_code != 202
