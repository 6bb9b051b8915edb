"""The digest of one rank, made from its trace, and how it is kept.

Two small files: ``summary`` (a few kilobytes per step: partition, sums, kernel signatures) and
``timing`` (every collective, and the graph of the replay). Both are deflated msgpack; columns are
stored in the narrowest integers that hold them, so equal traces give equal bytes.
"""

from __future__ import annotations

import functools
import typing
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ....base.arrays import I8, I64, cells
from ....base.artifact_spec import ArtifactSpec
from ....base.columnar import DamagedError
from ....base.columnar.fields import number_type
from ....base.intervals import Intervals, intersect, length_within, merge, subtract, union
from ....trace.model import DeviceClass, Link, Trace
from ...device_work import DeviceWork
from ...facts import IDLE_CAUSES
from ...host_activity import Hosts, hosts_of
from ...idle.causes import IdleCauses
from ...idle.names import HeldNames
from ...overview.attribution import device_shares, partitions
from ...steps import Windows, step_windows
from ..lateness.replay import solo_arrivals
from ..model import (
    MOST_FAMILIES,
    MOST_RANKS,
    QUANTILES,
    DeviceInfo,
    DigestCalls,
    DigestFamilies,
    DigestSteps,
    DigestSums,
    RankDigest,
)
from .calls import RankCalls, find_calls, known_number
from .exposure import Exposure, computing, exposure
from .graph import build_graph
from .points import Graph, steps_of
from .ranges import names_of, phases_of, ranges_of, wrappers_of

SUMMARY, TIMING = "summary.msgpack", "timing.msgpack"
FORMAT = 6
LONG_LIST = 8
"""Numbers beyond which a list is stored as a column: a group may have thousands of ranks."""


