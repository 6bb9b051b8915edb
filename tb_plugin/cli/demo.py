"""``kinetoscope demo``: record a small training and show it in TensorBoard."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

import click

from ..base.errors import KinetoscopeError, UnavailableError
from ..session.folder import look
from ..store.discovery.walk import resolve
from ..web.serve import Address, free_port
from ..web.tab import plugin_name
from .entry import end_gently, say

FIRST_PORT = 6006
START_SECONDS = 60.0
END_SECONDS = 10.0
PACKAGE = Path(__file__).resolve().parent.parent
SAMPLES = (PACKAGE / "samples" / "traces", PACKAGE.parent / "samples" / "traces")
"""Where recorded samples may lie: in the package, or beside it in a checkout."""
RECORDER = "kinetoscope.handlers.sample_training"


class ChildError(KinetoscopeError):
    """A child process failed."""

    kind = "child"


@click.command()
@click.option(
    "--logdir", type=click.Path(), default=".demo", show_default=True, help="Where to record."
)
@click.option("--no-serve", is_flag=True, help="Record only.  [default: off]")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="TensorBoard's port.  [default: the first free one from 6006 on]",
)
def demo(logdir: str, no_serve: bool, port: int | None) -> None:
    """Records a small training and shows it in TensorBoard.

    The training runs on the CPU for some seconds; it needs torch. Without torch, recorded samples
    are shown where there are any.
    """
    end_gently()
    if has_torch():
        record(logdir)
    else:
        logdir = recorded_samples()
        say("torch is not installed: showing recorded samples", hint="pip install torch")
    if no_serve:
        path = shlex.quote(logdir)
        ways = f"kinetoscope serve {path}, or kinetoscope show overview {path}"
        say(f"the traces are below {logdir}", hint=ways)
    else:
        show(logdir, port or free_port(Address(), FIRST_PORT))


def has_torch() -> bool:
    """True if a training can be recorded here."""
    return importlib.util.find_spec("torch") is not None


def record(logdir: str) -> None:
    """Run the sample training in a child process, which shows its own progress.

    Raises:
        ChildError: it failed; what it said is above.
    """
    command = [sys.executable, "-m", RECORDER, "--logdir", str(Path(logdir, "sample"))]
    if subprocess.run(command, check=False).returncode:
        raise ChildError("the sample training failed", hint="what it said is above")


def recorded_samples() -> str:
    """The folder of recorded samples.

    Raises:
        UnavailableError: there is none.
    """
    for folder in SAMPLES:
        if folder.is_dir():
            records, _ = look(resolve(str(folder), None))
            if any(record.accepted for record in records.values()):
                return str(folder)
    raise UnavailableError("recording the demo needs torch", hint="pip install torch")


def show(logdir: str, port: int) -> None:
    """Start TensorBoard, print its address, and wait for it.

    Raises:
        ChildError: it did not start.
    """
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--port", str(port)]
    address = f"http://localhost:{port}/"
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            _wait_for(child, address, said)
            click.echo(f"TensorBoard shows {logdir} at {address}#{plugin_name()} (Ctrl-C ends it)")
            child.wait()
        finally:
            _end(child)


def _wait_for(child: subprocess.Popen[bytes], address: str, said: IO[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while child.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}data/environment", timeout=5):  # noqa: S310  # ours
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    said.seek(0)
    words = said.read().decode(errors="replace").strip().splitlines()
    raise ChildError("TensorBoard did not start", hint=words[-1] if words else "it said nothing")


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child process, gently first."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
