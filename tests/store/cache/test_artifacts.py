"""What is made of columns once, kept beside them, and shared by all who ask."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from kinetoscope.base import columns
from kinetoscope.base.errors import KinetoscopeError, NotFoundError, UnavailableError
from kinetoscope.store.cache import artifacts, memory
from kinetoscope.store.cache.disk import COLUMNS, Cache, entry
from kinetoscope.store.cache.memory import ArtifactCache
from kinetoscope.store.catalog import BeingRead, CatalogService
from kinetoscope.store.contract import ReadProgress
from kinetoscope.store.ingest import resources
from tests.store.conftest import CacheAt, Serve
from tests.store.fakes import FakeFacts, states, write_trace
from tests.store.recipes import Rows
from tests.waiting import wait_for

RULE = "w0.1700000000000.pt.trace.json"
ROWS = Rows()


def served(logdir: Path, serve: Serve, **options: object) -> CatalogService[FakeFacts]:
    """A catalog of one trace of three rows, read."""
    write_trace(logdir / "run" / RULE, events=3)
    service = serve(**options)
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    return service


def ask(service: CatalogService[FakeFacts], variant: str = "", spec: Rows = ROWS) -> int:
    """What is opened, as soon as it is there."""
    told: list[ReadProgress] = []

    def once() -> list[int]:
        try:
            return [service.artifact(service.locate(None, None, None), spec, variant)]
        except BeingRead as error:
            told.append(error.progress)
            return []

    value = wait_for(once)[0]
    assert all(one.phase for one in told)
    return value


def folder_of(service: CatalogService[FakeFacts], cache: Cache, variant: str = "rows") -> Path:
    digest = service.locate(None, None, None).digest
    return artifacts.artifact_folder(cache.roots[0], digest, "rows", variant)


def test_made_when_it_is_asked_for_and_kept_beside_the_columns(
    logdir: Path, serve: Serve, cache: Cache
) -> None:
    service = served(logdir, serve)
    assert not folder_of(service, cache).exists()
    with pytest.raises(BeingRead):
        service.artifact(service.locate(None, None, None), ROWS)
    assert ask(service) == 3
    assert sorted(os.listdir(folder_of(service, cache))) == ["rows.txt", "seal.json"]
    wait_for(lambda: not list((cache.roots[0] / "tmp").iterdir()))
    # Nobody looks at the folder again: it stays open.
    shutil.rmtree(folder_of(service, cache))
    assert ask(service) == 3


def test_what_has_many_pages_in_memory_is_opened_anew(
    logdir: Path, serve: Serve, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served(logdir, serve)
    assert ask(service) == 3
    folder = folder_of(service, cache)
    shutil.rmtree(folder)
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(memory, "mapped_bytes", lambda: memory.MAPPED_BYTES - 1)
    monkeypatch.setattr(columns, "held_bytes", lambda: 1)
    assert ask(service) == 3
    assert not folder.exists()  # Few pages: it stays open.
    monkeypatch.setattr(columns, "held_bytes", lambda: 2)  # of widened columns
    assert ask(service) == 3
    assert folder.exists()


def test_what_is_not_mapped_stays_open(
    logdir: Path, serve: Serve, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, whole = served(logdir, serve), replace(ROWS, is_mapped=False)
    assert ask(service, spec=whole) == 3
    folder = folder_of(service, cache)
    shutil.rmtree(folder)
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(memory, "mapped_bytes", lambda: memory.MAPPED_BYTES + 1)
    assert ask(service, spec=whole) == 3
    assert not folder.exists()  # it was not made again


def test_what_lies_beside_the_traces_is_opened_anew_too(
    logdir: Path, serve: Serve, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served(logdir, serve)
    assert ask(service) == 3
    digest = service.locate(None, None, None).digest
    beside = Cache((), 0, beside=(cache.roots[0],))
    opened: list[Path] = []

    def open_(folder: Path) -> int:
        opened.append(folder)
        return ROWS.open(folder)

    spec = replace(ROWS, open=open_)
    opened_there = ArtifactCache(beside)
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0.0)
    for size, times in ((memory.MAPPED_BYTES, 1), (memory.MAPPED_BYTES + 1, 2)):
        monkeypatch.setattr(memory, "mapped_bytes", lambda size=size: size)
        monkeypatch.setattr(columns, "held_bytes", lambda: 0)
        for _ in range(times):
            assert opened_there.get(digest, str(logdir / "run" / RULE), spec, "rows") == 3
    assert len(opened) == 3


def test_progress_is_told_while_it_is_made(logdir: Path, serve: Serve) -> None:
    service = served(logdir, serve)
    ask(service)
    place = service.locate(None, None, None)

    def preparing() -> list[ReadProgress]:
        with pytest.raises(BeingRead) as told:
            service.artifact(place, ROWS, "slow")
        progress = told.value.progress
        return [progress] if progress.bytes_done else []

    (progress,) = wait_for(preparing)
    assert progress.phase == "preparing"
    assert 2 * progress.bytes_done in (progress.bytes_total, progress.bytes_total - 1)
    assert ask(service, "slow") == 3


def test_a_variant_finds_the_first_one_beside_it(logdir: Path, serve: Serve, cache: Cache) -> None:
    service = served(logdir, serve)
    assert ask(service, "twice") == 6
    assert folder_of(service, cache, "rows").is_dir()
    with pytest.raises(NotFoundError, match="no rows thrice"):
        service.artifact(service.locate(None, None, None), ROWS, "thrice")


def test_an_artifact_without_variants(logdir: Path, serve: Serve, cache: Cache) -> None:
    service = served(logdir, serve)
    assert ask(service, spec=replace(ROWS, variants=("",))) == 3
    assert (folder_of(service, cache).parent / "rows").is_dir()


def test_the_next_server_makes_nothing(logdir: Path, serve: Serve, cache: Cache) -> None:
    first = served(logdir, serve)
    ask(first)
    first.close()
    second = served(logdir, serve)
    wait_for(lambda: not second._pool.is_busy)
    assert second.artifact(second.locate(None, None, None), ROWS) == 3


def test_other_code_makes_it_anew(
    logdir: Path, serve: Serve, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served(logdir, serve)
    ask(service)
    folder = folder_of(service, cache)
    assert artifacts.is_whole(folder, artifacts.version_of(ROWS.make))
    assert not artifacts.is_whole(folder, "of another version")


# --- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["rows.txt", "seal.json", ""])
def test_a_damaged_one_is_made_again(logdir: Path, serve: Serve, cache: Cache, what: str) -> None:
    first = served(logdir, serve)
    ask(first)
    folder = folder_of(first, cache)
    first.close()
    if what:
        (folder / what).write_text("9999")
    else:
        shutil.rmtree(folder)
    assert ask(served(logdir, serve)) == 3


def test_lost_columns_are_read_again_first(logdir: Path, serve: Serve, cache: Cache) -> None:
    service = served(logdir, serve)
    digest = service.locate(None, None, None).digest
    wait_for(lambda: cache.has_columns(digest) and not service._pool.is_busy)
    shutil.rmtree(entry(cache.roots[0], digest) / COLUMNS)
    assert ask(service) == 3
    wait_for(lambda: "was read again" in service.snapshot().files[0].reason)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize(
    ("variant", "words", "kind"),
    [
        ("kill", "SIGKILL", "killed"),
        ("bug", "ZeroDivisionError: a bug", "internal"),
        ("unavailable", "No host events.", "not_available"),
    ],
)
def test_why_it_cannot_be_made_is_told_until_somebody_retries(
    logdir: Path, serve: Serve, variant: str, words: str, kind: str
) -> None:
    service = served(logdir, serve)
    place = service.locate(None, None, None)

    def errors() -> list[KinetoscopeError]:
        with pytest.raises(KinetoscopeError) as told:
            service.artifact(place, ROWS, variant)
        return [] if isinstance(told.value, BeingRead) else [told.value]

    (first,) = wait_for(errors)
    assert words in first.message
    assert first.kind == kind
    (again,) = errors()  # it is not tried again by itself
    assert again.message == first.message
    assert isinstance(again, UnavailableError) == (variant == "unavailable")
    service.retry(str(logdir), f"run/{RULE}")
    assert errors() == []
    assert wait_for(errors)[0].message == first.message
    assert ask(service) == 3, "the trace itself is as well as before"


def test_what_never_can_be_opened_is_given_up(logdir: Path, serve: Serve) -> None:
    def damaged(folder: Path) -> int:
        raise ValueError("damaged")

    service = served(logdir, serve)
    with pytest.raises(UnavailableError, match="could not be read back") as refused:
        ask(service, spec=replace(ROWS, open=damaged))
    # Newer processes keep what they make where an older server does not look.
    assert refused.value.hint.startswith("Restart the server if kinetoscope was upgraded")


# --- where there is no room -----------------------------------------------------------------------


def test_without_a_cache_folder_it_is_kept_for_the_session(
    logdir: Path, serve: Serve, tmp_path: Path, cache_at: CacheAt
) -> None:
    (tmp_path / "c").write_text("in the way")
    assert ask(served(logdir, serve, cache=cache_at(tmp_path / "c")), "twice") == 6


def test_without_any_disk_nothing_is_read_in_the_server(
    logdir: Path, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "c").write_text("in the way")
    service = served(logdir, serve, cache=Cache((tmp_path / "c" / "d",), 1 << 30))
    wait_for(lambda: not service._pool.is_busy)
    with pytest.raises(UnavailableError, match="could not be kept"):
        ask(service, "twice")


def test_a_full_disk_is_a_reason(
    logdir: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served(logdir, serve)
    with pytest.raises(UnavailableError, match="No space left on device"):
        ask(service, "no room")
    monkeypatch.setattr("kinetoscope.store.cache.memory.IN_PROCESS_BYTES", 0)
    with pytest.raises(UnavailableError, match=r"could not be kept: .*No space left"):
        ask(service, "no room")


def test_from_a_network_folder_a_copy_is_mapped(
    logdir: Path, serve: Serve, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served(logdir, serve)
    ask(service, "twice")
    service.close()
    far = str(cache.roots[0])
    monkeypatch.setattr(resources, "is_shared_filesystem", lambda path: path == far)
    monkeypatch.setattr("kinetoscope.store.cache.memory._is_shared", lambda root: str(root) == far)
    opened: list[Path] = []

    def open_(folder: Path) -> int:
        opened.append(folder)
        return ROWS.open(folder)

    assert ask(served(logdir, serve), "twice", replace(ROWS, open=open_)) == 6
    assert [cache.roots[-1] in folder.parents for folder in opened] == [True]


def test_an_entry_goes_as_a_whole(logdir: Path, serve: Serve, cache: Cache) -> None:
    service = served(logdir, serve)
    ask(service)
    folder = folder_of(service, cache)
    service.close()
    assert Cache(cache.roots, 0).trim(set()) == 1
    assert not folder.exists()
