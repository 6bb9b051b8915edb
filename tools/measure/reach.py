"""Plugin of pytest that writes which test functions run each line; ``mutants`` reads it.

``KINETOSCOPE_REACH`` names the file of JSON: seconds of each function, and by file and line the
functions, as places in that list. A shared fixture counts for all tests that ask for it.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

_ROOT = Path(__file__).resolve().parents[2]
_cover = coverage.Coverage(
    data_file=None,
    config_file=False,
    include=[f"{_ROOT}/tb_plugin/{one}/*" for one in ("analysis", "views")],
)
_cover.start()
_seconds: dict[str, float] = defaultdict(float)
_asking: dict[str, set[str]] = defaultdict(set)
"""Test functions by shared fixture."""
_running = [""]
"""The test function or the shared fixture that runs."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Count what runs from here on for one test function."""
    name = item.nodeid.partition("[")[0]
    information = getattr(item, "_fixtureinfo", None)
    for definitions in getattr(information, "name2fixturedefs", {}).values():
        for one in definitions:
            _asking[_shared(one)].add(name)
    _running[:] = [name]
    _cover.switch_context(name)
    begun = time.process_time()
    result = yield
    _seconds[name] += time.process_time() - begun
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object],
) -> Generator[None, object, object]:
    """Count what a shared fixture runs for all tests that ask for it."""
    if fixturedef.scope == "function":
        return (yield)
    outer, _running[:] = [*_running], [_shared(fixturedef)]
    _cover.switch_context(*_running)
    result = yield
    _running[:] = outer
    _cover.switch_context(*_running)
    return result


def pytest_sessionfinish() -> None:
    """Write the file."""
    _cover.stop()
    data = _cover.get_data()
    number = {name: place for place, name in enumerate(_seconds)}
    lines: dict[str, dict[int, list[int]]] = {}
    for file in data.measured_files():
        path = Path(file).relative_to(_ROOT).as_posix()
        lines[path] = {
            line: sorted(
                {number[test] for one in found if one for test in _asking.get(one, (one,))}
            )
            for line, found in data.contexts_by_lineno(file).items()
        }
    document = {"seconds": _seconds, "lines": lines}
    Path(os.environ["KINETOSCOPE_REACH"]).write_text(json.dumps(document), "utf-8")


def _shared(fixture: pytest.FixtureDef[object]) -> str:
    return f"@{fixture.baseid}::{fixture.argname}"
