"""The plugin as TensorBoard meets it, without a TensorBoard."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tensorboard.backend.application import TensorBoardWSGI
from tensorboard.plugins.base_plugin import TBContext
from werkzeug.test import Client

from kinetoscope.web import tab
from kinetoscope.web.loader import Loader
from kinetoscope.web.plugin import ProfilerPlugin, logdirs_of
from kinetoscope.web.tab import plugin_name
from tests.web.drawn import DrawnCatalog
from tests.web.trace_files import write_trace

Make = Callable[..., ProfilerPlugin]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Make]:
    """Makes plugins; ends what they started."""
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    made: list[ProfilerPlugin] = []

    def new(**context: object) -> ProfilerPlugin:
        made.append(ProfilerPlugin(TBContext(**context)))
        return made[-1]

    yield new
    for one in made:
        one.close()


# --- name ---------------------------------------------------------------------------------------


def test_the_name_is_the_one_everybody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "OLD_DISTRIBUTION", "a-distribution-that-is-not-installed")
    assert plugin_name() == "pytorch_profiler"


def test_beside_the_old_plugin_it_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "OLD_DISTRIBUTION", "werkzeug")  # one that is installed
    assert plugin_name() == "kinetoscope"


# --- what to look at ----------------------------------------------------------------------------


def flags(spec: str = "") -> Namespace:
    """The flags of TensorBoard that matter."""
    return Namespace(logdir_spec=spec)


def test_the_logdir_is_made_absolute_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = logdirs_of(TBContext(logdir="./log", flags=flags()))
    assert (found.shown, found.path) == ("./log", str(tmp_path / "log"))


def test_several_logdirs_come_as_a_specification() -> None:
    found = logdirs_of(TBContext(logdir="", flags=flags("a:/x/one,/x/two")))
    assert [(one.name, one.path) for one in found] == [("a", "/x/one"), ("two", "/x/two")]


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"logdir": ""},
        {"logdir": None, "flags": None},
        {"logdir": "", "flags": Namespace()},
        {"logdir": "", "flags": flags("")},
    ],
)
def test_without_a_logdir_it_looks_nowhere_and_stays_inactive(
    context: dict[str, object], make: Make
) -> None:
    assert logdirs_of(TBContext(**context)) == ()
    assert make(**context).is_active() is False


# --- when it shows ------------------------------------------------------------------------------


def test_a_trace_makes_it_active(make: Make, tmp_path: Path) -> None:
    write_trace(tmp_path / "log" / "run" / "host_1.pt.trace.json")
    one = make(logdir=str(tmp_path / "log"))
    one.catalog.wait_first_look(60)
    assert one.is_active() is True


def test_an_empty_logdir_leaves_it_inactive(make: Make, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    one = make(logdir=str(tmp_path / "log"))
    one.catalog.wait_first_look(60)
    assert one.is_active() is False


@pytest.mark.parametrize(
    ("catalog", "active"),
    [
        (DrawnCatalog(), True),
        (DrawnCatalog(empty=True), False),
        (DrawnCatalog(empty=True, scanning=True), True),  # not known yet: better there than not
    ],
)
def test_it_is_active_with_runs_and_while_looking(
    catalog: DrawnCatalog, active: bool, make: Make, tmp_path: Path
) -> None:
    one = make(logdir=str(tmp_path))
    one.catalog = catalog
    assert one.is_active() is active
    assert one.is_active() is active
    # TensorBoard's page waits for the answer: only the first call may take a moment.
    assert catalog.calls == ["wait 0.4"]


# --- what TensorBoard reads of it ---------------------------------------------------------------


def test_metadata(make: Make, tmp_path: Path) -> None:
    one = make(logdir=str(tmp_path))
    metadata = one.frontend_metadata()
    assert metadata.es_module_path == "/index.js"
    assert metadata.tab_name == "PyTorch Profiler"
    assert metadata.disable_reload is False
    one.plugin_name = tab.NAME_BESIDE_THE_OLD  # whose tab is called the same
    assert one.frontend_metadata().tab_name == "PyTorch Profiler (kinetoscope)"
    assert tuple(one.data_plugin_names()) == ()


@pytest.mark.parametrize("prefix", ["", "/user/bob"])
def test_its_routes_are_found_below_any_prefix(make: Make, tmp_path: Path, prefix: str) -> None:
    board = Client(TensorBoardWSGI([make(logdir=str(tmp_path))], path_prefix=prefix))
    base = f"{prefix}/data/plugin/{plugin_name()}"
    for root in (base, f"{prefix}/experiment/x1{base.removeprefix(prefix)}"):
        assert board.get(f"{root}/api/info").get_json()["host"] == "tensorboard"
        assert board.get(f"{root}/index.js").mimetype == "text/javascript"
        assert board.get(f"{root}/nothing").get_json()["error"]["kind"] == "not_found"
        assert board.post(f"{root}/api/info").status_code == 405


def test_what_tensorboard_imports_at_start_is_light() -> None:
    heavy = "numpy", "pandas", "pyarrow", "torch", "isal", "msgspec", "kinetoscope.web.plugin"
    program = (
        "import sys; before = set(sys.modules); import tensorboard.plugins.base_plugin;"
        "import kinetoscope.web.loader;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_loader_is_trivial_and_adds_no_flags() -> None:
    from argparse import ArgumentParser

    parser = ArgumentParser()
    Loader().define_flags(parser)
    assert vars(parser.parse_args([])) == {}
