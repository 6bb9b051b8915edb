"""Stands in for the sample training, which takes its time: writes a drawn trace."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.web.trace_files import write_trace

if __name__ == "__main__":
    flag, logdir = sys.argv[1:]
    assert flag == "--logdir"
    write_trace(Path(logdir, "x.pt.trace.json"))
