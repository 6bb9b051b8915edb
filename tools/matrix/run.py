"""The wheel in fresh environments: each Python of this machine, newest and lowest dependencies.

    .venv/bin/python tools/matrix/run.py

Builds the wheel once and installs it for every Python from 3.10 on that this machine has, each with
the newest versions of all dependencies; and once, for the oldest of them, with the lowest versions
that pyproject.toml admits. ``smoke.py`` is run in each. torch is installed once for a minor
version, where a CPU build of what ``.venv`` has is within reach: below ``PIP_FIND_LINKS``, or at
its index with ``UV_TORCH_BACKEND=cpu``. What is not there, a Python or torch, is said.

Ends with 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "samples" / "traces"
SMOKE = Path(__file__).with_name("smoke.py")
OLDEST = (3, 10)
SOURCES = (
    *("tb_plugin", "handlers", "frontend", "native", "tools", "docs", "samples"),
    *("setup.py", "pyproject.toml", "MANIFEST.in", "package.json", "package-lock.json"),
    *(".npmrc", "LICENSE", "README.md"),
)
"""What a wheel is built of, the built page and library among it."""
MANY_SECONDS = 600
EXTRAS = "tensorboard,mcp"
"""Of the wheel: recording alone needs nothing; the tab and the server for agents need most."""
LAST_WORDS = 2000
"""How much of what a failed trial said is printed: the end of a traceback tells what it was."""
LOOK = (
    "import json, sys, sysconfig; print(json.dumps([*sys.version_info[:3], sys.executable,"
    " bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python of this machine."""

    version: tuple[int, ...]
    executable: str

    @property
    def minor(self) -> str:
        """Such as 3.12."""
        return ".".join(map(str, self.version[:2]))


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment to make: of which Python, with which versions, with torch or without."""

    interpreter: Interpreter
    resolution: str  # of uv: "highest" or "lowest-direct"
    torch: str = ""  # requirement, "" for none

    @property
    def name(self) -> str:
        """As it is reported."""
        which = "newest" if self.resolution == "highest" else "lowest"
        return f"Python {'.'.join(map(str, self.interpreter.version))}, {which} versions"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an environment."""

    name: str
    is_green: bool
    seconds: float
    said: str


