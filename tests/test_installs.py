"""What each install can do: recording needs nothing, showing an extra, TensorBoard's tab another.

The wheel is installed into an environment of its own. Libraries come from this one: a folder of
links to exactly what an extra asks for, so that nothing is fetched, and nothing else is there.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.test_packaging import checkout, metadata_of, needs_page, wheel  # noqa: F401  # fixtures

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "traces"
ONLY_RECORDS = (
    "kinetoscope: this installation only records, because {} is not installed "
    "(to show traces: pip install 'kinetoscope[viewer]')\n"
)
pytestmark = needs_page


class Environment:
    """An environment with the wheel in it, and no library but those that are linked."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        self.libraries = folder / "libraries"
        self.libraries.mkdir(parents=True)
        self.needed = [
            Requirement(x) for x in metadata_of(installed, "METADATA").get_all("Requires-Dist", [])
        ]
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        alone = ["--no-index", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*pip, *alone, str(installed)], check=True)

    def add_extra(self, extra: str) -> None:
        """Links what `pip install 'kinetoscope[extra]'` brings."""
        self.add(
            str(one) for one in self.needed if one.marker and one.marker.evaluate({"extra": extra})
        )

    def add(self, requirements: Iterable[str]) -> None:
        """Links distributions of this environment, and what they require."""
        waiting, seen = [Requirement(x) for x in requirements], set()
        while waiting:
            one = waiting.pop()
            if one.name == "kinetoscope":
                for extra in one.extras:
                    self.add_extra(extra)
                continue
            if one.name in seen:
                continue
            seen.add(one.name)
            found = importlib.metadata.distribution(one.name)
            assert one.specifier.contains(found.version, prereleases=True)
            for root in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                link = self.libraries / root
                if not link.exists():
                    link.symlink_to(Path(str(found.locate_file(root))))
            inner = [Requirement(x) for x in found.requires or ()]
            waiting += [x for x in inner if not x.marker or x.marker.evaluate({"extra": ""})]

    def start(self, *command: object) -> subprocess.Popen[str]:
        """Starts its Python."""
        env = {**os.environ, "PYTHONPATH": str(self.libraries), "PYTHONNOUSERSITE": "1"}
        return subprocess.Popen(
            [str(self.python), *map(str, command)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
            cwd=self.libraries.parent,
        )  # fmt: skip

    def run(self, *command: object) -> tuple[int, str, str]:
        """Runs its Python: exit code, standard output, standard error."""
        process = self.start(*command)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err


@pytest.fixture
def environment(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:  # noqa: F811
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    return Environment(tmp_path / "environment", wheel)


def test_recording_requires_nothing(wheel: Path) -> None:  # noqa: F811
    needed = [Requirement(x) for x in metadata_of(wheel, "METADATA").get_all("Requires-Dist", [])]
    assert [
        str(one) for one in needed if not one.marker or one.marker.evaluate({"extra": ""})
    ] == []
    viewer = {x.name for x in needed if x.marker and x.marker.evaluate({"extra": "viewer"})}
    assert {"click", "numpy", "pyarrow", "werkzeug"} <= viewer
    assert "tensorboard" not in viewer


def test_a_light_install_imports_and_says_what_is_missing(environment: Environment) -> None:
    everything = "from kinetoscope.handlers import *; print(tensorboard_trace_handler.__name__)"
    assert environment.run("-c", everything) == (0, "tensorboard_trace_handler\n", "")
    for arguments in ([], ["--version"], ["show", "overview", SAMPLES], ["serve", SAMPLES]):
        told = environment.run("-m", "kinetoscope", *arguments)
        assert told == (1, "", ONLY_RECORDS.format("click"))
    code, _, err = environment.run("-c", "import kinetoscope; kinetoscope.open('x')")
    assert (code, "kinetoscope[viewer]" in err) == (1, True)


def test_a_job_that_has_click_is_told_the_same(environment: Environment) -> None:
    """Some of the viewer's libraries are in most trainings."""
    environment.add(["click", "numpy"])
    assert environment.run("-m", "kinetoscope", "--help")[0] == 0
    told = environment.run("-m", "kinetoscope", "show", "overview", SAMPLES)
    assert told == (1, "", ONLY_RECORDS.format("msgspec"))


def test_outputs_beside_a_trace_say_what_they_need(environment: Environment) -> None:
    program = (
        "from pathlib import Path; from kinetoscope.handlers.outputs import write_in_a_process\n"
        "write_in_a_process(Path('x.pt.trace.json'), {}, None, {{}})"
    )
    for wanted, extra in ((["stacks"], "viewer"), (["scalars", "stacks"], "tensorboard")):
        code, _, err = environment.run("-c", program.format(wanted))
        assert code == 1
        assert err.splitlines()[-1].endswith(f"(pip install 'kinetoscope[{extra}]')")


def test_tensorboard_starts_beside_a_light_install(environment: Environment) -> None:
    """The job has TensorBoard for its loss, and no viewer."""
    environment.add(["tensorboard", "setuptools"])
    load = "from kinetoscope.web.loader import Loader; print(Loader().load(None))"
    code, out, err = environment.run("-c", load)
    assert (code, out) == (0, "None\n")
    assert re.fullmatch(r"There is no tab PyTorch Profiler: .*kinetoscope\[viewer\].*\n", err)


def test_a_light_install_records(environment: Environment) -> None:
    pytest.importorskip("torch")
    environment.add(["torch"])
    code, out, err = environment.run("-m", "kinetoscope.handlers.sample_training", "--steps", 8)
    assert code == 0, err
    assert out.strip().endswith(".pt.trace.json.gz")


def test_the_viewer_needs_no_tensorboard(environment: Environment) -> None:
    environment.add_extra("viewer")
    code, out, err = environment.run("-m", "kinetoscope", "show", "overview", SAMPLES / "train_cpu")
    assert code == 0, err
    assert "DataLoader" in out
    code, out, err = environment.run("-m", "kinetoscope", "doctor", SAMPLES / "train_cpu")
    assert (code, bool(re.search(r"tensorboard +not installed", out))) == (0, True), err
    server = environment.start("-u", "-m", "kinetoscope", "serve", SAMPLES, "--port", 0)
    try:
        assert server.stdout is not None
        found = re.search(r"http://[0-9.:]+/", server.stdout.readline())
        assert found is not None
        with urllib.request.urlopen(f"{found[0]}index.js", timeout=30) as answer:  # noqa: S310  # ours
            assert answer.status == 200
        with urllib.request.urlopen(f"{found[0]}api/info", timeout=30) as answer:  # noqa: S310  # ours
            assert b'"standalone"' in answer.read()
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_tensorboard_loads_the_tab(environment: Environment) -> None:
    environment.add_extra("tensorboard")
    environment.add(["setuptools"])
    load = (
        "from tensorboard.plugins.base_plugin import TBContext\n"
        "from kinetoscope.web.loader import Loader\n"
        "plugin = Loader().load(TBContext(logdir='.')); print(plugin.plugin_name); plugin.close()"
    )
    assert environment.run("-c", load)[:2] == (0, "pytorch_profiler\n")
