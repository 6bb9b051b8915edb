"""Collectives of a rank: members, bytes, start and end.

A call whose work runs on a device lasts from the first start to the last end of its kernels. What
communicates on a device without such a call (expert exchange, all-reduce of an inference engine) is
a collective of its own, named by its kernel. On a host back end (gloo) the range on a worker thread
is the exchange, and the op on the calling thread is the call:

    caller   c10d::allreduce_ ▮  aten::… ████        ▮ goes on
    worker           gloo:all_reduce ██████████████
                     arrival         release

Data types and sizes: torch writes "In msg nelems" and "dtype" beside a collective (2.3 and later);
before, shapes of the inputs tell.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

from ....base.arrays import I32, of_names
from ....base.regex import regex
from ....base.units import plural
from ....trace.model import DeviceClass, HostKind, Trace
from ..model import MOST_RANKS, POINT_TO_POINT, RankGroup

KINDS: tuple[tuple[str, str], ...] = (
    ("expert_exchange", r"::ep::|deep_ep|hybrid_ep|moe_(dispatch|combine)"),
    ("reduce_scatter", r"reduce_?scatter"),
    ("all_reduce", r"all_?reduce|cross_device_reduce|(one|two)_?shot"),
    ("all_gather", r"all_?gather"),
    ("all_to_all", r"all_?to_?all"),
    ("broadcast", r"broadcast"),
    ("barrier", r"barrier"),
    ("send_recv", r"send_?recv|batch_isend|p2p|coalesced"),
    ("send", r"i?send"),
    ("recv", r"i?recv"),
    ("gather", r"gather"),
    ("scatter", r"scatter"),
    ("reduce", r"reduce"),
)
"""Operation → names of its calls, ranges and kernels; the first match wins."""
OTHER = "other"
_KINDS = tuple((kind, regex(pattern, re.IGNORECASE)) for kind, pattern in KINDS)
_HOST_RANGE = regex(r"^(gloo|mpi|ucc):")
_CALLER = regex(r"^(c10d|_?c10d_functional(_autograd)?)::")
_WAITS = regex(r"wait")

ITEM_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("byte", "char", "bool", "uint8", "int8", "unsigned char", "signed char"), 1),
    **dict.fromkeys(("half", "bfloat16", "short", "c10::half", "c10::bfloat16", "int16"), 2),
    **dict.fromkeys(("float", "int", "int32", "float32"), 4),
    **dict.fromkeys(("long", "double", "complexfloat", "long int", "int64", "float64"), 8),
    "complexdouble": 16,
}
"""Bytes of an element by the name of its type, in lower case."""


@cache
def kind_of(name: str) -> str:
    """The operation of a collective by the name of its call, range or kernel.

    >>> kind_of("_allgather_base"), kind_of("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL")
    ('all_gather', 'reduce_scatter')
    """
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), OTHER)


@cache
def item_bytes(dtype: str) -> int:
    """Bytes of an element, 0 where the type is unknown."""
    name = dtype.lower()
    return 1 if name.startswith("float8") else ITEM_BYTES.get(name, 0)


class Call(Struct, frozen=True):
    """One collective of one rank; times in ns from the start of the trace."""

    kind: str
    name: str  # of the kernel or the range
    host: int  # row of HostTable of the call, −1
    caller: int  # row of HostTable by which the caller issued it, −1
    device_rows: tuple[int, ...]
    group: int  # row of the groups, −1
    issue: int
    arrival: int
    release: int
    sequence: int = -1
    comms_id: str = ""
    dtype: str = ""
    in_elements: int = -1
    out_elements: int = -1
    splits: tuple[int, ...] = ()  # bytes to each rank of the group, of all_to_allv
    peer: int = -1
    raw: int = -1

    @property
    def in_bytes(self) -> int:
        size = item_bytes(self.dtype)
        return self.in_elements * size if self.in_elements >= 0 and size else -1

    @property
    def out_bytes(self) -> int:
        size = item_bytes(self.dtype)
        return self.out_elements * size if self.out_elements >= 0 and size else -1

    @property
    def shape(self) -> str:
        """Type and sizes, which must match on all ranks; "" if unknown."""
        if self.in_elements < 0 or self.kind == "all_to_all":
            return ""
        return f"{self.dtype} {self.in_elements}"


class RankCalls(Struct, frozen=True):
    """The collectives of a rank in order of arrival, its groups, and unresolved data."""

    calls: tuple[Call, ...]
    groups: tuple[RankGroup, ...]
    declared: tuple[RankGroup, ...]
    notes: tuple[str, ...]


def find_calls(trace: Trace) -> RankCalls:
    """All collectives of a trace that have an extent in time."""
    groups = _Groups(trace)
    notes: list[str] = []
    calls = [*_device_calls(trace, groups, notes), *_host_calls(trace, groups)]
    calls.sort(key=lambda one: (one.arrival, one.release))
    return RankCalls(tuple(calls), tuple(groups.found), groups.declared, tuple(notes))


def known_number(value: int | None, most: int, unknown: int) -> int:
    """A number of the recording between 0 and ``most``, else ``unknown``."""
    return value if value is not None and 0 <= value <= most else unknown


# --- process groups -------------------------------------------------------------------------------


class _Groups:
    """The process groups of a rank, made as calls name them."""

    def __init__(self, trace: Trace) -> None:
        info = trace.recording.metadata.get("distributedInfo")
        self.info: Mapping[str, Any] = info if isinstance(info, dict) else {}
        self.world = known_number(trace.recording.world_size, MOST_RANKS, 0)
        self.backend = trace.recording.backend or ""
        self.declared = tuple(_declared(self.info))
        self.found: list[RankGroup] = []
        self.rows: dict[RankGroup, int] = {}

    def row(self, group: RankGroup) -> int:
        if group not in self.rows:
            self.rows[group] = len(self.found)
            self.found.append(group)
        return self.rows[group]

    def of_args(self, args: Mapping[str, Any]) -> int:
        """The group that the args of a call name; ranks in the order of trust of the sources."""
        name, said = str(args.get("group_name", "")), str(args.get("group_description", ""))
        size = int(args.get("group_size", 0) or 0)
        ranks, whole = _numbers(str(args.get("group_ranks", "")))
        if ranks and whole:
            return self.row(self._made(name, said, ranks, size, "args"))
        for one in self.declared:
            if name and one.name == name and one.ranks and size in (0, len(one.ranks)):
                return self.row(self._made(name, said or one.description, one.ranks, size,
                                           "distributedInfo"))  # fmt: skip
        if not name and not size:
            return self.unnamed()
        if size and size == self.world:
            return self.row(self._made(name, said, tuple(range(size)), size, "world"))
        return self.row(self._made(name, said, (), size, ""))

    def unnamed(self) -> int:
        """The group of a call that names none: the only one there is, else all ranks."""
        several = [one for one in self.declared if len(one.ranks) > 1]
        if len(several) == 1:
            return self.row(several[0])
        if self.world > 1:
            whole = tuple(range(self.world))
            named = next((one for one in several if one.ranks == whole), None)
            return self.row(
                named or RankGroup("", "default_pg", whole, self.world, "world", self.backend)
            )
        return self.row(RankGroup("", "", (), 0, "", self.backend))

    def _made(
        self, name: str, said: str, ranks: tuple[int, ...], size: int, source: str
    ) -> RankGroup:
        known = "" if said == "undefined" else said
        backend = next((one.backend for one in self.declared if one.name == name), self.backend)
        return RankGroup(name, known, tuple(sorted(ranks)), size or len(ranks), source, backend)


def _declared(info: Mapping[str, Any]) -> list[RankGroup]:
    """The groups of ``distributedInfo.pg_config``; entries of another form are skipped."""
    listed = info.get("pg_config")
    found = []
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        ranks = one.get("ranks")
        if isinstance(ranks, str):
            numbers, whole = _numbers(ranks)
            members = numbers if whole else ()
        else:
            members = (
                tuple(r for r in ranks if isinstance(r, int)) if isinstance(ranks, list) else ()
            )
        said = str(one.get("pg_desc") or one.get("uid") or "")
        size = one.get("pg_size")
        found.append(
            RankGroup(
                name=str(one.get("pg_name", "")),
                description="" if said == "undefined" else said,
                ranks=tuple(sorted(members)),
                size=size if isinstance(size, int) else len(members),
                source="distributedInfo",
                backend=str(one.get("backend_config") or one.get("backend") or ""),
            )
        )
    return found


def _numbers(text: str) -> tuple[tuple[int, ...], bool]:
    """The integers of "[0, 1, 2]", and whether the list is whole."""
    numbers = tuple(int(piece) for piece in re.findall(r"\d{1,9}", text))
    return numbers, "..." not in text


# --- on a device ----------------------------------------------------------------------------------

_ARGS = (
    "collective", "collective_dtype", "collective_seq", "comms_id", "in_elements", "out_elements",
    "group_size", "group_name", "group_description", "group_ranks", "peer_rank", "in_split",
)  # fmt: skip
_CODES = frozenset(
    {"collective", "collective_dtype", "comms_id", "group_name", "group_description", "group_ranks",
     "in_split"}
)  # fmt: skip


def _device_calls(trace: Trace, groups: _Groups, notes: list[str]) -> list[Call]:
    device, table = trace.device, trace.collectives
    communicates = device.klass == DeviceClass.COMMUNICATION
    owned = np.zeros(len(device), np.bool_)
    calls, silent = [], 0
    for at, launched in enumerate(table.device_rows):
        rows = launched[communicates[launched]]
        if not len(rows):
            silent += _HOST_RANGE.match(trace.text(trace.host.name[table.host[at]])) is None
            continue
        owned[rows] = True
        host = int(table.host[at])
        args = _args_of(trace, host, rows)
        calls.append(_device_call(trace, groups, trace.text(table.name[at]), host, rows, args))
    for row in np.flatnonzero(communicates & ~owned).tolist():
        alone = np.array([row], np.int32)
        args = _args_of(trace, -1, alone)
        name = str(args.get("collective") or trace.text(device.name[row]))
        calls.append(_device_call(trace, groups, name, int(device.op[row]), alone, args))
    if silent:
        notes.append(
            f"{plural(silent, 'collective')} launched no recorded kernel and"
            f" {'is' if silent == 1 else 'are'} left out. Record the device too."
        )
    return calls


def _device_call(
    trace: Trace, groups: _Groups, name: str, host: int, rows: I32, args: Mapping[str, Any]
) -> Call:
    device = trace.device
    first = int(rows[np.argmin(device.ts[rows])])
    launch = int(device.launch[first])
    arrival, release = int(device.ts[rows].min()), int((device.ts[rows] + device.dur[rows]).max())
    issue = min(int(trace.host.ts[launch]) if launch >= 0 else arrival, arrival)
    kind = kind_of(str(args.get("collective") or name))
    group = groups.of_args(args)
    members = groups.found[group].size
    peer = int(args.get("peer_rank", -1))
    return Call(
        kind=kind,
        name=trace.text(device.name[first]),
        host=host,
        caller=launch,
        device_rows=tuple(rows.tolist()),
        group=group,
        issue=issue,
        arrival=arrival,
        release=release,
        sequence=int(args.get("collective_seq", -1)),
        comms_id=str(args.get("comms_id", "")),
        dtype=str(args.get("collective_dtype", "")),
        in_elements=int(args.get("in_elements", -1)),
        out_elements=_out_elements(kind, args, members),
        splits=_splits(args),
        peer=peer if kind in POINT_TO_POINT else -1,
        raw=int(device.raw[first]),
    )


def _out_elements(kind: str, args: Mapping[str, Any], members: int) -> int:
    if "out_elements" in args:
        return int(args["out_elements"])
    elements = int(args.get("in_elements", -1))
    if elements < 0:
        return -1
    return elements * members if kind == "all_gather" else elements


def _args_of(trace: Trace, host: int, rows: I32) -> dict[str, Any]:
    """Arguments of a call: from its host events, then its kernels, then its shapes."""
    found: dict[str, Any] = {}
    spans = []
    if host >= 0:
        spans.append((trace.host.args, host, _behind(trace, host)))
    spans.extend((trace.device.args, int(row), int(row) + 1) for row in rows[:1])
    for columns, low, high in spans:
        for key in _ARGS:
            column = columns.get(key)
            if column is None or key in found:
                continue
            at = _at(column.row, low)
            if at < len(column.row) and column.row[at] < high:
                value = int(column.value[at])
                found[key] = trace.text(value) if key in _CODES else value
    if host >= 0 and "in_elements" not in found:
        found.update(_shapes(trace, host))
    return found


def _behind(trace: Trace, row: int) -> int:
    """The first row behind an event and all that lies in it."""
    host = trace.host
    end, depth = int(host.ts[row] + host.dur[row]), int(host.depth[row])
    at = row + 1
    while at < len(host) and host.thread[at] == host.thread[row] and host.ts[at] < end:
        if host.depth[at] <= depth:
            break
        at += 1
    return at


def _shapes(trace: Trace, host: int) -> dict[str, Any]:
    """Elements and type by "Input Dims" of the range of the back end, else of any event inside."""
    dims, types = trace.host.args.get("input_dims"), trace.host.args.get("input_types")
    if dims is None or types is None:
        return {}
    low, high = host, _behind(trace, host)
    rows = dims.row[_at(dims.row, low) : _at(dims.row, high)]
    for row in rows[::-1].tolist():  # the innermost is the range of the back end
        known = shape_of(_cell(trace, "input_dims", row), _cell(trace, "input_types", row))
        if known is not None:
            return {"in_elements": known[0], "collective_dtype": known[1]}
    return {}


def _at(rows: I32, row: int) -> int:
    """The place of a row among ascending ones, in their type: numpy would widen all of them."""
    return int(np.searchsorted(rows, rows.dtype.type(row)))


def _cell(trace: Trace, key: str, row: int) -> str:
    column = trace.host.args.get(key)
    if column is None:
        return ""
    at = _at(column.row, row)
    return (
        trace.text(int(column.value[at])) if at < len(column.row) and column.row[at] == row else ""
    )


@cache
def shape_of(dims: str, types: str) -> tuple[int, str] | None:
    """Elements and type of the first input tensor that has sizes.

    >>> shape_of("[[394241]]", '["float"]')
    (394241, 'float')
    """
    try:
        sizes, names = json.loads(dims), json.loads(types)
        if not isinstance(sizes, list) or not isinstance(names, list):
            return None
        for size, name in zip(sizes, names, strict=False):
            elements = _product(size)
            if elements is not None and isinstance(name, str):
                return elements, name
    except (ValueError, RecursionError):
        return None
    return None


def _product(size: object) -> int | None:
    """Elements of one tensor, or of a list of tensors; None where it has no sizes."""
    if not isinstance(size, list) or not size:
        return None
    if all(isinstance(one, int) for one in size):
        result = 1
        for one in size:
            result *= max(int(one), 0)
        return result
    parts = [_product(one) for one in size]
    known = [one for one in parts if one is not None]
    return sum(known) if known else None


def _splits(args: Mapping[str, Any]) -> tuple[int, ...]:
    """Bytes that an all_to_allv sends to each rank of its group, () where that is not known.

    Splits count rows of the buffer; its elements divided by their sum are the length of a row.
    """
    rows, whole = _numbers(str(args.get("in_split", "")))
    size = item_bytes(str(args.get("collective_dtype", "")))
    count = int(args.get("in_elements", -1))
    if not rows or not whole or not size or count < 0:
        return ()
    row = count // sum(rows) if sum(rows) else 0
    return tuple(one * row * size for one in rows)


# --- on the host ----------------------------------------------------------------------------------


def _host_calls(trace: Trace, groups: _Groups) -> list[Call]:
    """Ranges of host back ends, each with the op that issued it where that is found."""
    host = trace.host
    is_range = of_names(
        trace.strings, host.name, lambda text: _HOST_RANGE.match(text) is not None, np.bool_
    )
    rows = np.flatnonzero(is_range & (host.kind != HostKind.RUNTIME))
    if not len(rows):
        return []
    rows = rows[np.argsort(host.ts[rows], kind="stable")]
    group = groups.unnamed()
    issuers = _issuers(trace, rows.astype(np.int32))
    calls = []
    for row, issuer in zip(rows.tolist(), issuers, strict=True):
        name = trace.text(host.name[row])
        kind = kind_of(name.partition(":")[2])
        known = shape_of(_cell(trace, "input_dims", row), _cell(trace, "input_types", row))
        elements, dtype = known if known is not None else (-1, "")
        calls.append(
            Call(
                kind=kind,
                name=name,
                host=row,
                caller=issuer,
                device_rows=(),
                group=group,
                issue=int(host.ts[issuer]) if issuer >= 0 else int(host.ts[row]),
                arrival=int(host.ts[row]),
                release=int(host.ts[row] + host.dur[row]),
                dtype=dtype,
                in_elements=elements,
                out_elements=_out_elements(
                    kind, {"in_elements": elements}, groups.found[group].size
                ),
                peer=_peer(trace, issuer, kind, groups.found[group]),
                raw=int(host.raw[row]),
            )
        )
    return calls


def _issuers(trace: Trace, rows: I32) -> list[int]:
    """For each range of a host back end the op that issued it, −1 where none fits.

    The n-th range of an operation and size belongs to the n-th op of that operation that has a
    tensor of that size. A reduce-scatter runs as an all-reduce where the back end has none.
    """
    host = trace.host
    is_caller = of_names(
        trace.strings, host.name, lambda text: _CALLER.match(text) is not None, np.bool_
    )
    ops = np.flatnonzero(is_caller & (host.kind == HostKind.OP))
    ops = ops[np.argsort(host.ts[ops], kind="stable")]
    kinds = {kind_of(trace.text(host.name[row]).partition(":")[2]) for row in rows.tolist()}
    waiting: dict[tuple[str, int], list[int]] = defaultdict(list)
    for op in ops.tolist():
        name = trace.text(host.name[op])
        if _WAITS.search(name) or (host.parent[op] >= 0 and is_caller[host.parent[op]]):
            continue
        kind = kind_of(name.partition("::")[2])
        if kind == "reduce_scatter" and kind not in kinds:
            kind = "all_reduce"
        for size in {*_sizes(_cell(trace, "input_dims", op)), -1}:
            waiting[kind, size].append(op)
    used: set[int] = set()
    result = []
    for row in rows.tolist():
        kind = kind_of(trace.text(host.name[row]).partition(":")[2])
        known = shape_of(_cell(trace, "input_dims", row), _cell(trace, "input_types", row))
        candidates = waiting[kind, known[0] if known else -1]
        fits = next((op for op in candidates if op not in used and host.ts[op] <= host.ts[row]), -1)
        if fits >= 0:
            used.add(fits)
        result.append(fits)
    return result


@cache
def _sizes(dims: str) -> frozenset[int]:
    """The elements of each input of an op."""
    try:
        listed = json.loads(dims)
        parts = [_product(one) for one in listed] if isinstance(listed, list) else []
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(one for one in parts if one is not None)


def _peer(trace: Trace, op: int, kind: str, group: RankGroup) -> int:
    """The other rank of a send or receive, the root of a broadcast; −1 unknown."""
    if op < 0 or kind not in (*POINT_TO_POINT, "broadcast"):
        return -1
    try:
        values: Sequence[Any] = json.loads(_cell(trace, "concrete_inputs", op))
        local = int(values[2])
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return -1
    return group.ranks[local] if 0 <= local < len(group.ranks) else -1
