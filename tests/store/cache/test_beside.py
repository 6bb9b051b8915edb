"""What lies beside traces is read only where nobody else can have put it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from kinetoscope.store.cache import beside
from kinetoscope.store.cache.beside import BESIDE, folders_beside, why_untrusted

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owner and mode are of POSIX systems")

STRANGER = 4242


@pytest.fixture(autouse=True)
def _say_again() -> None:
    beside._say_once.cache_clear()
    beside._is_private.cache_clear()


@pytest.fixture(name="shared")
def _shared(tmp_path: Path) -> Path:
    """A folder as /tmp is, with a logdir of this user in it."""
    shared = tmp_path / "shared"
    (shared / "log/run").mkdir(parents=True)
    shared.chmod(0o1777)
    return shared


def give_away(path: Path, uid: int = STRANGER) -> None:
    if os.geteuid() != 0:
        pytest.skip("only the superuser can give files away")
    os.chown(path, uid, uid, follow_symlinks=False)


def found(logdir: Path) -> tuple[Path, ...]:
    return folders_beside(str(logdir / "run/trace.json"))


def test_ours_is_used_below_a_folder_like_tmp(shared: Path) -> None:
    (shared / "log" / BESIDE).mkdir()
    assert found(shared / "log") == (shared / "log" / BESIDE,)
    assert folders_beside("/nowhere/trace.json", (shared / "log" / BESIDE,)) == (
        shared / "log" / BESIDE,
    )


def test_a_strangers_folder_above_is_not_used(
    shared: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (shared / BESIDE).mkdir()
    give_away(shared / BESIDE)
    with caplog.at_level(logging.WARNING):
        assert found(shared / "log") == ()
        assert folders_beside("/nowhere/trace.json", (shared / BESIDE,)) == ()
        assert found(shared / "log") == ()
    assert [one.getMessage() for one in caplog.records] == [
        f"{shared / BESIDE} is not used: {shared / BESIDE} belongs to another user."
    ]


def test_a_link_of_a_stranger_leads_nowhere(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    give_away(tmp_path / "theirs")
    (shared / BESIDE).symlink_to(tmp_path / "theirs")
    assert found(shared / "log") == ()


@pytest.mark.parametrize(
    ("mode", "place", "is_used"),
    [
        (0o755, ".", True),
        (0o757, ".", False),
        (0o1777, ".", True),
        (0o1777, BESIDE, False),  # entries could be added to it
        (0o702, BESIDE, False),
    ],
)
def test_writable_by_others(shared: Path, mode: int, place: str, is_used: bool) -> None:
    logdir = shared / "log"
    (logdir / BESIDE).mkdir()
    (logdir / place).chmod(mode)
    assert bool(found(logdir)) is is_used


def test_a_group_that_others_are_in_counts_as_others(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shared / "log" / BESIDE
    folder.mkdir()
    folder.chmod(0o775)
    monkeypatch.setattr(beside, "_is_private", lambda _: True)
    assert found(shared / "log") == (folder,)
    monkeypatch.setattr(beside, "_is_private", lambda _: False)
    assert why_untrusted(folder) == f"{folder} can be written by others."
    assert found(shared / "log") == ()


def test_a_strangers_folder_on_the_way_may_be_exchanged(shared: Path) -> None:
    (shared / "log" / BESIDE).mkdir()
    give_away(shared / "log")
    assert why_untrusted(shared / "log" / BESIDE) == f"{shared / 'log'} belongs to another user."
