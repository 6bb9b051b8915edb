"""Whatever goes wrong when a trace is saved: the training finishes, and no rubbish stays."""

from __future__ import annotations

import errno
import itertools
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch.profiler import schedule

from kinetoscope.handlers import ExportError, LocalWriter, Publication, tensorboard_trace_handler
from tests.handlers.recording import SMALL_TRACE, StandIn, files_in, read, save, train

# Torch warns at the second cycle, and crashes when a warning becomes an exception there.
pytestmark = pytest.mark.filterwarnings("ignore:.*Profiler clears events")

TWO_CYCLES = schedule(wait=0, warmup=1, active=1, repeat=2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with 64 KiB of room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command to make a small disk with")
    if done.returncode != 0:
        pytest.skip(f"cannot make a small disk here: {done.stderr.strip()}")
    yield disk
    # Lazily, because torch keeps a file open that it could not write.
    subprocess.run(["umount", "-l", str(disk)], check=True)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "kinetoscope.handlers"]


def test_a_directory_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    handler = tensorboard_trace_handler(tmp_path / "file" / "log")

    assert train(steps=4, schedule=TWO_CYCLES, on_trace_ready=handler) == 4

    (message,) = messages(caplog)  # two traces were lost, one line says why
    assert "NotADirectoryError" in message
    assert "The training goes on" in message


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc")
def test_a_directory_that_takes_no_files(caplog: pytest.LogCaptureFixture) -> None:
    # Not even root can create a file in /proc.
    assert train(steps=1, on_trace_ready=tensorboard_trace_handler("/proc/self")) == 1

    assert len(messages(caplog)) == 1


def test_a_full_disk_during_the_export(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    handler = tensorboard_trace_handler(small_disk)
    for _ in range(3):  # 300 steps make more than 64 KiB
        assert train(steps=300, on_trace_ready=handler) == 300

    first, second = messages(caplog)
    assert "is empty" in first
    # The second time nothing is exported any more: that would only cost time and a descriptor.
    assert "No space left on device" in second
    assert files_in(small_disk) == []
    room = os.statvfs(small_disk)
    assert room.f_bfree == room.f_blocks, "the failed export still holds the disk"


def test_a_full_disk_during_the_compression(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noise = os.urandom(20_000).hex().encode()  # 40 kB that pack to 20 kB and more
    (small_disk / "other").write_bytes(b"x" * 8_000)
    prof = StandIn(b'{"traceEvents": [{"name": "' + noise + b'"}]}')

    assert save(tensorboard_trace_handler(small_disk), prof) is None

    (message,) = messages(caplog)
    assert "No space left on device" in message
    assert files_in(small_disk) == ["other"]


def test_what_was_saved_before_the_disk_filled_stays(small_disk: Path) -> None:
    handler = tensorboard_trace_handler(small_disk)
    saved = save(handler)
    train(steps=300, on_trace_ready=handler)

    assert saved is not None
    assert files_in(small_disk) == [saved.name]
    assert len(read(saved)["traceEvents"]) == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"", "is empty (0 bytes", id="empty"),
        pytest.param(SMALL_TRACE[:40], "is cut off (40 bytes", id="cut off"),
        pytest.param(b" \n", "is cut off (2 bytes", id="blank"),
    ],
)
def test_an_export_that_is_not_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes, problem: str
) -> None:
    assert save(tensorboard_trace_handler(tmp_path), StandIn(content)) is None

    assert problem in messages(caplog)[0]
    assert files_in(tmp_path) == []


def test_an_export_that_took_its_file_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prof = StandIn(instead=Path.unlink)

    assert save(tensorboard_trace_handler(tmp_path), prof) is None

    assert "FileNotFoundError" in messages(caplog)[0]


def test_a_profiler_that_cannot_export(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        export_chrome_trace = None

    def fail(_: object) -> None:
        raise RuntimeError("Trace is already saved.")

    handler = tensorboard_trace_handler(tmp_path)
    assert handler(Broken()) is None
    assert handler(StandIn(instead=fail)) is None

    assert ["TypeError" in m or "already saved" in m for m in messages(caplog)] == [True, True]
    # Neither is expected: the log shows where they came from.
    assert all(record.exc_info for record in caplog.records)
    assert files_in(tmp_path) == []


_NOTHING_RECORDED = """
import sys
from torch.profiler import ProfilerActivity, profile
from kinetoscope.handlers import tensorboard_trace_handler

def recorder(run):
    return profile(
        activities=[ProfilerActivity.CPU],
        on_trace_ready=tensorboard_trace_handler(f"{sys.argv[1]}/{run}", background=False),
    )

twice = recorder("twice")
twice.start()
twice.stop()
twice.stop()
with recorder("outer"):
    with recorder("inner"):
        pass
print("the training goes on")
"""


def test_a_profiler_without_a_recording_is_not_exported(tmp_path: Path) -> None:
    """A second stop, and a profiler inside another: torch 2.13 crashes if asked to export these."""
    command = [sys.executable, "-c", _NOTHING_RECORDED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the training goes on" in done.stdout
    assert "the profiler holds no recording: it was stopped twice" in done.stderr
    saved = {path.parent.name for path in tmp_path.rglob("*.gz")}
    assert saved == {"twice", "inner"}


def test_each_kind_of_failure_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Reluctant(LocalWriter):
        """Fails with another error every second time."""

        errors = itertools.cycle([errno.EIO, errno.ENOSPC])

        def publish(self, publication: Publication) -> Path:
            code = next(self.errors)
            raise OSError(code, os.strerror(code), publication.staged)

    handler = tensorboard_trace_handler(tmp_path, writer=Reluctant(tmp_path))
    for _ in range(6):
        assert save(handler) is None

    first, second = messages(caplog)
    assert os.strerror(errno.EIO) in first
    assert os.strerror(errno.ENOSPC) in second


def test_errors_are_raised_on_demand(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotADirectoryError):
        save(tensorboard_trace_handler(tmp_path / "file" / "log", on_error="raise"), StandIn())
    with pytest.raises(ExportError, match="is empty"):
        save(tensorboard_trace_handler(tmp_path / "log", on_error="raise"), StandIn(b""))
    with pytest.raises(ValueError, match="save no profile: zz://bucket/logs"):
        tensorboard_trace_handler("zz://bucket/logs", on_error="raise")

    # Logged as well: in the middle of a schedule, torch 2.13 crashes on what is raised.
    assert ["Raised, as asked for." in message for message in messages(caplog)] == [True, True]


def test_an_interrupt_goes_through_and_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(path: Path) -> None:
        path.write_bytes(SMALL_TRACE[:20])
        path.with_name(path.name + ".tmp").write_bytes(SMALL_TRACE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(tensorboard_trace_handler(tmp_path), StandIn(instead=interrupt))

    assert files_in(tmp_path) == []


@pytest.mark.parametrize("directory", ["s3://bucket/logs", "gs://b", Path("s3://bucket/logs")])
def test_a_remote_directory_without_its_library_is_refused_with_a_word(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    directory: str | Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kinetoscope.handlers.remote_address._is_installed", lambda _: False)
    handler = tensorboard_trace_handler(directory)

    assert train(steps=4, schedule=TWO_CYCLES, on_trace_ready=handler) == 4

    (message,) = messages(caplog)  # once, and before the training begins
    assert message.startswith("kinetoscope will save no profile")
    assert "pip install 'kinetoscope[" in message
    assert caplog.records[0].levelno == logging.WARNING
    assert files_in(tmp_path) == []
