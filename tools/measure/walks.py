"""How many files does a request pass? The figures of "Three walks" in ARCHITECTURE.md.

    make walks             counts, and writes the figures where they stand
    python tools/measure/walks.py  counts and prints

A file counts once any function of it runs in the process that answers; what only defines names on
import does not. The table of a walk counts the modules that it names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
SAMPLE = "samples/traces/train_cpu"
PACKAGE = str(ROOT / "tb_plugin") + os.sep
_IS_FUNCTION = 1  # CO_OPTIMIZED: no module and no class body
_SECONDS = 120
OVERVIEW, KEPT, OPERATORS, TILE = "show", "kept", "operators", "tile"


def main(arguments: Sequence[str]) -> int:
    """Count all walks, or do one of them in this process and print its files."""
    if arguments and arguments[0] != "--write":
        for file in sorted(passed(arguments[0], Path(arguments[1]))):
            print(file)
        return 0
    found = counted()
    for walk, files in found.items():
        inner = sum(file.startswith("trace/") for file in files)
        print(f"{walk:10} {len(files):3} files, {inner} of them in trace/")
    if arguments:
        PAGE.write_text(written(PAGE.read_text("utf-8"), found), "utf-8")
    return 0


def counted() -> dict[str, list[str]]:
    """Walk → the files in which a function ran, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for file in (ROOT / SAMPLE).iterdir():
            (place / "log" / "run").mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place / "log" / "run" / file.name)
        found = {}
        for walk in (OVERVIEW, KEPT, OPERATORS, TILE):
            command = [sys.executable, __file__, walk, folder]
            environment = {**os.environ, "KINETOSCOPE_CACHE_DIR": str(place / "cache")}
            run = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            found[walk] = run.stdout.split()
    return found


_FIGURES = re.compile(
    r"(\d+)(?= modules in the table)|(\d+)(?= files?[.,])|(\d+)(?= of them in `trace/`)"
)


def written(page: str, found: dict[str, list[str]]) -> str:
    """The page with these figures, in the bold sentence of each walk."""
    tables = iter(re.findall(r"(?:^\|.*\n)+", page.partition("## Three walks")[2], re.MULTILINE))
    for walk, files in found.items():
        modules = 0 if walk == KEPT else len(modules_of(next(tables)))
        inner = sum(file.startswith("trace/") for file in files)
        figures = {1: modules, 2: len(files), 3: inner}
        (place,) = re.findall(rf"^\*\*{_HEADS[walk]}.*$", page, re.MULTILINE)
        text = _FIGURES.sub(lambda match: str(figures[match.lastindex or 0]), place)  # noqa: B023
        page = page.replace(place, text)
    return page


_HEADS = {
    OVERVIEW: "`kinetoscope show overview FILE`, the first time",
    KEPT: "The same again, from the cache",
    OPERATORS: "`GET api/view/operators`",
    TILE: "A tile of the Trace view",
}


def modules_of(table: str) -> set[str]:
    """The modules in the last column of a table; a name alone has the folder before it."""
    found, folder = set(), ""
    for row in table.splitlines()[2:]:
        for name in re.findall(r"`([\w/]+)`", row.split("|")[-2]):
            folder = name.rpartition("/")[0] or folder
            found.add(name if "/" in name else f"{folder}/{name}")
    return found


def passed(walk: str, place: Path) -> set[str]:
    """The files, below the package, in which a function runs on a walk."""
    if walk in (OVERVIEW, KEPT):
        (trace,) = (place / "log" / "run").iterdir()
        sys.argv = ["kinetoscope", "show", "overview", str(trace)]
        with recorded() as files, open(os.devnull, "w") as sys.stdout:
            from kinetoscope.cli.entry import main as show

            with suppress(SystemExit):
                show()
        sys.stdout = sys.__stdout__
        return files
    return served(walk, place / "log")


def served(walk: str, logdir: Path) -> set[str]:
    """The files that a request passes, once the trace and its artifact are open."""
    from werkzeug.test import Client

    from kinetoscope.session.catalog import facts_catalog
    from kinetoscope.store.discovery.walk import resolve
    from kinetoscope.views import all_views
    from kinetoscope.web.app import create_app

    before, address = "/api/view/operators?limit=3", "/api/view/operators"
    if walk == TILE:
        address = "/api/view/timeline/tiles?level=10&tiles=0-1&blocks=0.0"
        before = address.replace("0-1", "2")  # the same answer is kept, and passes fewer files
    with facts_catalog(resolve(str(logdir), None)) as catalog:
        catalog.wait_first_look(_SECONDS)
        site = Client(create_app(catalog, all_views(), "standalone"))
        end = time.monotonic() + _SECONDS
        while (answer := site.get(before)).status_code == 202 and time.monotonic() < end:
            time.sleep(0.1)
        if answer.status_code != 200:
            raise RuntimeError(f"{before}: {answer.status_code} {answer.text[:300]}")
        while True:  # a busy machine answers 202 first; that walk is another one
            with recorded() as files:
                status = site.get(address).status_code
            if status == 200:
                return files
            if status != 202 or time.monotonic() > end:
                raise RuntimeError(f"{address}: {status}")
            time.sleep(0.1)


@contextmanager
def recorded() -> Iterator[set[str]]:
    """The files of the package in which a function is called, here or in a new thread."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401  as sys.setprofile has it
        code = frame.f_code
        if event == "call" and code.co_flags & _IS_FUNCTION:
            path = os.path.realpath(code.co_filename)
            if path.startswith(PACKAGE):
                files.add(path.removeprefix(PACKAGE))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
