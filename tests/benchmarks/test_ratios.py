"""Reading stays near what it can cost: a guard of ratios, never of seconds.

Every figure is CPU time or memory of a process of its own, the least of several runs, and is held
against another one taken on the same machine in the same minute. A bound is about twice what was
measured when it was written. Whatever crosses one is measured once more before the test fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks import _corpus
from benchmarks._measure import calibration_seconds
from benchmarks.ingest import exponent

from kinetoscope.base.native import native
from tests.conftest import ROOT, requires_native

RUNS = 3
SMALL, LARGE = "10MB", "30MB"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Where a small and a large trace of one kind are."""

    small: _corpus.Made
    large: _corpus.Made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    return Corpus(_corpus.made("cpu", SMALL, folder), _corpus.made("cpu", LARGE, folder))


def once(trace: Path, figure: str, **env: str) -> float:
    """The least that reading ``trace`` took in several processes."""
    command = [sys.executable, "-m", "benchmarks._once", str(trace)]
    found = []
    for _ in range(RUNS):
        done = subprocess.run(
            command, env={**os.environ, **env}, cwd=ROOT, capture_output=True, text=True, check=True
        )
        found.append(float(json.loads(done.stdout)[figure]))
    return min(found)


def assert_soon(figure: Callable[[], float], bound: Callable[[float], bool]) -> None:
    """``bound`` holds for the figure, or for a second try at it."""
    first = figure()
    if not bound(first):
        second = figure()
        assert bound(second), f"{first:.3f}, then {second:.3f}"


@requires_native
def test_reading_costs_a_few_calibration_loops(corpus: Corpus) -> None:
    """30 MB of trace against 20 MB of JSON through the standard library."""

    def figure() -> float:
        return once(corpus.large.path, "cpu") / calibration_seconds()

    assert_soon(figure, lambda units: units <= 1.5)


def test_without_the_native_library_it_is_still_bearable(corpus: Corpus) -> None:
    def figure() -> float:
        return once(corpus.small.path, "cpu", KINETOSCOPE_NATIVE="0") / calibration_seconds()

    assert_soon(figure, lambda units: units <= 2.0)


@requires_native
def test_the_native_library_pays(corpus: Corpus) -> None:
    """On a trace large enough that what a process does once does not count."""

    def figure() -> float:
        python = once(corpus.large.path, "cpu", KINETOSCOPE_NATIVE="0")
        return python / once(corpus.large.path, "cpu")

    assert_soon(figure, lambda times: times >= 2.0)


def test_time_grows_no_faster_than_the_trace(corpus: Corpus) -> None:
    def figure() -> float:
        made = (corpus.small, corpus.large)
        return exponent({one.text_bytes: once(one.path, "cpu") for one in made})

    assert_soon(figure, lambda k: k <= 1.15)


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_memory_grows_slower_than_the_trace(tmp_path: Path) -> None:
    """Buffers are bounded, only columns grow: three times the trace is far from three times.

    Below a hundred megabytes of text the buffers of several threads have not grown to their bounds
    yet: from 30 to 90 MB memory grows 2.6 times, from 100 to 300 MB 1.5 times on two threads and
    2.3 times on one. The reader in Python has smaller buffers, so that columns are nearly all of
    its memory: 2.8 times, and no more than the trace.
    """
    made = _corpus.made("cpu", "100MB", tmp_path)
    larger = _corpus.made("cpu", "300MB", tmp_path)

    def figure() -> float:
        return once(larger.path, "risen") / once(made.path, "risen")

    most = 2.6 if native().library else 3.0
    assert_soon(figure, lambda times: times <= most)