class _Strings:
    """Texts by code, in the order of their first use."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {"": 0}

    def code(self, text: str) -> int:
        return self.codes.setdefault(text[:_MOST_TEXT], len(self.codes))


_MOST_TEXT = 200


def digest_of(trace: Trace) -> RankDigest:
    """Digest of the rank that a trace recorded."""
    hosts, windows = hosts_of(trace), step_windows(trace)
    around = _with_scheduling(trace, windows)
    strings = _Strings()
    found = find_calls(trace)
    graph = build_graph(trace, hosts, around, found.calls, strings.code)
    busy = computing(trace, hosts)
    arrival = np.array([one.arrival for one in found.calls], np.int64)
    shown = exposure(trace, hosts, busy, arrival, np.maximum(graph.release, arrival))
    calls, splits = _calls(
        found, graph, shown, windows, strings, phases_of(trace, hosts, windows, found.calls)
    )
    recording = trace.recording
    notes = [*found.notes, *([graph.refused] if graph.refused else [])]
    return RankDigest(
        rank=known_number(recording.rank, MOST_RANKS, -1),
        world_size=known_number(recording.world_size, MOST_RANKS, 0),
        host_name=recording.host_name or "",
        backend=recording.backend or "",
        trace_id=recording.trace_id or "",
        step_source=trace.steps.source,
        base_ns=trace.base_ns,
        duration_ns=trace.end_ns,
        resolution_ns=recording.resolution_ns,
        graph_launches=_graph_launches(trace),
        on_device=bool(len(trace.device)),
        refused=graph.refused,
        devices=_devices(trace),
        groups=found.groups,
        declared=found.declared,
        notes=tuple(notes),
        wrappers=wrappers_of(trace, hosts),
        steps=_steps(trace, hosts, windows, busy, calls),
        sums=_sums(calls, graph),
        families=_families(trace, hosts, windows, strings),
        ranges=ranges_of(trace, hosts, around, strings.code),
        names=names_of(trace, hosts),
        strings=tuple(strings.codes),
        calls=calls,
        split_bytes=splits,
        junctions=graph.junctions,
        edges=graph.edges,
    )


def _with_scheduling(trace: Trace, windows: Windows) -> Windows:
    """The windows; host work between two iterations belongs to the later one."""
    if trace.steps.source != "iteration":
        return windows
    begin, ended = windows.host_start.copy(), windows.host_end[:-1]
    follows = np.diff(trace.steps.number[: len(windows)]) == 1
    begin[1:] = np.where(follows, np.minimum(begin[1:], ended), begin[1:])
    return msgspec.structs.replace(windows, host_start=begin)


def _devices(trace: Trace) -> tuple[DeviceInfo, ...]:
    return tuple(
        DeviceInfo(
            index=one.index,
            name=one.name,
            memory_bytes=one.memory_bytes or 0,
            capability=".".join(map(str, one.capability)) if one.capability else "",
            used=one.used,
            vendor=one.vendor,
        )
        for one in trace.devices
    )


def _graph_launches(trace: Trace) -> int:
    launch = trace.device.launch[trace.device.link == Link.GRAPH]
    return len(np.unique(launch[launch >= 0]))


def _calls(
    found: RankCalls, graph: Graph, shown: Exposure, windows: Windows, strings: _Strings, phase: I8
) -> tuple[DigestCalls, I64]:
    calls = found.calls
    splits: list[int] = []
    first = []
    for one in calls:
        first.append(len(splits) if one.splits else -1)
        splits.extend(one.splits)

    def column(values: Iterable[int], dtype: type = np.int64) -> Any:  # noqa: ANN401
        return np.fromiter(values, dtype, len(calls))

    arrival = column(one.arrival for one in calls)
    table = DigestCalls(
        step=steps_of(windows, [one.issue for one in calls]),
        group=column((one.group for one in calls), np.int32),
        kind=column((strings.code(one.kind) for one in calls), np.int32),
        sequence=column(one.sequence for one in calls),
        comms_id=column((strings.code(one.comms_id) for one in calls), np.int32),
        shape=column((strings.code(one.shape) for one in calls), np.int32),
        in_bytes=column(one.in_bytes for one in calls),
        out_bytes=column(one.out_bytes for one in calls),
        issue_ns=column(one.issue for one in calls),
        arrival_ns=arrival,
        release_ns=np.maximum(graph.release, arrival),
        exposed_ns=shown.exposed_ns,
        blocking_ns=shown.blocking_ns,
        unknown_ns=shown.unknown_ns,
        covered=shown.covered,
        peer=column((one.peer for one in calls), np.int32),
        on_device=column((bool(one.device_rows) for one in calls), np.int8),
        name=column((strings.code(one.name) for one in calls), np.int32),
        raw=column((one.raw for one in calls), np.int32),
        splits=np.array(first, np.int32),
        phase=phase,
    )
    return table, np.array(splits, np.int64)


# --- steps ----------------------------------------------------------------------------------------


def _steps(
    trace: Trace, hosts: Hosts, windows: Windows, busy: Intervals, calls: DigestCalls
) -> DigestSteps:
    start, end = windows.start, windows.end
    communication = union(calls.arrival_ns, calls.release_ns)
    under_way = length_within(communication, start, end)
    overlap = length_within(intersect(communication, busy), start, end)
    zero = np.zeros(len(windows), np.int64)
    used = [row for row, one in enumerate(trace.devices) if one.used]
    if used:
        row = used[_busiest(trace, used)]
        of_device = DeviceWork(trace, row)
        table = IdleCauses(HeldNames(trace, hosts), windows).of_device(of_device)
        start_up = length_within(table.start_up, start, end)
        first = partitions(device_shares(of_device, windows), table.ns, start_up)

        def column(name: str) -> I64:
            return np.array([getattr(one, name) for one in first], np.int64)

        columns = {
            name: column(name)
            for name in ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "memset_ns",
                         "idle_ns", "overlap_ns")
        }  # fmt: skip
        idle = {
            "loader_ns": column("idle_dataloader_ns"),
            "idle_causes": table.ns,
            "start_up_ns": start_up,
        }
        under_way = columns["exposed_communication_ns"] + columns["overlap_ns"]
        mine = trace.device.rows_of(row)
        work = union(trace.device.ts[mine], trace.device.ts[mine] + trace.device.dur[mine])
    else:
        compute = length_within(busy, start, end)
        columns = {
            "compute_ns": compute,
            "exposed_communication_ns": under_way - overlap,
            "exposed_copy_ns": zero,
            "memset_ns": zero,
            "idle_ns": (end - start) - compute - (under_way - overlap),
            "overlap_ns": overlap,
        }
        loader = length_within(hosts.ranges(hosts.loader), start, end)
        idle = {
            "loader_ns": loader,
            "idle_causes": np.zeros((len(windows), len(IDLE_CAUSES)), np.int64),
            "start_up_ns": zero,
        }
        work = merge(busy, communication)
    return DigestSteps(
        number=trace.steps.number[: len(windows)].astype(np.int64),
        start_ns=start,
        end_ns=end,
        excluded=np.array([why is not None for why in windows.excluded], np.int8),
        communication_ns=under_way,
        idle_around_ns=_idle_around(windows, work, hosts.ranges(hosts.loader)),
        **columns,
        **idle,
    )


def _idle_around(windows: Windows, work: Intervals, loader: Intervals) -> I64:
    """Time of each step before its first and after its last work, without the DataLoader."""
    start, end = windows.start, windows.end
    around = union(start, end)
    if len(work):
        # Without any work in a step the next and the one before lie beyond it: all of it counts.
        first = work.start[np.minimum(np.searchsorted(work.end, start, "right"), len(work) - 1)]
        last = work.end[np.maximum(np.searchsorted(work.start, end) - 1, 0)]
        before, after = np.clip(first, start, end), np.clip(last, start, end)
        around = union(np.concatenate([start, after]), np.concatenate([before, end]))
    return length_within(subtract(around, loader), start, end)


def _busiest(trace: Trace, used: list[int]) -> int:
    return int(np.argmax([int(trace.device.dur[trace.device.rows_of(row)].sum()) for row in used]))


def _sums(calls: DigestCalls, graph: Graph) -> DigestSums:
    """Sums of collectives, and quantiles of the work of this rank before each."""
    transfer = shortest_transfers(calls)
    arrival = solo_arrivals(graph.junctions, graph.edges, transfer)
    work = work_before(arrival, calls)
    keys = np.stack([calls.step, calls.group, calls.kind], axis=1)
    found, of_call = (
        np.unique(keys, axis=0, return_inverse=True)
        if len(calls)
        else (np.zeros((0, 3), np.int64), np.zeros(0, np.int64))
    )
    of_call = of_call.reshape(-1)

    def total(values: I64) -> I64:
        return np.bincount(of_call, np.maximum(values, 0), len(found)).astype(np.int64)

    ranks = np.zeros((len(found), len(QUANTILES)), np.int64)
    for row in range(len(found)):
        here = work[(of_call == row) & (work >= 0)]
        if len(here):
            ranks[row] = np.quantile(here, QUANTILES).astype(np.int64)
    return DigestSums(
        step=found[:, 0].astype(np.int32),
        group=found[:, 1].astype(np.int32),
        kind=found[:, 2].astype(np.int32),
        count=np.bincount(of_call, minlength=len(found)).astype(np.int64),
        bytes=total(calls.in_bytes),
        duration_ns=total(calls.release_ns - calls.arrival_ns),
        exposed_ns=total(calls.exposed_ns),
        blocking_ns=total(calls.blocking_ns),
        unknown_ns=total(calls.unknown_ns),
        quantiles=ranks,
    )


def shortest_transfers(calls: DigestCalls) -> I64:
    """For each collective the shortest of its operation, group and size on this rank alone."""
    result: I64 = np.zeros(len(calls), np.int64)
    dur = calls.release_ns - calls.arrival_ns
    size = np.log2(np.maximum(calls.in_bytes, 1)).astype(np.int64)
    keys = np.stack([calls.kind, calls.group, size], axis=1)
    if len(calls):
        found, of_call = np.unique(keys, axis=0, return_inverse=True)
        least = np.full(len(found), np.iinfo(np.int64).max)
        np.minimum.at(least, of_call.reshape(-1), dur)
        result = least[of_call.reshape(-1)]
    return result


def work_before(arrival: I64, calls: DigestCalls) -> I64:
    """Own work before each arrival: from the last arrival before it in the same step; −1 unknown.

    ``arrival`` are times of a replay in which this rank never waits, −1 where there is none.
    """
    work = np.full(len(arrival), -1, np.int64)
    known = np.flatnonzero(arrival >= 0)
    order = known[np.argsort(arrival[known], kind="stable")]
    if len(order) > 1:
        same = calls.step[order[1:]] == calls.step[order[:-1]]
        work[order[1:]] = np.where(same, np.diff(arrival[order]), -1)
    return work


# --- kernels --------------------------------------------------------------------------------------


def _families(trace: Trace, hosts: Hosts, windows: Windows, strings: _Strings) -> DigestFamilies:
    """The signatures that take most time in each step, kernels or, without a device, ops."""
    if len(trace.device):
        rows = np.flatnonzero(
            (trace.device.klass == DeviceClass.COMPUTE) & (trace.device.step >= 0)
        )
        name, step = trace.device.name[rows], trace.device.step[rows]
        dur = trace.device.dur[rows]
        grid = cells(trace.device.args.get("grid"), rows, 0)
        block = cells(trace.device.args.get("block"), rows, 0)
    else:
        rows = np.flatnonzero(hosts.op & ~hosts.collective & (trace.host.step >= 0))
        name, step = trace.host.name[rows], trace.host.step[rows]
        dur = trace.host.self_ns[rows]
        grid = block = np.zeros(len(rows), np.int64)
    columns: dict[str, list[int]] = {key: [] for key in DigestFamilies.__struct_fields__}
    for number in range(len(windows)):
        here = np.flatnonzero(step == number)
        if not len(here):
            continue
        keys = np.stack([name[here], grid[here], block[here]], axis=1)
        found, member = np.unique(keys, axis=0, return_inverse=True)
        member = member.reshape(-1)
        totals = np.bincount(member, dur[here], len(found))
        for one in np.argsort(-totals, kind="stable")[:MOST_FAMILIES].tolist():
            own = dur[here][member == one]
            texts = [trace.text(int(code)) for code in found[one]]
            label = "|".join(texts[:1] if not len(trace.device) else texts)
            values = (
                number, strings.code(texts[0]), zlib.crc32(label.encode()), len(own),
                int(own.sum()), *np.quantile(own, (0.5, 0.95)).astype(np.int64).tolist(),
            )  # fmt: skip
            for key, value in zip(columns, values, strict=True):
                columns[key].append(value)
    return DigestFamilies(
        step=np.array(columns["step"], np.int32),
        name=np.array(columns["name"], np.int32),
        signature=np.array(columns["signature"], np.int64),
        count=np.array(columns["count"], np.int64),
        total_ns=np.array(columns["total_ns"], np.int64),
        p50_ns=np.array(columns["p50_ns"], np.int64),
        p95_ns=np.array(columns["p95_ns"], np.int64),
    )


# --- as bytes -------------------------------------------------------------------------------------

_TIMING = ("calls", "split_bytes", "junctions", "edges")


def encode(digest: RankDigest) -> tuple[bytes, bytes]:
    """The summary and the timing as bytes."""
    fields = {name: getattr(digest, name) for name in digest.__struct_fields__}
    timing = {name: fields.pop(name) for name in _TIMING}
    return tuple(  # type: ignore[return-value]
        zlib.compress(
            msgspec.msgpack.encode({"format": FORMAT, **{k: _packed(v) for k, v in part.items()}}),
            6,
        )
        for part in (fields, timing)
    )


def decode(summary: bytes, timing: bytes) -> RankDigest:
    """The digest again.

    Raises:
        DamagedError: these are not the bytes of a digest.
    """
    try:
        told: dict[str, Any] = {}
        for part in (summary, timing):
            read = msgspec.msgpack.decode(_inflated(part))
            if read.pop("format") != FORMAT:
                raise DamagedError("a digest of another version")
            told.update(read)
        hints = _hints(RankDigest)
        return RankDigest(**{name: _unpacked(hint, told[name]) for name, hint in hints.items()})
    except (zlib.error, msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"this is no digest of a rank: {error}") from None


_MOST_BYTES = 1 << 30


def _inflated(part: bytes) -> bytes:
    inflater = zlib.decompressobj()
    text = inflater.decompress(part, _MOST_BYTES)
    if inflater.unconsumed_tail:
        raise DamagedError("a digest that would fill the memory")
    return text


def _packed(value: Any) -> Any:  # noqa: ANN401  what msgpack takes
    if isinstance(value, np.ndarray):
        flat = value.T.reshape(-1)  # numbers of one kind beside each other
        plain = _narrowest(flat).tobytes()
        if value.ndim == 1 and len(flat) > 1:
            # Times ascend, and so do references: their differences are narrow.
            small = _narrowest(np.diff(flat.astype(np.int64), prepend=0))
            if len(zlib.compress(small.tobytes(), 1)) < len(zlib.compress(plain, 1)):
                return [small.dtype.str, list(value.shape), True, small.tobytes()]
        return [_narrowest(flat).dtype.str, list(value.shape), False, plain]
    if isinstance(value, msgspec.Struct):
        return {name: _packed(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple) and len(value) > LONG_LIST and type(value[0]) is int:
        return _packed(np.array(value, np.int64))
    if isinstance(value, tuple):
        return [_packed(one) for one in value]
    return value


def _narrowest(values: np.ndarray) -> np.ndarray:
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _unpacked(hint: Any, told: Any) -> Any:  # noqa: ANN401  of the annotation
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = _hints(hint)
        return hint(**{name: _unpacked(one, told[name]) for name, one in hints.items()})
    if typing.get_origin(hint) is tuple:
        return _unpacked_tuple(typing.get_args(hint)[0], told)
    dtype = number_type(hint)
    if dtype is None:
        if not isinstance(told, hint):
            raise TypeError(f"{told!r} is no {hint}")
        return told
    return _unpacked_column(dtype, told)


def _unpacked_column(dtype: Any, told: Any) -> np.ndarray:  # noqa: ANN401  what msgpack gave
    kind, shape, rises, data = told
    column = np.frombuffer(data, np.dtype(kind))
    if rises:
        return np.cumsum(column, dtype=np.int64).astype(dtype, copy=False)
    return np.ascontiguousarray(column.astype(dtype).reshape(shape[::-1]).T)


def _unpacked_tuple(inner: Any, told: Any) -> tuple[Any, ...]:  # noqa: ANN401  what msgpack gave
    if inner is int and told and type(told[0]) is str:
        return _same(tuple(_unpacked_column(np.int64, told).tolist()))
    if inner in {int, str} and all(type(one) is inner for one in told):
        return tuple(told)
    return tuple(_unpacked(inner, one) for one in told)


@functools.lru_cache(256)
def _same(ranks: tuple[int, ...]) -> tuple[int, ...]:
    """One tuple for all equal ones: a thousand ranks name the same group of a thousand."""
    return ranks


def make_digest(trace: Trace, folder: Path, on_share: Callable[[float], None]) -> None:
    """Fills an empty folder with the digest of a trace.

    Raises:
        OSError: no room, or no permission.
    """
    digest = digest_of(trace)
    on_share(0.9)
    for name, part in zip((SUMMARY, TIMING), encode(digest), strict=True):
        (folder / name).write_bytes(part)


def open_digest(folder: Path) -> RankDigest:
    """The digest in a folder.

    Raises:
        DamagedError: a file is not there, or damaged.
    """
    try:
        parts = [(folder / name).read_bytes() for name in (SUMMARY, TIMING)]
    except OSError as error:
        raise DamagedError(f"the digest in {folder} cannot be read: {error}") from None
    return decode(*parts)


DIGEST: ArtifactSpec[RankDigest] = ArtifactSpec(
    "digest-2",
    "kinetoscope.analysis.distributed.rank.digest:make_digest",
    open_digest,
    kept=4096,  # a run has many, and all of them are compared
    is_mapped=False,
)
"""The digest as an artifact of a trace."""
