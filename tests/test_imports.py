"""What each way into the program imports: nobody waits for what he does not use.

Named are the modules that must *not* be there, because that is what a start costs; a time would say
the same less surely.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope.store.catalog import READER
from tests.conftest import ROOT

HEAVY = frozenset({"torch", "pandas", "pyarrow", "numpy", "matplotlib", "IPython"})
SERVER = frozenset({"tensorboard", "werkzeug", "asyncio", "http.server"})
OURS = frozenset(
    f"kinetoscope.{layer}" for layer in ("trace", "analysis", "views", "store", "web", "cli")
)
SUMMARIZE = "kinetoscope.analysis.summarize:summarize"


def imported(program: str, *arguments: str) -> set[str]:
    """The modules that a program has imported when it ends."""
    tell = "import sys\nsys.stderr.write('\\n' + ' '.join(sys.modules))"
    code = f"import atexit\natexit.register(lambda: exec({tell!r}))\n{program}"
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(ended.stderr.rpartition("\n")[2].split())


def test_a_program_that_imports_something_is_found_out() -> None:
    assert "numpy" in imported("import numpy")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_line_says_what_it_can_do_at_once(option: str) -> None:
    found = imported("from kinetoscope.cli import main; main()", option)
    assert "kinetoscope.cli.entry" in found
    assert found & (HEAVY | SERVER | {"rich", "msgspec", "isal"}) == set()
    assert found & (OURS - {"kinetoscope.cli"}) == set()


def test_tensorboard_starts_without_us() -> None:
    """Its whole start waits for the loaders of all plugins."""
    found = imported("import kinetoscope.web.loader")
    ours = {name for name in found if name.startswith("kinetoscope.")}
    assert ours == {"kinetoscope.web", "kinetoscope.web.loader"}
    assert found & (HEAVY | {"werkzeug", "msgspec", "isal"}) == set()


def test_tensorboard_starts_before_our_views(tmp_path: Path) -> None:
    """The plugin begins to look at files; the page's answers are made when a page is there."""
    found = imported(
        "import sys\nfrom tensorboard.plugins.base_plugin import TBContext\n"
        "from kinetoscope.web.loader import Loader\n"
        "plugin = Loader().load(TBContext(logdir=sys.argv[1]))\n"
        "plugin.get_plugin_apps(), plugin.frontend_metadata()\nplugin.close()",
        str(tmp_path),
    )
    assert "kinetoscope.store.catalog" in found
    assert found & {"torch", "pandas", "pyarrow"} == set()
    slow = ("kinetoscope.views", "kinetoscope.analysis.summarize", "kinetoscope.trace.read")
    assert found & {*slow, "kinetoscope.web.app"} == set()


REMOTE = frozenset(
    {
        "fsspec", "s3fs", "gcsfs", "adlfs", "aiohttp",
        "kinetoscope.handlers.remote_filesystem", "kinetoscope.session.remote",
        "kinetoscope.store.filesystems", "kinetoscope.store.ingest.fetching",
    }
)  # fmt: skip
"""What reaches other machines, or copies from there."""
RECORDING = frozenset({"kinetoscope.handlers.trace_handler", "kinetoscope.handlers.loops"})


