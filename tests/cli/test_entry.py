"""The command itself: version, help, exit codes, one line per error."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from kinetoscope import __version__
from kinetoscope.base import errors
from kinetoscope.base.version import release
from kinetoscope.cli import check, entry, hang
from kinetoscope.cli.entry import COMMANDS
from tests.cli.runs import run
from tests.conftest import ROOT
from tests.web.trace_files import write_trace


def program(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "kinetoscope.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_version() -> None:
    done = program("--version")
    assert done.returncode == 0
    assert done.stdout.rstrip() == f"kinetoscope {release()}"
    assert done.stdout.startswith(f"kinetoscope {__version__}")


PROGRAM = "from kinetoscope.cli import main; main()"


REGISTERED = "import atexit; atexit.register(print, 'registered')"
THREAD = """
import threading
main = threading.main_thread()
threading.Thread(target=lambda: (main.join(), print('a thread'))).start()
"""


@pytest.mark.parametrize(
    ("before", "arguments", "code", "last"),
    [
        (REGISTERED, ("--version",), 0, "registered"),
        (REGISTERED, ("nothing",), 2, "registered"),
        (THREAD, ("--version",), 0, "a thread"),
    ],
    ids=["end", "failed", "thread"],
)
def test_nothing_is_lost_when_a_command_ends(
    before: str, arguments: tuple[str, ...], code: int, last: str
) -> None:
    """Objects are not taken apart one by one, but what waits for the end is done."""
    command = [sys.executable, "-c", f"{before}\n{PROGRAM}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == last


TOLD = "import atexit, gc; atexit.register(lambda: print(gc.get_threshold()[0] > 50_000))"


@pytest.mark.parametrize("command", ["show", "serve", "demo"])
def test_a_short_command_hardly_looks_for_garbage(command: str) -> None:
    called = [sys.executable, "-c", f"{TOLD}\n{PROGRAM}", command, "--no-such-option"]
    done = subprocess.run(called, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, f"{command == 'show'}\n")


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_a_command_without_an_output_ends_as_usual() -> None:
    command = 'exec "$0" -m kinetoscope.cli --version >&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_that_is_called_returns_to_its_caller() -> None:
    code = (
        "from kinetoscope.cli import main\n"
        "try: main(['--version'])\nexcept SystemExit as end: print('code', end.code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "code 0"


def test_help_lists_every_command_in_order() -> None:
    text = run("--help").stdout
    places = [text.index(f"  {name} ") for name in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    assert run(command, "--help").exit_code == 0


@pytest.mark.parametrize(
    "command", ["explain", "sql", "export", "path", "whatif", "window", "advise"]
)
def test_help_says_once_what_path_may_be(command: str) -> None:
    assert run(command, "--help").stdout.count("PATH is ") == 1


def test_help_does_not_wait_for_heavy_libraries() -> None:
    code = (
        "import sys; import kinetoscope.cli;"
        "print([n for n in ('numpy', 'pandas', 'pyarrow', 'torch') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [(), ("show",)])
def test_without_a_command_the_help_is_printed(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == run(*arguments, "--help").stdout


@pytest.mark.parametrize(
    "command", sorted({*COMMANDS} - {"serve", "open", "demo", "docs", "export", "mcp", "report"})
)
def test_every_command_has_one_vocabulary_of_formats(command: str) -> None:
    """The word of earlier versions is taken, and not shown."""
    arguments = (command, "overview") if command == "show" else (command,)
    shown = run(*arguments, "--help").stdout
    assert "[text|markdown|json|csv]" in shown
    assert "there is no 'table'" not in run(*arguments, "--format", "table").stderr
    assert "there is no 'xml'" in run(*arguments, "--format", "xml").stderr


def completed(words: str, last: str) -> list[str]:
    """What a shell is offered for the last word of a command line."""
    told = {
        "_KINETOSCOPE_COMPLETE": "bash_complete",
        "COMP_WORDS": f"kinetoscope {words}",
        "COMP_CWORD": str(len(words.split()) + 1 - bool(last)),
    }
    code = "from kinetoscope.cli import main; main(prog_name='kinetoscope')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **told}, check=False
    )
    return [line.split(",")[1] for line in done.stdout.splitlines()]


def test_a_shell_completes_commands_options_and_values() -> None:
    assert completed("s", "s") == ["show", "sql", "snapshot", "serve"]
    assert completed("show o", "o") == ["overview", "operators"]
    assert "--base-worker" in completed("diff --b", "--b")
    assert completed("hang --format m", "m") == ["markdown"]
    assert completed("show operators --group-by s", "s") == ["shape", "stack"]


def test_an_error_of_the_library_carries_its_remedy() -> None:
    assert str(errors.QueryError("no such step", hint="take 1")) == "no such step (take 1)"
    assert str(errors.QueryError("There is none.", hint="Take 1.")) == "There is none. Take 1."
    assert str(errors.TraceFormatError("x", "empty", hint="copy", file="f")) == "f: empty (copy)"
    assert str(errors.NotFoundError("there is none")) == "there is none"


@pytest.mark.parametrize("argument", ["nothing", "--nothing", "diff"])
def test_misuse_is_one_line_on_standard_error(argument: str) -> None:
    result = run(argument)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "Traceback" not in result.stderr


def test_the_documented_exit_codes_are_those_of_the_errors() -> None:
    documented = (ROOT / "docs" / "command-line.md").read_text()
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", documented, re.MULTILINE)}
    used = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.KinetoscopeError)
    }
    of_commands = {hang.HANGS, *check.CODES.values()}
    assert used | of_commands | {0, entry.INTERRUPTED} == table


def test_errors_are_one_line_of_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    entry.say("two\nlines\x1b[2J.", hint="a  hint.")
    assert capsys.readouterr().err == "kinetoscope: two lines\\x1b[2J (a hint)\n"


FULL = Path("/dev/full")
SHOWING = (sys.executable, "-m", "kinetoscope.cli")


@pytest.mark.parametrize("arguments", [("show", "health"), ("doctor",), ("show", "--help")])
def test_a_reader_that_has_seen_enough_is_no_error(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Like `| head`, but the pipe is closed before it is read."""
    path = str(write_trace(tmp_path / "x.json"))
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [*SHOWING, *arguments, *([] if "--help" in arguments else [path])]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not FULL.is_char_device(), reason="the system has no /dev/full")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    path = str(write_trace(tmp_path / "x.json"))
    with FULL.open("w") as full:
        command = [*SHOWING, "show", "health", path]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "kinetoscope: writing the result: No space left on device\n"


