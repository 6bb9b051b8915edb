"""What a running server does when the code is replaced under it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from kinetoscope.base.errors import KinetoscopeError, UnavailableError
from kinetoscope.store.cache import content_key
from kinetoscope.store.catalog import BeingRead, CatalogService
from kinetoscope.store.ingest.child import Child
from kinetoscope.store.ingest.jobs import Work
from tests.store.conftest import Serve
from tests.store.fakes import FakeFacts, states, write_trace
from tests.store.recipes import Rows
from tests.waiting import wait_for

FIRST, SECOND = "a.1700000000000.pt.trace.json", "b.1700000000001.pt.trace.json"
PACKAGE = "a_reader_that_changes"
CODE = "from tests.store.fakes import read, summarize\n"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a reader that may be replaced."""
    file = tmp_path / "installed" / PACKAGE / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    yield file
    content_key.code_version.cache_clear()
    sys.modules.pop(PACKAGE, None)


def started(serve: Serve) -> CatalogService[FakeFacts]:
    """A server as a program that starts now would run it."""
    content_key.code_version.cache_clear()
    return serve(read=f"{PACKAGE}:read", summarize=f"{PACKAGE}:summarize")


def made(service: CatalogService[FakeFacts], worker: str) -> int | KinetoscopeError:
    """What becomes of an artifact that is asked for until it is there."""

    def asked() -> list[int | KinetoscopeError]:
        try:
            return [service.artifact(service.locate("run", worker, None), Rows())]
        except BeingRead:
            return []
        except KinetoscopeError as error:
            return [error]

    return wait_for(asked)[0]


def changed(reader: Path) -> None:
    reader.write_text(f"{CODE}# of another version\n")


def removed(reader: Path) -> None:
    shutil.rmtree(reader.parent)


@pytest.mark.parametrize("replace", [changed, removed])
def test_a_server_of_older_code_says_that_it_must_be_restarted(
    logdir: Path,
    serve: Serve,
    reader: Path,
    replace: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It does not read with the new code under the old key, and nothing is asked for in vain."""
    monkeypatch.setattr(Child, "is_usable", lambda *_: False)  # one that goes on has the old code
    write_trace(logdir / "run" / FIRST, events=3)
    service = started(serve)
    wait_for(lambda: states(service) == {f"run/{FIRST}": "ready"})
    wait_for(lambda: not service._pool.is_busy)
    replace(reader)
    write_trace(logdir / "run" / SECOND, events=4)
    wait_for(lambda: states(service).get(f"run/{SECOND}") == "failed")
    with pytest.raises(KinetoscopeError, match="upgraded") as failed:
        service.locate("run", "b", None)
    assert "Restart" in failed.value.hint
    refused = made(service, "a")
    assert isinstance(refused, UnavailableError)
    assert (refused.message, refused.hint) == (failed.value.message, failed.value.hint)
    assert service.summary(service.locate("run", "a", None)).events == 3  # what was read stays
    service.close()
    if replace is changed:
        again = started(serve)
        wait_for(lambda: states(again) == {f"run/{one}": "ready" for one in (FIRST, SECOND)})
        assert made(again, "b") == 4


def test_code_that_cannot_be_looked_at_is_being_replaced() -> None:
    def gone() -> str:
        raise FileNotFoundError

    work = Work("r", "s", msgspec.json.Decoder(FakeFacts).decode, "v", gone)
    assert work.is_outdated
    assert not msgspec.structs.replace(work, version_now=lambda: "v").is_outdated
    assert msgspec.structs.replace(work, version_now=lambda: "w").is_outdated
    assert not msgspec.structs.replace(work, version_now=None).is_outdated
