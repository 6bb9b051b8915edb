"""What people install: one package, with the page, without anything that burdens a training job."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from kinetoscope import __version__
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import build_native
import build_wheel_tag
from build_page import is_stale

SOURCES = (
    *("tb_plugin", "handlers", "frontend", "native", "tools", "tests", "docs", "samples"),
    *("setup.py", "pyproject.toml", "MANIFEST.in", "package.json", "package-lock.json", ".npmrc"),
    *("LICENSE", "README.md", "CHANGELOG.md"),
)

needs_library = pytest.mark.skipif(
    not build_native.is_built(), reason="the native library is missing or stale: run `make native`"
)
needs_page = pytest.mark.skipif(is_stale(), reason="the page is missing or stale: run `make page`")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources and the built page, in which an old build left its traces."""
    copy = tmp_path_factory.mktemp("checkout")
    ignore = shutil.ignore_patterns("__pycache__", "node_modules", "target")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=ignore)
        elif (ROOT / name).is_file():
            shutil.copy2(ROOT / name, copy / name)
    shutil.rmtree(copy / "tb_plugin/native", ignore_errors=True)
    for name in ("static/assets/of-an-earlier-build.js", "native/of-an-earlier-build.so"):
        leftover = copy / "build/lib/kinetoscope" / name
        leftover.parent.mkdir(parents=True)
        leftover.touch()
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from a checkout."""
    return make_wheel(checkout, tmp_path_factory.mktemp("wheel"))


@needs_page
def test_wheel_has_one_package_with_the_page_and_no_tests(wheel: Path) -> None:
    names = names_in(wheel)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"kinetoscope"}
    assert {
        "kinetoscope/__init__.py",
        "kinetoscope/handlers/__init__.py",
        "kinetoscope/py.typed",
        "kinetoscope/static/index.html",
        "kinetoscope/static/index.js",
        "kinetoscope/static/third-party-licenses.txt",
        "kinetoscope/web/loader.py",
    } <= names
    assert {name for name in names if "test" in name.lower()} == set()
    assert {name for name in names if Path(name).name.startswith(".")} == set()


@needs_page
def test_wheel_has_every_module_of_the_checkout(checkout: Path, wheel: Path) -> None:
    modules = {
        *(f"kinetoscope/{x}" for x in relative_names(checkout / "tb_plugin", "*.py")),
        *(f"kinetoscope/handlers/{x}" for x in relative_names(checkout / "handlers", "*.py")),
    }
    assert modules == {name for name in names_in(wheel) if name.endswith(".py")}


@needs_page
def test_wheel_has_this_page_and_no_chunk_of_an_earlier_one(checkout: Path, wheel: Path) -> None:
    page = relative_names(checkout / "tb_plugin/static", "[!.]*")
    packed = {name for name in names_in(wheel) if name.startswith("kinetoscope/static/")}
    assert {f"kinetoscope/static/{name}" for name in page} == packed


@needs_page
def test_wheel_names_the_command_and_the_plugin(wheel: Path) -> None:
    parser = configparser.ConfigParser()
    parser.read_string(text_in(wheel, "entry_points.txt"))
    assert parser["console_scripts"]["kinetoscope"] == "kinetoscope.cli:main"
    assert parser["tensorboard_plugins"]["kinetoscope"] == "kinetoscope.web.loader:Loader"


@needs_page
def test_the_wheel_carries_the_licenses_of_the_page(checkout: Path, wheel: Path) -> None:
    metadata = metadata_of(wheel, "METADATA")
    assert [Path(name).name for name in metadata.get_all("License-File", [])] == [
        "LICENSE",
        "third-party-licenses.txt",
    ]
    bundled = (checkout / "tb_plugin/static/third-party-licenses.txt").read_text("utf-8")
    named = set(re.findall(r"^## \S+ - \S+ \((.+)\)$", bundled, re.MULTILINE))
    assert named, "every library has a heading with its license"
    assert {"BSD-3-Clause", *named} == set(metadata["License-Expression"].split(" AND "))


@needs_page
def test_the_version_is_said_once_and_the_commit_is_in_the_wheel(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(checkout, tmp_path / "checkout")
    init = copy / "tb_plugin/__init__.py"
    init.write_text(init.read_text("utf-8").replace(f'"{__version__}"', '"7.8.9"'), "utf-8")
    monkeypatch.setenv("KINETOSCOPE_COMMIT", "0123456789abcdef")
    made = make_wheel(copy, tmp_path)
    assert made.name.startswith("kinetoscope-7.8.9-")
    with zipfile.ZipFile(made) as packed:
        assert packed.read("kinetoscope/commit.txt") == b"0123456789ab\n"


@needs_page
def test_the_wheel_carries_documentation_and_samples(checkout: Path, wheel: Path) -> None:
    names = set(names_in(wheel))
    for folder in ("docs", "samples/traces"):
        found = {f"kinetoscope/{folder}/{x}" for x in relative_names(checkout / folder, "*")}
        assert found
        assert found == {name for name in names if name.startswith(f"kinetoscope/{folder}/")}


@needs_page
def test_the_readme_on_an_index_leads_to_the_public_source(wheel: Path) -> None:
    readme = metadata_of(wheel, "METADATA").get_payload()
    assert isinstance(readme, str)
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert "https://kinetoscope.example/source/docs/overview.md" in links
    assert [link for link in links if not link.startswith("https://")] == []


@needs_page
def test_source_distribution_installs_without_node(
    checkout: Path, wheel: Path, tmp_path: Path
) -> None:
    code = "import setuptools.build_meta as b, sys; b.build_sdist(sys.argv[1])"
    run([sys.executable, "-c", code, str(tmp_path)], cwd=checkout)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        # Debian 12 has Python 3.11.2; filters came to 3.10.12 and 3.11.4. The archive is our own.
        filtered: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(tmp_path / "unpacked", **filtered)  # noqa: S202
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    for sources in ("native/src", "frontend/src"):
        assert relative_names(unpacked / sources, "*") == relative_names(checkout / sources, "*")
    (tmp_path / "wheel").mkdir()
    assert names_in(make_wheel(unpacked, tmp_path / "wheel")) == names_in(wheel)


@needs_page
def test_without_cargo_there_is_one_wheel_for_every_system(wheel: Path) -> None:
    assert wheel.stem.endswith("-py3-none-any")
    assert not [name for name in names_in(wheel) if "/native/" in name]
    assert metadata_of(wheel, "WHEEL")["Root-Is-Purelib"] == "true"


@needs_page
@needs_library
def test_with_the_library_there_is_one_wheel_for_every_python(
    checkout: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(checkout, tmp_path / "checkout")
    shutil.copytree(build_native.FOLDER, copy / "tb_plugin/native")
    wheel = make_wheel(copy, tmp_path)
    python, abi, platform = wheel.stem.split("-")[-3:]
    assert (python, abi) == ("py3", "none")
    assert platform != "any"
    if platform.startswith("linux"):
        assert not build_wheel_tag.is_possible(), "a wheel that runs on more says so"
    else:
        assert not sys.platform.startswith("linux") or platform.startswith(("many", "musl"))
    assert metadata_of(wheel, "WHEEL")["Root-Is-Purelib"] == "false"
    packed = {name for name in names_in(wheel) if "/native/" in name}
    assert packed == {f"kinetoscope/native/{build_native.library().name}"}


@needs_page
def test_a_library_that_its_sources_have_left_behind_is_not_packed(
    checkout: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(checkout, tmp_path / "checkout")
    stale = copy / "tb_plugin/native" / build_native.library().name
    stale.parent.mkdir()
    stale.write_bytes(b"of other sources")
    assert make_wheel(copy, tmp_path).stem.endswith("-py3-none-any")


@pytest.mark.parametrize("module", ["kinetoscope", "kinetoscope.handlers"])
def test_a_training_job_imports_nothing_heavy(module: str) -> None:
    assert heavy_imports_of(module) == "[]"


def test_tensorboard_starts_without_reader_and_tables() -> None:
    # TensorBoard imports the loader of every installed plugin before it serves anything.
    heavy = heavy_imports_of("kinetoscope.web.loader")
    assert not {"pandas", "pyarrow", "torch"} & set(heavy.strip("[]").replace("'", "").split(", "))


def heavy_imports_of(module: str) -> str:
    """Which heavy packages an import of the module brings along, as a printed list."""
    heavy = ["numpy", "pandas", "pyarrow", "tensorboard", "torch", "werkzeug"]
    code = f"import sys, {module}; print([x for x in {heavy!r} if x in sys.modules])"
    return run([sys.executable, "-c", code], cwd=ROOT.parent).strip()


def make_wheel(source: Path, target: Path) -> Path:
    """Builds a wheel as pip would, on a machine without Node.js."""
    code = "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])"
    run([sys.executable, "-c", code, str(target)], cwd=source)
    (wheel,) = target.glob("*.whl")
    return wheel


def names_in(wheel: Path) -> set[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def text_in(wheel: Path, name: str) -> str:
    """The text of one of the files about the distribution."""
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (path for path in archive.namelist() if path.endswith(f".dist-info/{name}"))
        return archive.read(path).decode()


def metadata_of(wheel: Path, name: str) -> Message:
    """The same, of lines like those of a letter."""
    return message_from_string(text_in(wheel, name))


def relative_names(folder: Path, pattern: str) -> set[str]:
    """The files below a folder, by their names in it."""
    return {x.relative_to(folder).as_posix() for x in folder.rglob(pattern) if x.is_file()}


def run(command: list[str], cwd: Path) -> str:
    """Runs a command with nothing on PATH and returns what it printed."""
    env = {**os.environ, "PATH": ""}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