def candidates() -> Iterator[Path]:
    """Every file that may be a Python: on PATH, where Debian has it, and below pyenv."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    for folder in dict.fromkeys(filter(None, folders)):
        if "shims" not in folder:  # of pyenv: its versions are looked at themselves
            yield from sorted(Path(folder).glob("python3*"))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob("versions/*/bin/python"))


def interpreters() -> list[Interpreter]:
    """The Pythons of this machine that are new enough, each once, in ascending order."""
    found: dict[str, Interpreter] = {}
    for path in candidates():
        if not re.fullmatch(r"python(3(\.\d+)?)?", path.name) or not os.access(path, os.X_OK):
            continue
        real = str(path.resolve())
        if real in found:
            continue
        try:
            done = subprocess.run(
                [path, "-I", "-c", LOOK], capture_output=True, text=True, timeout=20, check=True
            )
            *version, executable, is_free_threaded = json.loads(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError):
            continue
        is_environment = Path(executable).parent.parent.joinpath("pyvenv.cfg").is_file()
        if tuple(version[:2]) >= OLDEST and not is_free_threaded and not is_environment:
            found[real] = Interpreter(tuple(version), str(path))
    return sorted(found.values(), key=lambda one: (one.version, one.executable))


def needed() -> list[str]:
    """What the wheel needs for TensorBoard, SQL and agents, as requirements."""
    text = (ROOT / "pyproject.toml").read_text()
    lists = re.findall(
        r"^(?:viewer|tensorboard|sql|mcp) = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL
    )
    found = re.findall(r'"([^"]+)"', "".join(lists))
    return [one for one in found if not one.startswith("kinetoscope")]


def named_minors() -> list[str]:
    """The minor versions that pyproject.toml names."""
    text = (ROOT / "pyproject.toml").read_text()
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def uv(*arguments: str | Path) -> str:
    """What uv says.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    links = os.environ.get("PIP_FIND_LINKS", "")
    more = {"UV_FIND_LINKS": links.replace(" ", ",")} if links else {}
    environment = {**os.environ, **more, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1"}
    environment.pop("VIRTUAL_ENV", None)
    command = [Path(sys.executable).with_name("uv"), *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=MANY_SECONDS, check=False
    )
    if done.returncode:
        raise RuntimeError(f"uv {' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def build(folder: Path) -> Path:
    """The wheel of this checkout, built of a copy: no earlier build leaves anything in it."""
    copy = folder / "checkout"
    ignore = shutil.ignore_patterns("__pycache__", "node_modules", "target")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=ignore)
        elif (ROOT / name).is_file():
            shutil.copy2(ROOT / name, copy / name)
    variables = {"KINETOSCOPE_SKIP_PAGE": "1", "KINETOSCOPE_SKIP_NATIVE": "1"}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--wheel-dir", folder, copy], env={**os.environ, **variables}, check=True
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def torch_of_venv() -> str:
    """The torch that ``.venv`` has, as a requirement of its CPU build; "" where it has none."""
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""
    # Elsewhere the builds for CPU have no name of their own.
    return f"torch=={version.partition('+')[0]}" + ("+cpu" if sys.platform == "linux" else "")


def make(environment: Environment, wheel: Path, folder: Path) -> str:
    """Makes an environment in ``folder``; what is to be said of it.

    Raises:
        RuntimeError: the wheel, or what it needs, cannot be installed.
    """
    uv("venv", "--quiet", "--python", environment.interpreter.executable, folder)
    install = ("pip", "install", "--quiet", "--no-build", "--python", folder)
    if environment.resolution == "highest":
        uv(*install, f"kinetoscope[{EXTRAS}] @ {wheel.as_uri()}")
    else:
        low = ("--resolution", environment.resolution)
        uv(*install, *low, *needed())
        uv(*install, "--no-deps", wheel)
    if not environment.torch:
        return ""
    try:
        uv(*install, environment.torch)
    except RuntimeError:
        return f"no {environment.torch} for it within reach"
    return ""


def tried(environment: Environment, wheel: Path, folder: Path) -> Outcome:
    """An environment made and tried."""
    began = time.monotonic()
    try:
        note = make(environment, wheel, folder)
        versions = {one["name"]: one["version"] for one in _installed(folder)}
        done = subprocess.run(
            [_python(folder), "-I", "-W", "default", SMOKE, SAMPLES],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=MANY_SECONDS,
            check=False,
        )
        is_green = done.returncode == 0
        said = done.stdout if is_green else done.stdout + done.stderr[-LAST_WORDS:]
        said = f"{_shown(versions)}\n{note + '; ' if note else ''}{said.strip()}"
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        is_green, said = False, str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(environment.name, is_green, time.monotonic() - began, said)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _installed(folder: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(
        uv("pip", "list", "--quiet", "--format", "json", "--python", folder)
    )
    return found


def _shown(versions: dict[str, str]) -> str:
    names = [*(re.split("[<>=]", one)[0] for one in needed()), "protobuf"]
    return ", ".join(f"{name} {versions[name]}" for name in names if name in versions)


def environments(found: list[Interpreter]) -> list[Environment]:
    """The environments to make: newest versions for each Python, lowest for the oldest one."""
    torch = torch_of_venv()
    last = {one.minor: one for one in found}.values()
    newest = [Environment(one, "highest", torch if one in last else "") for one in found]
    return [*newest, Environment(found[0], "lowest-direct")]


def main() -> int:
    """Makes and tries all environments, as many at once as there are cores."""
    said = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=said).parse_args()
    found = interpreters()
    for minor in named_minors():
        if minor not in {one.minor for one in found}:
            print(f"not tried: Python {minor}, which this machine does not have", flush=True)
    if not found:
        print("this machine has no Python that is new enough", file=sys.stderr)
        return 1
    failed = 0
    with tempfile.TemporaryDirectory(prefix="kinetoscope-matrix-") as name:
        folder = Path(name)
        wheel = build(folder)
        print(wheel.name, flush=True)
        every = environments(found)
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            jobs = [pool.submit(tried, one, wheel, folder / str(n)) for n, one in enumerate(every)]
            for job in jobs:
                one = job.result()
                failed += not one.is_green
                print(f"{'ok' if one.is_green else 'FAILED'}: {one.name}, {one.seconds:.0f} s")
                print("  " + one.said.replace("\n", "\n  "), flush=True)
    print(f"matrix: {len(every) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
