"""What all tests share: where the real traces are, and how hypothesis runs.

The real traces are not part of the repository. `KINETOSCOPE_TRACES` says where they are, by
default beside the checkout; tests that need them are marked and say why they were skipped:

    from tests.conftest import TRACES, requires_traces

    @requires_traces
    def test_reads_a_truncated_file() -> None:
        trace = read(TRACES / "damaged" / "truncated.json.gz")
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kinetoscope.base.native import native
from tests.slowness import (  # noqa: F401  # hooks of pytest
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_runtest_protocol,
    pytest_sessionfinish,
)

ROOT = Path(__file__).resolve().parent.parent
"""The root of the repository."""

TRACES = Path(os.environ.get("KINETOSCOPE_TRACES") or ROOT.parent / "shared" / "traces").resolve()
"""The folder of real and damaged traces. It may be absent: see `requires_traces`."""

requires_traces = pytest.mark.skipif(
    not TRACES.is_dir(),
    reason=f"no traces at {TRACES}: set KINETOSCOPE_TRACES to the folder that holds them",
)
"""Skips a test, with the reason, where the real traces are absent."""

requires_native = pytest.mark.skipif(native().library is None, reason=native().reason)
"""Skips a test, with the reason, where the native library is absent."""

# The tests start hundreds of interpreters: without bytecode each compiles what it imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that starts the tests in the background has Ctrl-C ignored, and so would every process
# that a test starts and ends with it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The machine that runs the tests may be slow and shared: no example fails for taking its time.
settings.register_profile("local", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True, scope="session")
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is read is kept apart from the answers of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _skip_files_of_the_library(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skip tests of files that the native library alone reads where it is absent."""
    if native().library is None:
        if ".pftrace" in request.node.name:
            pytest.skip(native().reason)
        reader = "kinetoscope.trace.pickles.snapshot._refused"
        monkeypatch.setattr(reader, lambda _: pytest.skip(native().reason))
