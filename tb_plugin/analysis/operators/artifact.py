"""The stored columns of the Operator and Kernel views: made once per trace, then memory-mapped.

``find_activities`` lists kernels, copies and sets with their launches and waiting times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import F64, I8, I32, Sparse, dense, put, take, where
from ...base.artifact_spec import ArtifactSpec, opens
from ...base.columnar import Writer
from ...base.columns import Array, Packed, packed, packed_few, packed_rows
from ...trace.model import DeviceKind, HostKind, Trace
from ...trace.recipes import FRAMES, SHAPES, STACKS, with_option
from ..accelerator import accelerator
from ..counters.samples import counters_of
from ..modules.sources import source_of
from ..overview.utilization import MatrixUse, kernel_use
from ..recording import no_device_activity, no_launch_figure, not_recorded, says
from .calls import KEEP_IN_MEMORY, Called, Keep, find_calls, spread
from .flops import OddArguments
from .model import Activities, Calls, OperatorColumns, Thread

_NONE = -1


def find_activities(trace: Trace, called: Called, matrix_use: I8) -> Activities:
    """One row per device activity, in the order of the device table.

    ``launch_ns`` runs from the start of the call to the start on the device, ``queue_ns`` from the
    end of the call: what a kernel waits for those before it. Where clocks disagree so much that a
    kernel begins before its call ends, the wait is 0.
    """
    device, host = trace.device, trace.host
    count = len(device)
    launched = where(device.launch >= 0)
    call = take(device.launch, launched)
    launch_ns = np.full(count, _NONE, np.int64)
    queue_ns = np.full(count, _NONE, np.int64)
    waited = take(device.ts, launched) - take(host.ts, call)
    put(launch_ns, launched, np.maximum(waited, 0))
    put(queue_ns, launched, np.maximum(waited - take(host.dur, call), 0))
    return Activities(
        name=device.name,
        kind=device.kind,
        klass=device.klass,
        tensor_core=matrix_use,
        device=device.device.astype(np.int32),
        stream=device.stream.astype(np.int32),
        step=device.step.astype(np.int32),
        ts=device.ts,
        dur_ns=device.dur.astype(np.int64),
        call=called.call_of,
        link=device.link,
        reason=called.credit.reason,
        launch_ns=launch_ns,
        queue_ns=queue_ns,
        grid=spread(device.args.get("grid"), count),
        block=spread(device.args.get("block"), count),
        registers=spread(device.args.get("registers"), count),
        shared_bytes=dense(device.args.get("shared_memory"), count, _NONE),
        blocks_per_sm=_reals(device.args, "blocks_per_sm", count),
        occupancy=_reals(device.args, "occupancy", count),
        bytes=dense(device.args.get("bytes"), count, _NONE),
        source=_of_op(trace, "kernel_file"),
    )


def _reals(args: Mapping[str, Sparse], name: str, count: int) -> F64:
    """A real argument as a dense column; NaN where it is not recorded or negative."""
    result = np.full(count, np.nan)
    if (sparse := args.get(name)) is not None:
        values: NDArray[Any] = sparse.value
        result[sparse.row] = np.where(values >= 0, values, np.nan)
    return result


def _of_op(trace: Trace, name: str) -> I32:
    """A text argument of the op around the launch, such as the file a kernel was generated into."""
    result = np.full(len(trace.device), _NONE, np.int32)
    sparse = trace.host.args.get(name)
    if sparse is None:
        return result
    on_host = spread(sparse, len(trace.host))
    owned = trace.device.op >= 0
    result[owned] = on_host[trace.device.op[owned]]
    return result


_STEM = "operators"


def operators_of(trace: Trace, keep: Keep = KEEP_IN_MEMORY) -> OperatorColumns:
    """The columns; those of the calls as ``keep`` hands them back (``find_calls``)."""
    kernels = np.flatnonzero(trace.device.kind == DeviceKind.KERNEL)
    of_activity = np.full(len(trace.device), MatrixUse.NO, np.int8)
    of_activity[kernels] = kernel_use(trace, kernels)
    called = find_calls(trace, of_activity, keep)
    counters = tuple(
        series
        for row, one in enumerate(trace.devices)
        if one.used
        for series in counters_of(trace, row)
    )
    return OperatorColumns(
        strings=called.strings,
        calls=called.calls,
        stacks=called.stacks,
        paths=called.paths,
        activities=find_activities(trace, called, of_activity),
        first_slice=len(trace.host),
        threads=tuple(Thread(_thread(trace, row)) for row in range(len(trace.threads))),
        devices=tuple(
            f"{one.type} {one.index}{' · ' + one.name if one.name else ''}" for one in trace.devices
        ),
        steps=tuple(trace.strings[code] for code in trace.steps.name.tolist()),
        missing=_missing(trace, called.odd),
        counters=counters,
    )


def _thread(trace: Trace, row: int) -> str:
    threads = trace.threads
    pid, tid = trace.strings[threads.pid[row]], trace.strings[threads.tid[row]]
    name = trace.strings[threads.name[row]]
    if name.startswith(f"thread {tid}"):  # as Kineto names one: "thread 542 (python3)"
        return name if pid == tid else f"{name} (process {pid})"
    place = f"thread {tid}" if pid == tid else f"process {pid}, thread {tid}"
    return f"{name} ({place})" if name else place


def _missing(trace: Trace, odd: OddArguments) -> dict[str, str]:
    """Data that this recording lacks, the reason, and the option that records it."""
    missing = {}
    host, device = trace.host, trace.device
    by = trace.recording.torch_era
    if not says(trace, "input_dims"):
        how = f"No input shapes were recorded: {with_option(SHAPES, by)}."
        missing["shapes"] = not_recorded("input shape", how, by)
    if odd.calls:
        calls = "1 call" if odd.calls == 1 else f"{odd.calls:,} calls"
        missing["flops"] = (
            f"The FLOPs of {calls} are not known, because no op can have been called like that: "
            f"{odd.example}{', for example' if odd.calls > 1 else ''}."
        )
    frames = (host.kind == HostKind.PYTHON).any() or (host.kind == HostKind.MODULE).any()
    if not frames and not says(trace, "call_stack"):
        how = f"No Python frames were recorded: {with_option(STACKS, by)}."
        missing["stacks"] = not_recorded("Python frame", how, by)
    if source_of(trace) not in ("frames", "ranges", "lightning"):
        how = (
            f"No module calls were recorded: {with_option(FRAMES, by)}, or give the trace"
            " handler the model, `modules=model`."
        )
        missing["modules"] = not_recorded("module call", how, by)
    if not len(device):
        missing["device"] = no_device_activity(accelerator(trace), by, trace.health.notes)
    busy = next((one for one in trace.devices if one.used), None)
    for key, column, what in (
        ("occupancy", "occupancy", "achieved occupancy"),
        ("blocks", "blocks_per_sm", "blocks per multiprocessor"),
    ):
        if busy and column not in device.args:
            missing[key] = no_launch_figure(what, busy.vendor, busy.capability)
    if trace.recording.file_format == "perfetto" and (device.kind == DeviceKind.MEMCPY).any():
        missing["direction"] = (
            "A `.pftrace` file does not tell the directions of copies, nor the kinds of memory:"
            " export to a name that ends with `.json.gz`."
        )
    return missing


def make_operators(trace: Trace, folder: Path, on_share: Callable[[float], None]) -> None:
    """Fills an empty folder; tells which share of the work is done.

    Raises:
        OSError: no room, or no permission.
    """
    columns = len(Calls.__struct_fields__)
    kept: list[str] = []
    with Writer(folder, is_packed=True) as writer:

        def store(name: str, column: Packed) -> Array:
            stands = writer.put(f"calls.{name}", column)
            kept.append(name)
            on_share(0.95 * len(kept) / columns)
            return stands

        keep = Keep(
            whole=lambda name, column: store(name, packed(column)),
            part=lambda name, column, rows: store(name, packed_rows(column, rows)),
            few=lambda name, column, count: store(name, packed_few(column, count)),
        )
        writer.close(operators_of(trace, keep), _STEM)


OPERATORS = ArtifactSpec("operators-6", f"{__name__}:make_operators", opens(OperatorColumns, _STEM))
