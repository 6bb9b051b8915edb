"""TensorBoard on an address of another machine: what the handler writes there is seen there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests import remote_servers
from tests.e2e.servers import tensorboard
from tests.remote_servers import Store
from tests.store.filesystems.test_servers import record

AZURE_BY_HTTPS = "https://devstoreaccount1.blob.core.windows.net/logs/team"


@pytest.mark.parametrize(
    ("start", "address"), [(remote_servers.s3, ""), (remote_servers.azure, AZURE_BY_HTTPS)]
)
def test_a_file_that_is_added_appears(
    start: Callable[[Path], AbstractContextManager[Store]],
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with start(tmp_path) as store:
        store.set(monkeypatch)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        logdir = address or store.address
        record(f"{logdir}/run", "w0", 3)
        with tensorboard(logdir, tmp_path) as server:
            (run,) = server.wait_ready(1)["runs"]
            assert [worker["name"] for worker in run["workers"]] == ["w0"]
            record(f"{logdir}/run", "w1", 5)
            catalog = server.wait_ready(2)
            assert [worker["name"] for worker in catalog["runs"][0]["workers"]] == ["w0", "w1"]
            assert catalog["problems"] == []