@pytest.mark.parametrize("below", [True, False], ids=["folder", "file"])
def test_show_of_a_trace_of_this_machine_reaches_no_other(
    trace_file: Path, below: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    path = trace_file.parent if below else trace_file
    found = imported("from kinetoscope.cli import main; main()", "show", "overview", str(path))
    assert "kinetoscope.session.session" in found
    assert found & (REMOTE | RECORDING) == set()


def test_a_server_of_folders_of_this_machine_reaches_no_other(
    trace_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    found = imported(
        "import sys\nfrom kinetoscope.session.catalog import facts_catalog\n"
        "from kinetoscope.store.discovery.walk import resolve\n"
        "with facts_catalog(resolve(sys.argv[1], None)) as catalog:\n"
        "    assert catalog.wait_first_look(60)",
        str(trace_file.parent),
    )
    assert "kinetoscope.store.ingest.pool" in found
    assert found & (REMOTE | RECORDING) == set()
    slow = {"pyarrow", "secrets", "difflib", "concurrent.futures"}
    assert found & (slow | {"kinetoscope.trace.perfetto.source", "kinetoscope.trace.read"}) == set()


def test_a_server_says_that_a_trace_is_ready_without_numbers(
    trace_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Reading begins while nothing is asked of columns yet."""
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    found = imported(
        "import sys, time\nfrom kinetoscope.session.catalog import facts_catalog\n"
        "from kinetoscope.store.discovery.walk import resolve\n"
        "with facts_catalog(resolve(sys.argv[1], None)) as catalog:\n"
        "    catalog.rescan()\n"
        "    while catalog.snapshot().runs[0].workers[0].spans[0].state != 'ready':\n"
        "        time.sleep(0.05)",
        str(trace_file.parent),
    )
    assert "kinetoscope.store.ingest.child" in found
    assert found & {"numpy", "tempfile", "kinetoscope.trace.model"} == set()


def test_an_address_of_another_machine_is_found_out() -> None:
    """The names above are those of modules that there are."""
    found = imported(
        "import kinetoscope.session.remote, kinetoscope.store.ingest.fetching\n"
        "from kinetoscope.handlers import Recorder, tensorboard_trace_handler"
    )
    ours = {name for name in REMOTE | RECORDING if name.startswith("kinetoscope.")}
    assert ours - found == set()


def test_a_training_job_gets_the_handlers_alone() -> None:
    found = imported(
        "from kinetoscope.handlers import *\n"
        "assert Recorder and tensorboard_trace_handler and Writer"
    )
    assert found & (HEAVY | SERVER | OURS) == set()


READ_ALL = f"""
import sys
from pathlib import Path
from kinetoscope.store.ingest import worker
trace = worker.load_callable({READER!r})(sys.argv[1], lambda _: None)
worker.load_callable({SUMMARIZE!r})(trace)
"""


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 9},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 9, "dur": 3},
    ]
    file = tmp_path / "a.pt.trace.json.gz"
    file.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return file


def test_the_reading_process_computes_with_numpy_alone(trace_file: Path) -> None:
    """The summary is there before Arrow is needed, which writes the columns."""
    found = imported(READ_ALL, str(trace_file))
    assert {"numpy", "kinetoscope.analysis.summarize"} <= found
    assert found & ((HEAVY - {"numpy"}) | SERVER | {"click", "rich"}) == set()
    assert found & {"kinetoscope.views", "kinetoscope.web", "kinetoscope.cli"} == set()
    assert found & NOT_FOR_SMALL == set()


@pytest.mark.parametrize("small", [True, False])
def test_columns_are_written_and_read_without_pandas(
    trace_file: Path, tmp_path: Path, small: bool
) -> None:
    """Arrow imports it to look at arrays, unless it has their memory. Small ones need no Arrow."""
    code = f"""
from kinetoscope.base.columnar import tables
tables.SMALL_BYTES *= {small}
from kinetoscope.store.cache.disk import read_trace, write_trace
folder = Path(sys.argv[2])
write_trace(trace, folder)
again = read_trace(folder, "p", mapped=True)
for table in (again.host, again.device):
    [getattr(table, name) for name in table.__struct_fields__]
    list(table.args.items())
"""
    (tmp_path / "columns").mkdir()
    found = imported(READ_ALL + code, str(trace_file), str(tmp_path / "columns"))
    assert ("pyarrow" in found) == (not small)
    assert "pandas" not in found


READERS = frozenset(
    {"kinetoscope.trace.read", "kinetoscope.trace.io.source", "kinetoscope.analysis.summarize"}
)
MAKERS = frozenset(
    {
        "kinetoscope.analysis.idle.artifact", "kinetoscope.analysis.idle.causes",
        "kinetoscope.analysis.modules.sources", "kinetoscope.analysis.operators.groups",
        "kinetoscope.session.folder", "kinetoscope.store.catalog",
        "kinetoscope.store.catalog_state", "kinetoscope.store.discovery.poller",
        "kinetoscope.store.ingest.pool", "kinetoscope.trace.event_text",
    }
)  # fmt: skip
"""What makes answers, or looks for files: an answer that was kept is there without.

Rules answer anew each time, and what they look for in a trace stands beside them.
"""
OF_FEW_FILES = ("trace.pickles.snapshot", "trace.io.memory_timeline", "analysis.memory.growth")


def test_an_answer_that_was_kept_needs_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what makes tables of a file nor what summarizes them."""
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    trace = tmp_path / "one.pt.trace.json"
    trace.write_text('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 1, "dur": 1}]}')
    program = "from kinetoscope.cli import main; main()"
    first = imported(program, "show", "overview", str(trace))
    kept = imported(program, "show", "overview", str(trace))
    assert first >= READERS
    assert (
        kept & (READERS | MAKERS | SERVER | {"pyarrow", "rich.console", "rich.progress"}) == set()
    )
    assert first & {f"kinetoscope.{name}" for name in OF_FEW_FILES} == set()
    assert len([name for name in kept if name.startswith("kinetoscope.")]) < 125


NOT_FOR_SMALL = frozenset(
    {
        "pyarrow", "pandas", "secrets", "tempfile", "platformdirs", "multiprocessing",
        "kinetoscope.trace.perfetto.source",
    }
)  # fmt: skip
"""What a small trace needs neither the first time nor later, though a large or a rare one may."""
NOT_WHEN_KEPT = frozenset({"concurrent.futures"})


@pytest.mark.parametrize("view", ["overview", "operators", "kernels", "timeline", "health"])
def test_a_small_trace_is_shown_and_kept_with_little(
    trace_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KINETOSCOPE_CACHE_DIR", raising=False)
    monkeypatch.delenv("KINETOSCOPE_LOG_LEVEL", raising=False)
    program = "import kinetoscope.cli.entry as entry\nentry.main()"
    for unneeded in (NOT_FOR_SMALL, NOT_FOR_SMALL | NOT_WHEN_KEPT):
        found = imported(program, "show", view, str(trace_file))
        assert {f"kinetoscope.views.{view}", "kinetoscope.session.session"} <= found
        assert found & unneeded == set()
    assert list((tmp_path / "kinetoscope" / "entries").iterdir())


def test_the_modules_named_above_are_there() -> None:
    names = {*READERS, *MAKERS, *(f"kinetoscope.{name}" for name in OF_FEW_FILES)}
    found = imported(
        f"import importlib\nfor name in {sorted(names)!r}: importlib.import_module(name)"
    )
    assert names - found == set()


MADE = """
import importlib, pkgutil, re, sys
import kinetoscope

found, compile = [], re.compile

def counted(text, flags=0):
    above = sys._getframe(1).f_globals["__name__"]
    if above.startswith("kinetoscope.") and ".handlers" not in above:
        found.append(f"compiled: {above} {text!r}")
    return compile(text, flags)

re.compile = counted
for info in pkgutil.walk_packages(kinetoscope.__path__, "kinetoscope."):
    if ".handlers" not in info.name and not info.name.endswith("__main__"):
        importlib.import_module(info.name)
        for one in vars(sys.modules[info.name]).values():
            if hasattr(one, "__dataclass_params__") and one.__module__ == info.name:
                found.append(f"dataclass: {info.name} {one.__name__}")
print(len(sys.modules), *found, sep="\\n")
"""


def test_an_import_makes_nothing_that_costs_much() -> None:
    """No regular expression, which ``base.regex`` has wait for its first use, and no dataclass.

    Making a frozen dataclass costs as much as making forty Structs of msgspec, and the package has
    hundreds of such types. Handlers import nothing else of ours.
    """
    done = subprocess.run(
        [sys.executable, "-c", MADE],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    modules, *found = done.stdout.splitlines()
    assert int(modules) > 400
    # Two such objects are equal whatever lists them: a Struct cannot leave out a field.
    assert found == ["dataclass: kinetoscope.store.filesystems.listing RemoteObject"]
