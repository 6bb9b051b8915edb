"""Which tests are slow? Those of ``slow.txt``, which is measured: ``pytest --measure-slow``.

``pytest -m "not slow"`` leaves them out. A line is a whole folder, or a test function with all its
parameters, by the processor time of this process and of those it waited for.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

SLOW = Path(__file__).with_name("slow.txt")
SECONDS = 1.0
"""Processor time from which on a test function is slow."""
KEPT = ("tests/test_figures.py::", "tests/analysis/speed_of_light/test_models.py::")
"""Tests that take some seconds and are run nevertheless: no others notice as many faults."""
_spent: dict[str, float] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures."""
    text = f"write the functions above {SECONDS} s of what ran to {SLOW.name}"
    parser.addoption("--measure-slow", action="store_true", help=text)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests."""
    slow = set(SLOW.read_text("utf-8").split())
    for item in items:
        name = function_of(item)
        if name in slow or any(name.startswith(one) for one in slow if one.endswith("/")):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Add the processor time of a test to that of its function."""
    before = sum(os.times()[:4])
    result = yield
    name = function_of(item)
    _spent[name] = _spent.get(name, 0.0) + sum(os.times()[:4]) - before
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Replace the lines of what ran."""
    if session.config.getoption("--measure-slow"):
        others = set(SLOW.read_text("utf-8").split()) - _spent.keys()
        slow = {
            name
            for name, seconds in _spent.items()
            if seconds >= SECONDS and not name.startswith(KEPT)
        }
        SLOW.write_text("\n".join(sorted(others | slow)) + "\n", "utf-8")


def function_of(item: pytest.Item) -> str:
    """``tests/base/test_units.py::test_sizes``, without parameters."""
    return item.nodeid.partition("[")[0]
