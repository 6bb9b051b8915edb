"""Measurements on disk: ``results.json``, of which ``docs/benchmarks.md`` shows the tables."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from kinetoscope.base.native import native

RESULTS = Path(__file__).resolve().parent / "results.json"


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def load() -> dict[str, dict[str, Any]]:
    """Every measurement kept so far: name → ``value`` or ``because``, and how it came about."""
    if not RESULTS.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text())["measured"]
    return found


def value(measured: Mapping[str, Mapping[str, Any]], name: str) -> float | None:
    """One figure, None where it was not measured."""
    found = measured.get(name, {}).get("value")
    return None if found is None else float(found)


def median_of(runs: Iterable[Mapping[str, float]]) -> dict[str, dict[str, Any]]:
    """Name → the median of the runs, and what each gave."""
    listed = list(runs)
    return {
        name: {
            "value": statistics.median(run[name] for run in listed),
            "runs": [round(run[name], 4) for run in listed],
        }
        for name in listed[0]
    }


def keep(prefix: str, found: Mapping[str, Any]) -> None:
    """Puts figures into the file under ``prefix/name``, in place of all earlier ones there.

    What is divided by each other is of one run.
    A figure is a number, a mapping with a ``value``, or a text: the reason why there is none.
    """
    about = {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "commit": _commit(),
        "native": native().library is not None,
        "load": round(os.getloadavg()[0], 1),
    }
    measured = {name: entry for name, entry in load().items() if name.rpartition("/")[0] != prefix}
    for name, figure in found.items():
        if isinstance(figure, str):
            entry: dict[str, Any] = {"because": figure}
        elif isinstance(figure, Mapping):
            entry = dict(figure)
        else:
            entry = {"value": figure}
        if math.isnan(entry.get("value", 0)):
            entry = {"because": "cannot be known on this machine"}
        entry["value"] = _rounded(entry["value"]) if "value" in entry else None
        measured[f"{prefix}/{name}"] = {**entry, **about}
    text = json.dumps({"machine": machine(), "measured": dict(sorted(measured.items()))}, indent=1)
    RESULTS.write_text(text + "\n")


def _rounded(number: float) -> float:
    return number if isinstance(number, int) else float(f"{number:.5g}")


def _commit() -> str:
    try:
        return subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=RESULTS.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
