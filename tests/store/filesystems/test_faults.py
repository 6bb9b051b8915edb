"""A remote that fails twice, one that never works, hostile names, and secrets that stay secret."""

from __future__ import annotations

import importlib
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.handlers import remote_filesystem, tensorboard_trace_handler
from kinetoscope.handlers.outputs import Output
from kinetoscope.handlers.remote_address import RemoteError, is_remote, parse, redacted
from kinetoscope.handlers.remote_filesystem import CutOffError, RemoteFilesystem
from kinetoscope.handlers.remote_writer import RemoteWriter
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.session.session import choose
from kinetoscope.store.cache.location import open_cache
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.store.filesystems.copies import Copies
from kinetoscope.store.filesystems.listing import list_files, modified_of
from tests import remote_servers
from tests.handlers.recording import SMALL_TRACE, StandIn
from tests.waiting import wait_for

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402


class Flaky(MemoryFileSystem):  # type: ignore[misc]  # fsspec carries no types
    """A filesystem in memory whose next calls fail, or all of them."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    failures: ClassVar[float] = 0
    calls: ClassVar[int] = 0

    @classmethod
    def fail(cls) -> None:
        cls.calls += 1
        if cls.failures > 0:
            cls.failures -= 1
            raise ConnectionResetError("connection reset; https://h/x?sig=verysecret&a=1")

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("flaky://", "memory://")))

    def put_file(self, *arguments: Any, **options: Any) -> None:
        self.fail()
        super().put_file(*arguments, **options)

    def get_file(self, *arguments: Any, **options: Any) -> None:
        self.fail()
        super().get_file(*arguments, **options)

    def find(self, *arguments: Any, **options: Any) -> Any:
        self.fail()
        return super().find(*arguments, **options)


@pytest.fixture(autouse=True)
def flaky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Flaky]]:
    registry = importlib.import_module("fsspec.registry")
    monkeypatch.setitem(registry._registry, "flaky", Flaky)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("kinetoscope.handlers.remote_filesystem.time.sleep", lambda _: None)
    # Another test of this process may have compiled something.
    monkeypatch.setattr("kinetoscope.handlers.trace_handler.compile_file", lambda *_, **__: None)
    Flaky.store.clear()
    Flaky.failures = Flaky.calls = 0
    yield Flaky
    Flaky.failures = 0


def kept_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*.pt.trace.json*") if "cache" not in p.parts)


def test_two_failures_are_survived_when_writing_and_when_reading(
    flaky: type[Flaky], tmp_path: Path
) -> None:
    flaky.failures = 2
    saved = tensorboard_trace_handler("flaky://logs/run", "w", on_error="raise")(StandIn())
    assert saved is not None
    assert list(flaky.store) == [f"/logs/run/{saved.name}"]
    assert kept_in(tmp_path) == []

    flaky.failures = 2
    assert choose("flaky://logs").session().facts().health.events == 1


def test_a_remote_that_never_works_costs_the_training_nothing(
    flaky: type[Flaky], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flaky.failures = float("inf")
    handler = tensorboard_trace_handler("flaky://logs/run", "w")
    for _ in range(6):
        handler(StandIn())
    assert handler.flush()
    assert handler.saved_paths == ()
    assert flaky.store == {}
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert "cannot be reached" in errors[0]
    assert "kept in" in errors[0]
    assert "verysecret" not in caplog.text
    assert len(kept_in(tmp_path)) == 4  # the newest; the loss of each other one was said
    assert sum("it is lost" in text for text in errors) == 2

    flaky.failures = 0  # it works again: what was kept goes with the next one
    handler(StandIn())
    assert handler.flush()
    assert len(flaky.store) == 5
    assert kept_in(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users on this system")
@pytest.mark.parametrize("what", ["link", "stranger", "open"])
def test_nothing_is_written_where_others_have_put_a_folder(
    flaky: type[Flaky], tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    place, theirs = tmp_path / f"kinetoscope-sending-{os.geteuid()}", tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    if what == "link":
        place.symlink_to(theirs)
    else:
        place.mkdir(mode=0o700)
        if what == "open":
            place.chmod(0o770)
        elif os.geteuid() == 0:
            os.chown(place, 4242, 4242)
        else:
            pytest.skip("only the superuser can give files away")
    handler = tensorboard_trace_handler("flaky://logs/run", "w")
    assert handler(StandIn()) is None
    assert "TMPDIR chooses another place" in caplog.text
    assert list(place.iterdir()) == list(theirs.iterdir()) == []
    assert flaky.store == {}


class IncompleteReadError(Exception):
    """As the libraries of stores call it."""


def test_a_server_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_filesystem, "CALL_S", 0.1)
    remote, go_on, calls = RemoteFilesystem(parse("flaky://logs")), threading.Event(), []

    def hang(_: object) -> None:
        calls.append(1)
        go_on.wait(30)

    with pytest.raises(RemoteError, match="flaky://logs: no answer within 0 s") as caught:
        remote.call(hang)
    wait_for(lambda: calls)  # its thread may begin late
    assert (caught.value.reason, len(calls)) == ("unreachable", 1)
    # So much longer for what it carries: 0.1 s are not enough for this, 8 s and more are.
    assert remote.call(lambda _: go_on.wait(0.3), carries=8 << 20) is False
    go_on.set()


@pytest.mark.parametrize("kind", [IncompleteReadError, CutOffError])
def test_a_truncated_answer_is_not_blamed_on_credentials(kind: type[Exception]) -> None:
    def truncated(_: object) -> None:
        raise kind("5 of 9 bytes")

    address = parse("flaky://logs")._replace(protocol="s3")
    remote = RemoteFilesystem(address, pauses_s=())
    remote._filesystem = lambda number: None  # type: ignore[method-assign]
    with pytest.raises(RemoteError, match="cut off or damaged: 5 of 9 bytes") as caught:
        remote.call(truncated)
    assert (caught.value.reason, "AWS_" in caught.value.hint) == ("unreachable", False)


def test_only_who_is_refused_is_asked_for_a_name() -> None:
    remote = RemoteFilesystem(parse("flaky://logs")._replace(protocol="s3"), pauses_s=())
    remote._filesystem = lambda number: None  # type: ignore[method-assign]
    hints = {}
    for error in (PermissionError("no"), ConnectionResetError("reset")):

        def failing(_: object, error: OSError = error) -> None:
            raise error

        with pytest.raises(RemoteError) as caught:
            remote.call(failing)
        hints[type(error)] = "AWS_ACCESS_KEY_ID" in caught.value.hint
    assert hints == {PermissionError: True, ConnectionResetError: False}


class WithTable(StandIn):
    """A profiler that has averages, too, and an operator that lasts."""

    def __init__(self) -> None:
        super().__init__(
            b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2, '
            b'"pid": 1, "tid": 1}]}'
        )

    def key_averages(self) -> WithTable:
        return self

    def table(self, **_: object) -> str:
        return "a table"


ALL: tuple[Output, ...] = ("key_averages", "stacks", "scalars")


def beside(flaky: type[Flaky], saved: Path) -> list[str]:
    """What a folder of another machine holds, in words of the outputs."""
    stem = saved.name.partition(".pt.trace")[0]
    below = (path.removeprefix("/logs/run/") for path in sorted(flaky.store))
    return [name.replace(stem, "w").partition(".tfevents")[0] for name in below]


EVERYTHING = ["profile/events.out", "w.key_averages.txt", "w.pt.trace.json.gz", "w.stacks.txt"]


def test_what_is_written_beside_a_trace_is_sent_with_it(
    flaky: type[Flaky], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("tensorboard")
    handler = tensorboard_trace_handler("flaky://logs/run", "w", outputs=ALL, keep_last=1)
    for _ in range(2):
        handler(WithTable())
        assert handler.flush()
    (saved,) = handler.saved_paths
    # Event files stay, as they do on this machine: TensorBoard joins them.
    assert beside(flaky, saved) == ["profile/events.out", *EVERYTHING]
    table = flaky.store[f"/logs/run/{saved.name.partition('.pt')[0]}.key_averages.txt"]
    assert table.getvalue() == b"a table\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file() and in_sending(path)] == []
    assert [one for one in caplog.records if one.levelno > logging.INFO] == []


def in_sending(path: Path) -> bool:
    return any(part.startswith("kinetoscope-sending") for part in path.parts)


def test_what_could_not_be_sent_beside_a_trace_goes_with_the_next(
    flaky: type[Flaky], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    put = Flaky.put_file

    def refuse_others(self: Flaky, here: str, there: str, **options: Any) -> None:
        if ".pt.trace.json" not in there:
            raise ConnectionResetError("made up")
        put(self, here, there, **options)

    monkeypatch.setattr(Flaky, "put_file", refuse_others)
    handler = tensorboard_trace_handler("flaky://logs/run", "w", outputs=ALL)
    handler(WithTable())
    assert handler.flush()
    first = handler.saved_paths[0]
    assert beside(flaky, first) == ["w.pt.trace.json.gz"]

    monkeypatch.setattr(Flaky, "put_file", put)
    tensorboard_trace_handler("flaky://logs/run", "v", background=False)(StandIn())
    assert beside(flaky, first)[:1] == ["profile/events.out"]
    assert {name for name in beside(flaky, first) if name[:2] in {"pr", "w."}} == {*EVERYTHING}
    assert [path for path in tmp_path.rglob("*") if path.is_file() and in_sending(path)] == []


def test_what_a_killed_process_could_not_send_is_sent_by_the_next(
    flaky: type[Flaky], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flaky.failures = float("inf")
    writer = RemoteWriter(parse("flaky://logs/run"), pauses_s=())
    handler = tensorboard_trace_handler("flaky://logs/run", "w", writer=writer, background=False)
    handler(StandIn())
    (kept,) = (path.parent for path in tmp_path.rglob("*.pt.trace.json.gz"))
    kept.rename(kept.with_name("0123456789ab-4711-1"))  # of another process
    monkeypatch.setattr("kinetoscope.handlers.remote_writer.is_gone", lambda mark: "4711" in mark)
    flaky.failures = 0
    tensorboard_trace_handler("flaky://logs/run", "w2", background=False)(StandIn())
    assert len(flaky.store) == 2
    assert kept_in(tmp_path) == []


def test_no_file_is_overwritten(flaky: type[Flaky]) -> None:
    handler = tensorboard_trace_handler("flaky://logs/run", "w", on_error="raise")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kinetoscope.handlers.trace_handler.time.time_ns", lambda: 10**18)
        first, second = handler(StandIn()), handler(StandIn())  # of one size
    assert first is not None
    assert second is not None
    assert (first.name, second.name) == (
        "w.1000000000000000000.pt.trace.json.gz",
        "w.1000000000000000001.pt.trace.json.gz",
    )


def test_a_remote_that_cannot_be_listed_is_a_problem_and_local_folders_work(
    flaky: type[Flaky], tmp_path: Path
) -> None:
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "w0.pt.trace.json").write_bytes(SMALL_TRACE)
    flaky.failures = float("inf")
    with facts_catalog(resolve(None, f"far:flaky://logs,near:{tmp_path / 'near'}")) as catalog:
        wait_for(lambda: [run.name for run in catalog.snapshot().runs] == ["near"])
        wait_for(lambda: [p.kind for p in catalog.snapshot().problems] == ["remote_unreachable"])
        (problem,) = catalog.snapshot().problems
        assert problem.message.startswith("flaky://logs: it cannot be reached: connection reset")
        assert "verysecret" not in problem.message
    with pytest.raises(KinetoscopeError, match="cannot be reached"):
        choose("flaky://logs")


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote_servers.needs("s3fs")
    port = remote_servers.free_port()
    for name in remote_servers.EMPTY:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLEEXAMPLE00")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example/secret/of/the/tests")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("S3_ENDPOINT", f"127.0.0.1:{port}")
    monkeypatch.setenv("S3_USE_HTTPS", "0")
    with pytest.raises(KinetoscopeError, match="cannot be reached") as caught:
        choose("s3://logs/x")
    assert "S3_ENDPOINT" in caught.value.hint


def test_names_from_a_bucket_never_become_paths(flaky: type[Flaky], tmp_path: Path) -> None:
    hostile = ("a/../../../etc/x.json", "..\\..\\x.json", "\x1b[2J.json", "n" * 300 + ".json")
    far = RemoteFilesystem(parse("flaky://logs"))
    for name in hostile:
        flaky.store[f"/logs/{name}"] = _file(f"/logs/{name}")
    copies = Copies(open_cache())
    found = list(list_files(far))
    assert len(found) == len(hostile) - 1  # a folder that begins with a dot is not entered
    for one in found:
        place = copies.bring(one)
        assert place.parent == tmp_path / "cache" / "copies"
        assert place.name.removesuffix(".json").isalnum()
        assert place.read_bytes() == SMALL_TRACE


def _file(path: str) -> Any:
    from fsspec.implementations.memory import MemoryFile

    return MemoryFile(None, path, SMALL_TRACE)


def test_old_copies_go_when_there_is_too_much(
    flaky: type[Flaky], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        flaky.store[f"/logs/{number}.json"] = _file(f"/logs/{number}.json")
    cache = open_cache(None, 2 * len(SMALL_TRACE))
    monkeypatch.setattr("kinetoscope.store.filesystems.copies.FRESH_SECONDS", -1.0)
    copies = Copies(cache)
    places = [copies.bring(one) for one in list_files(RemoteFilesystem(parse("flaky://logs")))]
    assert sum(place.is_file() for place in places) == 2


@pytest.mark.parametrize(
    ("typed", "url", "shown"),
    [
        ("s3://b/a/", "s3://b/a", "s3://b/a"),
        ("s3a://b/a", "s3://b/a", "s3a://b/a"),
        ("s3:/b/a", "s3://b/a", "s3://b/a"),
        ("gcs://b/a", "gs://b/a", "gcs://b/a"),
        ("az://c/a", "abfs://c/a", "az://c/a"),
        (
            "abfss://c@acct.dfs.core.windows.net/a",
            "abfs://c/a",
            "abfss://c@acct.dfs.core.windows.net/a",
        ),
        (
            "https://acct.blob.core.windows.net/c/a%20b?sv=1&sig=geheim",
            "abfs://c/a b",
            "https://acct.blob.core.windows.net/c/a%20b",
        ),
        ("sftp://me:geheim@host/a", "sftp://me:geheim@host/a", "sftp://me@host/a"),
        ("https://host/a/?token=geheim", "https://host/a/?token=geheim", "https://host/a"),
    ],
)
def test_addresses(typed: str, url: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*remote_servers.EMPTY, "AZURE_STORAGE_CONNECTION_STRING"):
        monkeypatch.delenv(name, raising=False)
    address = parse(typed)
    assert is_remote(typed)
    assert (address.url, address.shown) == (url, shown)
    assert "geheim" not in repr(address).replace(address.url, "")


@pytest.mark.parametrize("path", ["/tmp/x", "C:/logs", "runs", "file:///x", "a/b:c"])
def test_paths_are_no_addresses(path: str) -> None:
    assert not is_remote(path)


def test_the_account_of_an_address_is_not_asked_with_the_key_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = f"AccountName=mine;AccountKey={remote_servers.KEY};"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
    (options,) = parse("https://other.blob.core.windows.net/c").options
    assert options == {"connection_string": "BlobEndpoint=https://other.blob.core.windows.net;"}
    assert parse("https://mine.blob.core.windows.net/c").options == ({},)
    (signed,) = parse("https://mine.blob.core.windows.net/c?sv=1&sig=x").options
    assert signed["connection_string"].endswith("SharedAccessSignature=sv=1&sig=x")


def test_secrets_are_taken_out_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG")
    text = (
        "GET https://u:pw@h/x?sv=1&sig=abc%3D&se=2 AccountKey=Zm9v; key wJalrXUtnFEMI/K7MDENG, "
        "X-Amz-Signature=deadbeef"
    )
    told = redacted(text)
    for secret in ("pw@", "abc%3D", "Zm9v", "wJalrXUtnFEMI", "deadbeef"):
        assert secret not in told
    assert "sv=1" in told


def test_an_unknown_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    (logdir,) = resolve("zz://bucket/x", None)
    assert logdir.problem is not None
    assert "zz" in logdir.problem.message


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"mtime": 1.5}, 1_500_000_000),
        ({"modificationTime": 1_700_000_000_123}, 1_700_000_000_123_000_000),
        ({"updated": "2024-01-01T00:00:00.5Z"}, 1_704_067_200_500_000_000),
        ({}, 0),
    ],
)
def test_times_of_filesystems(info: dict[str, Any], expected: int) -> None:
    assert modified_of(info) == expected


def test_a_remote_error_can_cross_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(RemoteError("a", "denied", "b")))  # noqa: S301  our own
    assert (error.message, error.reason, error.hint) == ("a", "denied", "b")


def test_a_public_bucket_is_read_without_a_name(flaky: type[Flaky]) -> None:
    """The first of the options that is let in is kept; finding the path decides nothing."""
    asked: list[object] = []

    def listed(fs: Any) -> str:
        asked.append(fs.storage_options.get("anon"))
        if not fs.storage_options.get("anon"):
            raise PermissionError("no credentials")
        return "listed"

    address = parse("flaky://logs")
    far = RemoteFilesystem(address._replace(options=({}, {"anon": True})))
    assert far.root == "/logs"
    assert [far.call(listed), far.call(listed)] == ["listed", "listed"]
    assert asked == [None, True, True]
