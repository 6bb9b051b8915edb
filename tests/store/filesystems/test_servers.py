"""Each kind of remote logdir against a server of it: written by the handler, read, followed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kinetoscope.handlers import tensorboard_trace_handler
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.session.session import Wanted, choose
from kinetoscope.store.catalog import Timing
from kinetoscope.store.contract import Catalog
from kinetoscope.store.discovery.stability import Patience
from kinetoscope.store.discovery.walk import resolve
from tests import remote_servers, web_hdfs
from tests.handlers.recording import StandIn
from tests.remote_servers import Store
from tests.waiting import wait_for

QUICK = Timing(look=0.2, busy_look=0.2, look_share=1.0, patience=Patience(old=0.0, quiet=0.0))
KINDS = ("s3", "google", "azure", "azure by https", "webhdfs", "hdfs")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """Servers that were started, and end with the module."""
    with ExitStack() as stack:
        started: dict[str, Store] = {}
        starters = {
            "s3": remote_servers.s3,
            "google": remote_servers.google,
            "azure": remote_servers.azure,
            "webhdfs": remote_servers.web_hdfs,
        }

        class Started(dict[str, Store]):
            def __missing__(self, kind: str) -> Store:
                folder = tmp_path_factory.mktemp(kind)
                self[kind] = stack.enter_context(starters[kind](folder))
                return self[kind]

        yield Started(started)


@pytest.fixture
def store(
    request: pytest.FixtureRequest,
    servers: dict[str, Store],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Store:
    kind = request.param
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    if kind == "hdfs":
        return remote_servers.hdfs_stand_in(tmp_path, monkeypatch)
    found = servers[kind.partition(" ")[0]]
    found.set(monkeypatch)
    if kind == "azure by https":
        return Store("https://devstoreaccount1.blob.core.windows.net/logs/https", {})
    return found


def trace_of(events: int) -> bytes:
    every = [
        {"ph": "X", "name": f"op{i}", "cat": "cpu_op", "ts": i, "dur": 1, "pid": 1, "tid": 1}
        for i in range(events)
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": every}).encode()


def record(address: str, worker: str, events: int) -> Path:
    """What the handler leaves at an address."""
    handler = tensorboard_trace_handler(address, worker, on_error="raise")
    saved = handler(StandIn(trace_of(events)))
    assert saved is not None
    return saved


def ready(catalog: Catalog) -> dict[str, int | None]:
    return {file.path: file.events for file in catalog.files if file.state == "ready"}


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_written_by_the_handler_and_read_from_the_same_address(
    store: Store, tmp_path: Path
) -> None:
    first = record(f"{store.address}/run", "w0", 3)
    assert str(first) == f"{store.address}/run/{first.name}"
    here = [path.name for path in tmp_path.rglob("*.trace.json*") if "cache" not in path.parts]
    assert here in ([], [first.name])  # of the stand-in

    assert choose(store.address).session().facts().health.events == 3
    facts = choose(f"{store.address}/run/{first.name}").session().facts()
    assert (facts.health.events, facts.path) == (3, str(first))

    with facts_catalog(resolve(store.address, None), QUICK) as catalog:
        wait_for(lambda: ready(catalog.snapshot()) == {f"run/{first.name}": 3})
        second = record(f"{store.address}/run", "w1", 5)  # added while it is looked at
        wait_for(
            lambda: ready(catalog.snapshot()) == {f"run/{first.name}": 3, f"run/{second.name}": 5}
        )
        workers = [one.name for one in catalog.snapshot().runs[0].workers]
        assert workers == ["w0", "w1"]
        assert catalog.snapshot().problems == ()
    chosen = choose(store.address, Wanted("run", "w1", None))
    assert chosen.session().event(4)["name"] == "op4"
    _remove_and_change(store, first, second)


def _remove_and_change(store: Store, first: Path, second: Path) -> None:
    """A replaced file is read again, a deleted one goes."""
    (logdir,) = resolve(f"{store.address}/run", None)
    far = logdir.far
    assert far is not None
    with facts_catalog([logdir], QUICK) as catalog:
        wait_for(lambda: ready(catalog.snapshot()) == {first.name: 3, second.name: 5})
        longer = gzip.compress(trace_of(7))
        far.call(lambda fs: fs.pipe_file(f"{far.root}/{first.name}", longer))
        wait_for(lambda: ready(catalog.snapshot()) == {first.name: 7, second.name: 5})
        far.call(lambda fs: fs.rm_file(f"{far.root}/{second.name}"))
        wait_for(lambda: ready(catalog.snapshot()) == {first.name: 7})


def test_a_name_that_is_taken_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDFS does not rename over a file, and says so only in its answer."""
    remote_servers.needs("fsspec", "requests")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("kinetoscope.handlers.trace_handler.time.time_ns", lambda: 7)
    with web_hdfs.running() as server, remote_servers.no_proxy():
        taken = [b"of another process"]

        def take() -> None:
            if taken:
                server.nodes["/logs/w.7.pt.trace.json.gz"] = web_hdfs.Node(taken.pop())

        server.before_rename = take
        saved = record(f"webhdfs://127.0.0.1:{server.server_address[1]}/logs", "w", 3)
        assert saved.name == "w.8.pt.trace.json.gz"
        content = {path: node.content for path, node in server.nodes.items() if node.content}
    # What other tests of this process compiled is beside it.
    content = {path: data for path, data in content.items() if ".compile." not in path}
    assert content.pop("/logs/w.7.pt.trace.json.gz") == b"of another process"
    ((path, packed),) = content.items()
    assert path == "/logs/w.8.pt.trace.json.gz"
    assert len(json.loads(gzip.decompress(packed))["traceEvents"]) == 3
