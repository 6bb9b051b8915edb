"""Other outputs of a trace: scalars for TensorBoard's other tabs, folded stacks.

    python -m kinetoscope.export TRACE --scalars DIR --step 1200 --stacks FILE

The scalars stand at the training's step, beside its loss: step time, how busy the device was,
communication that nothing hides, the DataLoader, peak memory, the number of findings. What this
recording cannot tell is left out. They go into a directory of their own, which is a run of its own
for TensorBoard: a second event file beside the training's would keep it from following the first.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .base.errors import KinetoscopeError, naming
from .handlers.naming import hidden_name
from .handlers.outputs import appearing
from .handlers.process import process_mark
from .session.session import Session, choose
from .views.operators.contract import FoldedQuery
from .views.operators.view import VIEW as OPERATORS
from .views.operators.view import folded_stacks
from .views.overview.view import VIEW as OVERVIEW
from .views.overview.view import Overview, OverviewQuery

_NICE = 10
_MIB = 1 << 20


def scalars(session: Session) -> dict[str, float]:
    """The figures of the mean step by tag; those that this recording cannot tell are missing."""
    overview = OVERVIEW.build(session.asked(OVERVIEW), OverviewQuery())
    assert isinstance(overview, Overview)
    found: dict[str, float] = {"profile/findings": len(overview.findings)}
    ruler = overview.ruler
    if ruler.step_count:
        found["profile/step_time_ms"] = ruler.mean_ns / 1e6
        parts = {share.key: share.mean_ns / 1e6 for share in ruler.shares}
        exposed = parts.get("exposed_communication_ns", parts.get("communication_ns"))
        if exposed is not None:
            found["profile/exposed_communication_ms"] = exposed
        if "dataloader_ns" in parts:
            found["profile/dataloader_ms"] = parts["dataloader_ns"]
        if ruler.busy_ns is not None and ruler.mean_ns:
            found["profile/device_busy_ratio"] = ruler.busy_ns / ruler.mean_ns
    peaks = [
        device.peak_allocated_bytes
        for device in session.facts().devices
        if device.peak_allocated_bytes is not None
    ]
    if peaks:
        found["profile/peak_memory_mib"] = max(peaks) / _MIB
    return found


def write_scalars(
    values: Mapping[str, float], directory: Path, step: int, hparams: Mapping[str, object]
) -> None:
    """Write an event file: the values at a step, hyperparameters, and a mark that shows our tab.

    It appears whole, or not at all.
    """
    from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
    from tensorboard.plugins.hparams import summary_v2
    from tensorboard.summary.writer.record_writer import RecordWriter

    from .web.tab import plugin_name

    summary = summary_pb2.Summary()
    for tag, value in values.items():
        summary.value.add(tag=tag, simple_value=value)
    mark = summary.value.add(tag="profile")
    mark.metadata.plugin_data.plugin_name = plugin_name()
    mark.tensor.CopyFrom(tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[b"trace"]))
    now = time.time()
    events = [event_pb2.Event(wall_time=now, file_version="brain.Event:2")]
    told = {key: value for key, value in hparams.items() if isinstance(value, _OF_HPARAMS)}
    if told:
        events.append(event_pb2.Event(wall_time=now, summary=summary_v2.hparams_pb(told)))
    events.append(event_pb2.Event(wall_time=now, step=step, summary=summary))
    packed = io.BytesIO()
    for event in events:
        RecordWriter(packed).write(event.SerializeToString())
    directory.mkdir(parents=True, exist_ok=True)
    where = f"{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"
    # Under no name that TensorBoard reads: its own writer shows half a file, and prints what fails.
    hidden = directory / hidden_name("scalars", process_mark())
    try:
        hidden.write_bytes(packed.getvalue())
        hidden.replace(directory / f"events.out.tfevents.{int(now):010d}.{where}")
    finally:
        hidden.unlink(missing_ok=True)


_OF_HPARAMS = (bool, int, float, str)


def write_stacks(session: Session, path: Path) -> None:
    """Write folded stacks: a line per path of calls, its nanoseconds behind it."""
    subject = session.subject(OPERATORS)
    with appearing(path) as hidden, hidden.open("wb") as file:
        file.writelines(folded_stacks(subject, FoldedQuery()))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code; 1 with one line that says why."""
    parser = argparse.ArgumentParser(prog="python -m kinetoscope.export", description=__doc__)
    parser.add_argument("trace", help="a trace file")
    parser.add_argument("--scalars", type=Path, metavar="DIR", help="for an event file")
    parser.add_argument("--stacks", type=Path, metavar="FILE", help="for folded stacks")
    parser.add_argument("--step", type=int, help="of the training; by default the last recorded")
    parser.add_argument("--hparams", type=json.loads, default={}, help="JSON, for the HParams tab")
    options = parser.parse_args(arguments)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)
    try:
        session = choose(options.trace).session()
        if options.scalars is not None:
            step = options.step
            if step is None:
                step = max((one.number or 0 for one in session.facts().steps), default=0)
            with naming(str(options.scalars)):
                write_scalars(scalars(session), options.scalars, step, options.hparams)
        if options.stacks is not None:
            with naming(str(options.stacks)):
                write_stacks(session, options.stacks)
    except (KinetoscopeError, OSError, MemoryError) as error:
        sys.stderr.write(f"{str(error) or 'there is not enough memory'}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
