"""Run each area again and again, each time with another operation failing; print what went wrong.

Usage: LD_PRELOAD=shim.so python -m tests.faults.driver SHIM FOLDER MOST AREA…

At most ``MOST`` places are tried in each mode, evenly spread; 0: every one until none is left.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

READS, WRITES, SHORT, STAYS, MEMORY, REMOVES = 1, 2, 4, 8, 16, 32
MODES: Mapping[str, tuple[int, int]] = {
    "ENOSPC once": (WRITES, errno.ENOSPC),
    "ENOSPC from then on": (WRITES | STAYS, errno.ENOSPC),
    "EIO once": (READS | WRITES, errno.EIO),
    "EIO while removing": (REMOVES, errno.EIO),
    "short once": (READS | WRITES | SHORT, 0),
    "MemoryError once": (MEMORY, errno.ENOMEM),
    "MemoryError from then on": (MEMORY | STAYS, errno.ENOMEM),
}


class Area(NamedTuple):
    """What is done under a fault, and what must hold afterwards: texts of what does not."""

    prepare: Callable[[Path], None]
    work: Callable[[Path], None]
    problems: Callable[[Path], Iterator[str]]


class Report(NamedTuple):
    """One mode of an area."""

    places: int
    tried: int
    problems: list[str]


def main(shim: str, folder: str, most: str, *names: str) -> None:
    """Print a line for each area: its name, and a report for each mode."""
    # Absolute and without links, as the shim compares texts.
    place = Path(folder).resolve()
    library = ctypes.CDLL(shim)
    library.faults_last.restype = ctypes.c_char_p
    from .areas import AREAS

    os.environ["KINETOSCOPE_CACHE_DIR"] = str(place / "work/cache")
    os.environ["TMPDIR"] = str(place / "work/tmp")
    library.faults_below(os.fsencode(place / "work") + b"/")
    _spare_msgspec(library)
    for name in names:
        found = {
            mode: run(library, AREAS[name], place, kinds, error, int(most))._asdict()
            for mode, (kinds, error) in MODES.items()
        }
        sys.stdout.write(json.dumps([name, found]) + "\n")
        sys.stdout.flush()


def _spare_msgspec(library: ctypes.CDLL) -> None:
    """Let no allocation fail while msgspec writes JSON: its code in C crashes then (0.21)."""
    import msgspec

    encode = msgspec.json.encode

    def encode_with_memory(*arguments: Any, **options: Any) -> bytes:
        library.faults_pause(1)
        try:
            return encode(*arguments, **options)
        finally:
            library.faults_pause(0)

    msgspec.json.encode = encode_with_memory


def run(library: ctypes.CDLL, area: Area, place: Path, kinds: int, error: int, most: int) -> Report:
    """Try the places of one mode."""
    places = attempt(library, area, place, 0, kinds, error)[1]
    step = max(1, -(-places // most)) if most else 1
    number, tried = 1, 0
    problems: list[str] = []
    while True:
        said, _ = attempt(library, area, place, number, kinds, error)
        if not library.faults_fired():
            # Earlier faults may have changed how many there are: not before the count is passed.
            if number > places:
                return Report(places, tried, problems)
        else:
            tried += 1
        where = f"#{number} {library.faults_last().decode()}"
        # What cannot be removed stays; but it is hidden, and in nobody's way.
        said = [one for one in said if kinds != REMOVES or not one.startswith("left behind")]
        problems += [f"{where}: {one}" for one in said]
        number += step


def attempt(
    library: ctypes.CDLL, area: Area, place: Path, number: int, kinds: int, error: int
) -> tuple[list[str], int]:
    """Problems of one run, and how many places it had."""
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    area.prepare(work)
    problems = []
    library.faults_arm(number, kinds, error)
    try:
        area.work(work)
    except BaseException as failure:  # noqa: BLE001  # any is a fault of ours
        library.faults_disarm()
        if not _is_of_the_runner(failure):
            problems.append("leaked " + "".join(traceback.format_exception(failure)[-4:]))
    places = library.faults_disarm()
    try:
        problems += area.problems(work)
    except BaseException as failure:  # noqa: BLE001
        problems.append("afterwards " + "".join(traceback.format_exception(failure)[-4:]))
    return problems, places


def _is_of_the_runner(failure: BaseException) -> bool:
    """True where memory was short in click's copy of the output, not in the command."""
    last = traceback.extract_tb(failure.__traceback__)[-1]
    return isinstance(failure, MemoryError) and last.filename.endswith("click/testing.py")


if __name__ == "__main__":
    main(*sys.argv[1:])
