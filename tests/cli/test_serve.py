"""`kinetoscope serve` as a process: says where it is, answers, and ends with its children."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import psutil
import pytest

from tests.cli.runs import run, write_logdir
from tests.waiting import wait_for
from tests.web.trace_files import write_trace


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the address it printed."""
    command = [sys.executable, "-m", "kinetoscope.cli", "serve", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("kinetoscope is at http://"), line
        yield process, line.split()[3]
    finally:
        process.kill()
        process.communicate()


def get(address: str) -> dict[str, object]:
    """The JSON at the address."""
    with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310  # our own server
        body: dict[str, object] = json.load(answer)
        return body


def test_it_serves_several_logdirs_below_a_prefix(tmp_path: Path) -> None:
    one, two = write_logdir(tmp_path / "one"), write_logdir(tmp_path / "two")
    with serving(one, two, "--port", 0, "--path-prefix", "/bob") as (_, address):
        assert address.endswith("/bob/")
        assert get(f"{address}api/info")["host"] == "standalone"

        def found() -> bool:
            return len(get(f"{address}api/catalog")["runs"]) == 4  # type: ignore[arg-type]

        wait_for(found)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_its_children(tmp_path: Path, number: signal.Signals) -> None:
    with serving(write_logdir(tmp_path / "log"), "--port", 0) as (process, _):
        mine = psutil.Process(process.pid)
        wait_for(lambda: bool(mine.children()))
        children = mine.children(recursive=True)
        process.send_signal(number)
        assert process.wait(60) == 0
        wait_for(lambda: not any(child.is_running() for child in children))
        assert "Traceback" not in process.stderr.read()  # type: ignore[union-attr]


def test_it_may_be_ended_as_soon_as_it_has_said_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kinetoscope.cli.serve.threading.Thread.start", interrupted)
    for name in ("create_app", "listen", "end_gently"):
        monkeypatch.setattr(f"kinetoscope.cli.serve.{name}", lambda *_: None)
    monkeypatch.setattr("kinetoscope.cli.serve.facts_catalog", lambda _: nullcontext())
    monkeypatch.setattr("kinetoscope.cli.serve.url", lambda *_: "http://127.0.0.1:6007/")
    result = run("serve", tmp_path, "--port", 0)
    assert (result.exit_code, "kinetoscope is at" in result.stdout) == (0, True)


def test_a_logdir_that_is_not_there_is_said_and_waited_for(tmp_path: Path) -> None:
    with serving(tmp_path / "later", "--port", 0) as (process, address):
        assert "there is no such folder" in process.stderr.readline()  # type: ignore[union-attr]
        assert get(f"{address}api/catalog")["runs"] == []


def test_a_public_address_is_warned_about(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", 0, "--host", "0.0.0.0") as (process, _):  # noqa: S104
        assert "can read these traces" in process.stderr.readline()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "Missing argument"),
        (("log", "--port", "70000"), 2, "70000"),
        (("log", "--host", "203.0.113.1", "--port", "0"), 1, "cannot listen"),
    ],
)
def test_what_cannot_be_served(arguments: tuple[str, ...], code: int, words: str) -> None:
    result = run("serve", *arguments)
    assert result.exit_code == code
    assert words in result.stderr


def test_of_a_file_its_folder_is_served_and_the_page_opens_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "a & b"
    write_trace(folder / "one.pt.trace.json")
    file = write_trace(folder / "two #2.pt.trace.json")
    with serving(file, "--port", 0) as (_, address):
        page, _, fragment = address.partition("#")
        place = {key: value for key, (value,) in parse_qs(fragment).items()}
        assert place["worker"] == "two #2"
        query = urlencode(place)

        def is_found() -> bool:  # until then its address is answered with 404
            return bool(get(f"{page}api/catalog")["runs"])

        def is_read() -> bool:
            return "steps" in get(f"{page}api/trace?{query}")

        wait_for(is_found)
        wait_for(is_read)


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("")
    result = run("serve", tmp_path / "x.json")
    assert result.exit_code == 2
    assert "is no trace" in result.stderr