def test_a_terminal_that_knows_ascii_only_gets_something_readable(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "x.json", op="aten::größe")
    command = [sys.executable, "-m", "kinetoscope.cli", "show", "overview", str(trace)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_an_unreadable_file_is_one_line(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "x.json")
    trace.chmod(0)
    if os.access(trace, os.R_OK):
        pytest.skip("this user may read everything")
    result = run("show", "health", trace)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1


WITH_JSON = sorted({*COMMANDS} - {"serve", "open", "demo", "docs", "mcp", "report"})
MISTAKES = {
    "option": ["--no-such-option"],
    "format": ["--width", "wide"],
    "number": ["--start", "first"],
    "bytes": ["--max-bytes", "few"],
}


def called_wrongly(command: str, *rest: str) -> Result:
    """A command for programs, with paths that are not there and what it takes beside them."""
    before = {"show": ["overview"]}.get(command, [])
    after = {"window": ["--from", "0", "--to", "1"], "sql": ["SELECT 1"]}.get(command, [])
    after = ["no/other"] if command in ("diff", "check") else after
    after = ["--to", "no/folder"] if command == "export" else after
    form = "--report" if command == "export" else "--format"
    return run(command, *before, "no/file", *after, form, "json", *rest)


@pytest.mark.parametrize("command", WITH_JSON)
def test_a_mistake_in_any_command_is_json_for_a_program(command: str) -> None:
    known = run(command, *(["overview"] if command == "show" else []), "--help").stdout
    for name, options in MISTAKES.items():
        if name != "option" and options[0] not in known:
            continue
        result = called_wrongly(command, *options)
        error = json.loads(result.stdout)["error"]
        assert (result.exit_code, error["kind"]) == (2, "bad_query"), name
        assert options[0] in error["message"], name
        assert error["message"].rstrip(".") in result.stderr


@pytest.mark.parametrize("command", WITH_JSON)
def test_a_missing_file_is_json_for_a_program(command: str) -> None:
    result = called_wrongly(command)
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["kind"]) == (4, "not_found")
    assert "no/" in error["message"]


@pytest.mark.parametrize("form", [("--format=json",), ("--format", "json"), ()])
def test_a_missing_argument_is_json_for_a_program_alone(form: tuple[str, ...]) -> None:
    result = run("advise", *form)
    assert (result.exit_code, "PATH" in result.stderr) == (2, True)
    assert bool(result.stdout) is bool(form)
    if form:
        assert "PATH" in json.loads(result.stdout)["error"]["message"]


def test_a_failing_disk_is_json_for_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device", "cache")

    monkeypatch.setattr("kinetoscope.cli.advise.read_thresholds", fails)
    path = write_trace(tmp_path / "x.json")
    result = run("advise", path, "--thresholds", "x", "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"] == {
        "kind": "error", "message": "cache: No space left on device", "hint": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("command", "most"), [(("advise",), 200), (("advise",), 1024), (("explain",), 200)]
)
def test_a_size_that_cannot_be_kept_is_json_for_a_program(
    command: tuple[str, ...], most: int, tmp_path: Path
) -> None:
    result = run(
        *command, write_trace(tmp_path / "x.json"), "--format", "json", "--max-bytes", most
    )
    said = json.loads(result.stdout)
    assert ("error" in said, result.exit_code) in ((True, 2), (False, 0))
    assert len(result.stdout.encode()) <= most or said["error"]["kind"] == "bad_query"
