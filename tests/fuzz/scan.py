"""Throws damaged traces at the readers until they disagree, crash or hang.

    python -m tests.fuzz.scan --minutes 10 --reader both

The cases run in a process of their own, under a watchdog. What fails is made short and written to
``--out``; the exit status says whether anything failed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import ROOT

from .campaign import Failure, cases, failure, shortest
from .shrink import shrunk
from .targets import TARGETS

HANG_SECONDS = 60
MEMORY_BYTES = 6 << 30
MOST_FAILURES = 10


def main() -> int:
    """Runs the watchdog, or with ``--child`` the cases."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--reader", choices=sorted(TARGETS), default="both")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--bytes", type=int, default=64 * 1024, help="largest piece of a trace")
    parser.add_argument("--out", type=Path, default=ROOT / "test-results" / "fuzz")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--once", type=Path, help="check this file only")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.once:
        found = failure(TARGETS[args.reader], args.once.read_bytes())
        _say("\n".join(found.reasons) if found else "nothing is wrong with it")
        return found is not None
    return _run(args) if args.child else _watch(args)


def _run(args: argparse.Namespace) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    current = _current(args)
    check = TARGETS[args.reader]

    def watched(text: bytes) -> list[str]:
        current.write_bytes(text)
        return check(text)

    end = time.monotonic() + 60 * args.minutes
    known: set[str] = set()
    count = 0
    for text in cases(args.seed, args.bytes):
        if time.monotonic() > end or len(known) >= MOST_FAILURES:
            break
        count += 1
        found = failure(watched, text)
        if found and found.kind not in known:
            known.add(found.kind)
            _tell(shortest(watched, found), args.out / f"{args.reader}_{len(known)}.json")
    current.unlink(missing_ok=True)
    _say(f"{args.reader}: {count} cases, {len(known)} kinds of failure, seed {args.seed}")
    return bool(known)


def _watch(args: argparse.Namespace) -> int:
    """Starts the cases; looks whether they die or hang."""
    current = _current(args)
    command = [sys.executable, "-m", "tests.fuzz.scan"]
    given = ["--reader", args.reader, "--out", str(args.out)]
    child = subprocess.Popen(
        [*command, "--child", "--minutes", str(args.minutes), "--seed", str(args.seed),
         "--bytes", str(args.bytes), *given], cwd=ROOT,
    )  # fmt: skip
    started = time.time()
    while child.poll() is None:
        time.sleep(0.5)
        touched = current.stat().st_mtime if current.exists() else time.time()
        if time.time() - max(touched, started) > HANG_SECONDS:
            child.kill()
            child.wait()
            break
    if child.returncode in (0, 1) or not current.exists():
        return child.returncode
    text = current.read_bytes()
    reason = "hang" if child.returncode == -9 else f"died with {child.returncode}"

    def fails(shorter: bytes) -> bool:
        case = args.out / "shorter.json"
        case.write_bytes(shorter)
        try:
            done = subprocess.run(
                [*command, *given, "--once", str(case)], cwd=ROOT, timeout=10, check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return reason == "hang"
        return done.returncode not in (0, 1)

    text = shrunk(text, fails, most_tries=200)
    _tell(Failure(text, (reason,)), args.out / f"{args.reader}_crash.json")
    return 2


def _current(args: argparse.Namespace) -> Path:
    folder: Path = args.out
    return folder / f"{args.reader}_current.json"


def _tell(found: Failure, path: Path) -> None:
    path.write_bytes(found.text)
    _say(f"\n{path}: {len(found.text)} bytes\n{found.text[:2000]!r}")
    for reason in found.reasons:
        _say(f"  {reason[:2000]}")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
