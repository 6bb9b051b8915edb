"""Servers of object stores on this machine, each with an address to write to and to read from.

S3 is moto's server, Google's store gcp-storage-emulator, Azure's Azurite (`make` installs it into
.venv/azurite). HDFS has no server here: a small one of the tests speaks WebHDFS, and pyarrow's
filesystem of this machine stands in for `hdfs://`, behind the same wrapper of fsspec.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import web_hdfs as web_hdfs_server
from tests.conftest import ROOT

START_SECONDS = 60.0
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own key, which its documentation prints."""
EMPTY = (
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_SESSION_TOKEN"),
    *("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"),
)


@dataclass(frozen=True)
class Store:
    """A running store: an address in it, and the variables with which it is reached."""

    address: str
    environment: Mapping[str, str]

    def set(self, patch: pytest.MonkeyPatch) -> None:
        for name in EMPTY:
            patch.delenv(name, raising=False)
        for name, value in self.environment.items():
            patch.setenv(name, value)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def needs(*modules: str) -> None:
    """Skip where a library is not installed."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")


@contextmanager
def _running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    """A server, once it listens. Where it cannot be started, the test is skipped with its words."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    try:
        until = time.monotonic() + START_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None or time.monotonic() > until:
                text = (folder / "server.log").read_text(errors="replace").strip()
                last = text.splitlines()[-1] if text else "it said nothing"
                pytest.skip(f"the server cannot be started here: {last}")
            time.sleep(0.1)
        _forget_filesystems()
        with no_proxy():
            yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _forget_filesystems() -> None:
    """Close what fsspec keeps by address: the same address is another server's now."""
    import fsspec

    kinds = [fsspec.AbstractFileSystem]
    for kind in kinds:
        kinds += kind.__subclasses__()
        kind.clear_instance_cache()


@contextmanager
def no_proxy() -> Iterator[None]:
    """This machine is reached without the proxy that the environment may name."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_PROXY", "no_proxy"):
            patch.setenv(name, "127.0.0.1,localhost")
        yield


@contextmanager
def s3(folder: Path, port: int | None = None) -> Iterator[Store]:
    """A server of S3, with the bucket ``logs``."""
    needs("moto.server", "s3fs")
    import s3fs

    port = port or free_port()
    code = f"import sys; from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    with _running([sys.executable, "-c", code], port, folder):
        store = Store(
            "s3://logs/team",
            {
                "AWS_ACCESS_KEY_ID": "AKIAEXAMPLEEXAMPLE00",
                "AWS_SECRET_ACCESS_KEY": "example/secret/of/the/tests",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_MAX_ATTEMPTS": "2",  # a server that hangs must not hold the tests
                "S3_ENDPOINT": f"http://127.0.0.1:{port}",
            },
        )
        s3fs.S3FileSystem(
            key=store.environment["AWS_ACCESS_KEY_ID"],
            secret=store.environment["AWS_SECRET_ACCESS_KEY"],
            endpoint_url=store.environment["S3_ENDPOINT"],
            skip_instance_cache=True,
        ).mkdir("logs")
        yield store


@contextmanager
def google(folder: Path) -> Iterator[Store]:
    """A server of Google's store, with the bucket ``logs``."""
    needs("gcp_storage_emulator", "gcsfs")
    port = free_port()
    command = [shutil.which("gcp-storage-emulator", path=Path(sys.executable).parent) or ""]
    command += ["start", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--in-memory", "--default-bucket", "logs"]
    with _running(command, port, folder):
        yield Store(
            "gs://logs/team",
            {
                "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
                # gcsfs asks Google by another protocol first, which no emulator speaks.
                "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
            },
        )


@contextmanager
def azure(folder: Path) -> Iterator[Store]:
    """A server of Azure's store, with the container ``logs``."""
    needs("adlfs")
    program = ROOT / ".venv/azurite/node_modules/azurite/dist/src/blob/main.js"
    node = shutil.which("node")
    if not program.is_file() or node is None:
        pytest.skip("Azurite is not installed: `make .venv/.azurite`")
    import adlfs

    port = free_port()
    command = [node, str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    command += ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent"]
    with _running(command, port, folder):
        connection = (
            "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
            f"AccountKey={KEY};BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
        )
        adlfs.AzureBlobFileSystem(connection_string=connection, skip_instance_cache=True).mkdir(
            "logs"
        )
        yield Store("az://logs/team", {"AZURE_STORAGE_CONNECTION_STRING": connection})


@contextmanager
def web_hdfs(_: Path) -> Iterator[Store]:
    """A small server of WebHDFS's interface."""
    needs("fsspec", "requests")
    with web_hdfs_server.running() as server, no_proxy():
        yield Store(f"webhdfs://127.0.0.1:{server.server_address[1]}/logs/team", {})


def hdfs_stand_in(folder: Path, patch: pytest.MonkeyPatch) -> Store:
    """``hdfs://`` of this process, as a folder of this machine."""
    needs("pyarrow")
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    class StandIn(ArrowFSWrapper):  # type: ignore[misc]  # fsspec carries no types
        protocol = "hdfs"
        cachable = False

        def __init__(self, **_: object) -> None:
            super().__init__(SubTreeFileSystem(str(folder), LocalFileSystem()))

        @staticmethod
        def _get_kwargs_from_urls(_: str) -> dict[str, object]:
            return {}

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return "/" + path.removeprefix("hdfs://namenode:8020").strip("/")

    registry = importlib.import_module("fsspec.registry")
    patch.setitem(registry._registry, "hdfs", StandIn)
    return Store("hdfs://namenode:8020/logs/team", {})
