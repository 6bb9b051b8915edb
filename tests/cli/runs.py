"""Running the command in this process, and the folder that most tests run it on."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from kinetoscope.cli.entry import main
from tests.web.trace_files import write_trace


def run(*arguments: object) -> Result:
    """The command with these arguments. What it raises that is no exit fails the test."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], prog_name="kinetoscope")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def write_logdir(folder: Path) -> Path:
    """Two runs; of the newer one two workers, of the first of these two spans.

    old/host_1.pt.trace.json    new/rank0.1700000000000.pt.trace.json   new/rank0.1700000060000.…
                                new/rank1.1700000000000.pt.trace.json
    """
    import os

    names = {
        "old/host_1.pt.trace.json": ("aten::old", 1_700_000_000),
        "new/rank0.1700000000000.pt.trace.json": ("aten::first", 1_700_000_100),
        "new/rank0.1700000060000.pt.trace.json": ("aten::second", 1_700_000_160),
        "new/rank1.1700000000000.pt.trace.json": ("aten::other", 1_700_000_100),
    }
    for name, (op, written) in names.items():
        os.utime(write_trace(folder / name, op=op), (written, written))
    return folder
