"""``kinetoscope demo``: show samples in TensorBoard, and record a small training beside."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
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
    "--samples", is_flag=True, help="Show recorded samples, record nothing.  [default: off]"
)
@click.option(
    "--list", "lists", is_flag=True, help="Say what each recorded sample shows.  [default: off]"
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="TensorBoard's port.  [default: the first free one from 6006 on]",
)
@click.option("--prepare", hidden=True, help="A command before the recording: it brings torch.")
def demo(
    logdir: str, no_serve: bool, samples: bool, lists: bool, port: int | None, prepare: str | None
) -> None:
    """Records a small training and shows it in TensorBoard.

    The training runs on the CPU for some seconds; it needs torch. In a checkout recorded samples
    are shown at once, and the training appears beside them; without torch they are shown alone.
    """
    if lists:
        list_samples()
        return
    end_gently()
    if hasattr(signal, "SIGHUP"):  # a terminal that is closed ends what was started, too
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
    commands = [] if samples else recording(logdir, prepare)
    folder = recorded_samples() if not no_serve or not commands else None
    if folder is None and not commands:
        raise UnavailableError("recording the demo needs torch", hint="pip install torch")
    if not commands and not samples:
        say("torch is not installed: showing recorded samples", hint="pip install torch")
    with Children() as children:
        if folder is not None:
            shutil.copytree(folder, logdir, dirs_exist_ok=True)
        elif not children.run(commands):
            raise ChildError("the sample training failed", hint="what it said is above")
        if no_serve:
            path = shlex.quote(logdir)
            ways = f"kinetoscope serve {path}, or kinetoscope show overview {path}"
            say(f"the traces are below {logdir}", hint=ways)
        else:
            beside = commands if folder is not None else ()
            show(logdir, port or free_port(Address(), FIRST_PORT), children, beside)


def recording(logdir: str, prepare: str | None) -> list[list[str]]:
    """The commands that record the sample training, one after the other; none without torch."""
    command = [sys.executable, "-m", RECORDER, "--logdir", str(Path(logdir, "sample"))]
    if has_torch():
        return [command]
    return [shlex.split(prepare), command] if prepare else []


def has_torch() -> bool:
    """True if a training can be recorded here."""
    return importlib.util.find_spec("torch") is not None


def list_samples() -> None:
    """Print the first sentence on each recorded sample, and how to look at it.

    Raises:
        UnavailableError: there are none here.
    """
    # A demo that shows samples in TensorBoard reads none of them itself.
    from ..analysis.advice.rule import thresholds
    from ..session.session import choose
    from ..views.overview.view import VIEW as OVERVIEW
    from ..views.overview.view import advice_on

    folder = recorded_samples()
    if folder is None:
        raise UnavailableError("no recorded samples are here", hint="kinetoscope demo records one")
    for run in sorted(one.name for one in folder.iterdir() if one.is_dir()):
        subject = choose(str(folder / run)).session().subject(OVERVIEW)
        click.echo(f"{run}: {advice_on(subject, '', '', thresholds()).headline}")
    click.echo(f"\nkinetoscope serve {shlex.quote(str(folder))}")


class Children:
    """Processes that end when this one does, with all that they have started.

    Each has a session of its own: Ctrl-C reaches this process alone, so none of them has a word
    to say about it.
    """

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._is_over = False

    def __enter__(self) -> Children:  # noqa: PYI034  # Self is of Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, where: TracebackType | None
    ) -> None:
        with self._lock:
            self._is_over = True
        for child in self._started:
            _end(child)

    def start(
        self, command: Sequence[str], output: IO[bytes] | None = None
    ) -> subprocess.Popen[bytes] | None:
        """Start a process; None where the others have been ended."""
        with self._lock:
            if self._is_over:
                return None
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                start_new_session=True,
            )
            self._started.append(child)
            return child

    def run(self, commands: Sequence[Sequence[str]]) -> bool:
        """Run commands one after the other; False where one failed."""
        for command in commands:
            child = self.start(command)
            if child is None or child.wait():
                return False
        return True

    def run_beside(self, commands: Sequence[Sequence[str]], logdir: str) -> None:
        """The same in a thread, which says at the end how it went."""
        if self.run(commands):
            say(f"the training is recorded below {logdir}/sample: the page lists it as a run")
        elif not self._is_over:
            say("no training was recorded: the samples are shown alone")


def recorded_samples() -> Path | None:
    """The folder of recorded samples, if there is one."""
    for folder in SAMPLES:
        if folder.is_dir():
            records, _ = look(resolve(str(folder), None))
            if any(record.accepted for record in records.values()):
                return folder
    return None


def show(logdir: str, port: int, children: Children, beside: Sequence[Sequence[str]] = ()) -> None:
    """Start TensorBoard, print its address, run commands beside it, and wait for it.

    Raises:
        ChildError: it did not start.
    """
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--port", str(port)]
    address = f"http://localhost:{port}/"
    with tempfile.TemporaryFile() as said:
        child = children.start(command, said)
        if child is None:
            return
        _wait_for(child, address, said)
        click.echo(f"TensorBoard shows {logdir} at {address}#{plugin_name()} (Ctrl-C ends it)")
        if beside:
            given = (beside, logdir)
            threading.Thread(target=children.run_beside, args=given, daemon=True).start()
        child.wait()


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
    """End a process and those that it started, gently first."""
    if child.poll() is None:
        _signal(child, signal.SIGTERM)
        try:
            child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if os.name == "posix":  # what is left of its session
        _signal(child, signal.SIGKILL)


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    if os.name != "posix":
        child.terminate()
        return
    with suppress(ProcessLookupError):
        os.killpg(child.pid, number)
