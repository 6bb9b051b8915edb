"""One side of a comparison: chosen steps of a recording, and what ran in them by name.

``Items`` are rows under keys (operators, kernels, modules, allocation sites), summed by key and by
step. Keys are texts, so that two recordings can be matched.

A kernel has another name on another device. Its *role* has not: the family of the kernel, the
operator that launched it, without the name of a vendor's library, and that operator's shapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64
from ...base.group_sums import summed
from ...base.regex import regex
from ...trace.model import DeviceKind
from ..kernel_families import family_of
from ..memory.model import MemoryColumns, MemoryDevice
from ..memory.peak import alive, peaks
from ..modules.model import ModuleColumns
from ..operators.groups import in_steps, paired
from ..operators.model import CallKind, OperatorColumns
from ..operators.table import CallSelection, chosen_rows
from ..speed_of_light.figures import SpeedSelection, lit_device
from ..speed_of_light.model import SpeedColumns
from ..steps import Selection
from .noise import judged

HOST_KINDS = frozenset({CallKind.OP, CallKind.ANNOTATION})
METRICS = ("self_ns", "total_ns", "device_self_ns", "device_total_ns")
LIGHT = ("light_ns", "known_ns", "compute_bound_ns", "known_flops", "known_bytes")
"""Sums of ``SpeedGroups`` over work with light."""
_STEP = regex(r"ProfilerStep#\d+")


class Side(Struct, frozen=True, eq=False, dict=True):
    """Chosen steps of one recording; ``repeats`` are further recordings of the same code."""

    selection: Selection
    operators: OperatorColumns
    modules: ModuleColumns | None = None
    memory: MemoryColumns | None = None
    speed: SpeedColumns | None = None
    repeats: tuple[Side, ...] = ()

    @property
    def count(self) -> int:
        """Chosen steps, at least 1."""
        return max(self.selection.count, 1)

    @cached_property
    def step_times(self) -> tuple[int, ...]:
        """Lengths of the chosen steps in ns; () where the whole recording counts as one step."""
        whole = self.selection.facts.step_source == "whole_trace"
        return () if whole else tuple(map(self.selection.length_ns, self.selection.steps))

    @cached_property
    def judged(self) -> Sequence[Side]:
        """The recordings that are judged: all from three on, else this one."""
        return judged((self, *self.repeats))

    @property
    def mean_ns(self) -> float:
        """Mean length of the chosen steps."""
        return self.selection.mean(self.selection.total_ns)

    @cached_property
    def steps(self) -> tuple[int, ...] | None:
        """The chosen steps for a choice of rows; None = all, where nothing marks steps."""
        whole = self.selection.facts.step_source == "whole_trace"
        return None if whole else self.selection.indexes

    @cached_property
    def lit(self) -> SpeedSelection | None:
        """Work of the chosen steps against the data sheet of the device; None without one."""
        device = lit_device(self.selection.facts, self.selection.device)
        if self.speed is None or device is None:
            return None
        return SpeedSelection(self.speed, self.speed.steps_of(self.steps), device)

    def places(self, step: NDArray[np.integer]) -> I32:
        """The place of each row's step among the chosen ones; 0 for rows outside of steps."""
        place = np.zeros(len(self.selection.facts.steps) + 1, np.int32)
        place[list(self.selection.indexes)] = np.arange(self.selection.count)
        found: I32 = place[step]
        return found


class Items(Struct, frozen=True, eq=False, dict=True):
    """Rows under keys. ``names`` and ``details`` by key, the columns by row."""

    names: tuple[str, ...]
    details: tuple[str, ...]  # what keeps keys of one name apart: shapes, a grid
    steps: int
    code: I32
    place: I32  # of the step
    ts: I64
    columns: Mapping[str, I64]  # "calls" and durations
    examples: tuple[str, ...] = ()  # by key: the name of its heaviest kernel, where keys are roles
    functions: Mapping[str, str] = {}  # name of a compiled region → its function
    light: Mapping[str, F64] = {}  # by key: the fields of LIGHT

    @cached_property
    def sums(self) -> Mapping[str, NDArray[Any]]:
        """Sum of each column by key, and its light."""
        keys = len(self.names)
        found: dict[str, NDArray[Any]] = {
            name: summed(column, self.code, keys) for name, column in self.columns.items()
        }
        return {**found, **self.light}

    def series(self, column: str, keys: Sequence[int]) -> F64:
        """The sums of a column by step, of some keys; shape (keys, steps)."""
        rank = np.full(len(self.names), -1, np.int32)
        rank[list(keys)] = np.arange(len(keys), dtype=np.int32)
        row = rank[self.code]
        cell = np.where(row >= 0, row * np.int32(self.steps) + self.place, np.int32(-1))
        total = summed(self.columns[column], cell.astype(np.int32), len(keys) * self.steps)
        return total.reshape(len(keys), self.steps).astype(np.float64)

    @cached_property
    def index(self) -> Mapping[tuple[str, str], int]:
        """(name, detail) → key."""
        pairs = zip(self.names, self.details, strict=True)
        return {pair: at for at, pair in enumerate(pairs)}


def _with_light(side: Side, items: Items, key_of: Callable[[SpeedColumns, I64], I64]) -> Items:
    """Items with their light; ``key_of``: work of the speed of light → its key, −1 for none."""
    count = len(items.names)
    if side.lit is None:
        return replace(items, light=dict.fromkeys(LIGHT, np.zeros(count)))
    groups = side.lit.by("work")
    key = key_of(side.lit.columns, groups.key)
    own = np.flatnonzero(key >= 0)
    sums = {
        name: np.bincount(key[own], np.nan_to_num(getattr(groups, name)[own]), count)
        for name in LIGHT
    }
    return replace(items, light=sums)


def operator_items(side: Side, by: str = "name", only: I64 | None = None) -> Items:
    """The operators and annotated ranges of the chosen steps.

    ``by``: "name", or "shape" to keep calls with other input shapes apart; ``only``: of these
    calls. A call of the runtime
    that no operator surrounds, but that launched work, is a key, too, so that device times are
    whole.
    """
    operators, calls = side.operators, side.operators.calls
    rows = chosen_rows(operators, CallSelection(side.steps, HOST_KINDS))
    if only is not None:
        rows = np.intersect1d(rows, only, assume_unique=True)
    name = calls.name[rows]
    second = calls.shapes[rows] if by == "shape" else None
    found = _items(
        side,
        operators.strings,
        name,
        second,
        calls.step[rows],
        calls.ts[rows],
        {
            "calls": np.ones(len(rows), np.int64),
            "self_ns": np.maximum(calls.own_ns[rows], 0),
            "total_ns": calls.total_ns[rows],
            "device_self_ns": calls.device_self_ns[rows],
            "device_total_ns": calls.device_total_ns[rows],
            "is_op": (calls.kind[rows] == CallKind.OP).astype(np.int64),
        },
    )
    compiled = side.selection.facts.compiled
    if compiled is not None:
        found = replace(found, functions=compiled.functions_by_region)

    def key_of(speed: SpeedColumns, work: I64) -> I64:
        kinds = speed.kinds
        names = zip(kinds.op.tolist(), kinds.shapes.tolist(), strict=True)
        pairs = (
            (speed.text(op), speed.text(shapes) if by == "shape" else "") for op, shapes in names
        )
        keys = np.array([found.index.get(pair, -1) for pair in pairs], np.int64)
        return keys[speed.calls.kind[speed.work.call[work]]]

    return found if only is not None else _with_light(side, found, key_of)


def kernel_items(side: Side, by: str = "name") -> Items:
    """Kernels, copies and sets of the chosen steps and the chosen device.

    ``by``: "name"; "launch" to keep launches of another size apart; "role" for what they are for,
    "family" for that without operators and shapes.
    """
    operators, activities = side.operators, side.operators.activities
    keep = in_steps(activities.step, side.steps)
    if side.selection.device is not None:
        keep &= activities.device == side.selection.device
    rows = np.flatnonzero(keep)
    second = None
    if by == "launch":
        second = np.unique(
            paired(activities.grid[rows], activities.block[rows]), return_inverse=True
        )[1].astype(np.int32)
    grids, blocks = activities.grid[rows], activities.block[rows]

    def launch(at: int) -> str:
        parts = (int(grids[at]), int(blocks[at]))
        return " × ".join(operators.strings[code] for code in parts if code >= 0)

    columns = {
        "calls": np.ones(len(rows), np.int64),
        "device_self_ns": activities.dur_ns[rows],
        "bytes": np.maximum(activities.bytes[rows], 0),
        "is_kernel": (activities.kind[rows] == DeviceKind.KERNEL).astype(np.int64),
    }
    found = (
        _by_role(side, rows, columns, of_family=by == "family")
        if by in ("role", "family")
        else _items(
            side,
            operators.strings,
            activities.name[rows],
            second,
            activities.step[rows],
            activities.ts[rows],
            columns,
            launch,
        )
    )

    def key_of(speed: SpeedColumns, work: I64) -> I64:
        keys = np.full(len(activities), -1, np.int64)
        keys[rows] = found.code
        return keys[speed.work.row[work]]

    return _with_light(side, found, key_of)


_LIBRARY = regex(r"(?<=::)(?:cudnn|miopen|mkldnn|native|hipdnn|mps|xpu)_(?=\w)|^(?:cuda|hip)")
_ATTENTION = regex(r"attention.*?(backward)?$", re.IGNORECASE)
_SHAPE = regex(r"\[(\d[\d, ]*)\]")
_MOST_SHAPES = 3  # of inputs that say what a kernel works on; what follows are options


def plain_op(name: str) -> str:
    """The name of an operator without that of the library that does it.

    >>> plain_op("aten::miopen_batch_norm"), plain_op("aten::_flash_attention_forward")
    ('aten::batch_norm', 'attention')
    """
    if (attention := _ATTENTION.search(name)) is not None and "::" in name:
        return "attention backward" if attention[1] else "attention"
    return _LIBRARY.sub("", name)


def role_of(family: str, op: str, shapes: str) -> tuple[str, str]:
    """Purpose and data type of a kernel, equal for every vendor.

    Attention kernels take heads before or after the sequence: their dimensions are sorted.
    """
    found = _SHAPE.findall(shapes)[:_MOST_SHAPES]
    if family == "attention":
        sizes = (sorted(int(one) for one in shape.split(",")) for shape in found)
        found = [", ".join(map(str, size)) for size in sizes]
    plain = plain_op(op)
    name = plain if plain.startswith(family) else f"{family} · {plain}"
    return name if op else family, " × ".join(f"[{one}]" for one in found)


def _by_role(side: Side, rows: I64, columns: Mapping[str, I64], *, of_family: bool) -> Items:
    """Kernels by what they are for. Copies and sets are roles, too, by their kind."""
    operators, activities = side.operators, side.operators.activities
    calls, strings = operators.calls, operators.strings
    call = activities.call[rows]
    op = np.where(call >= 0, calls.name[call], -1)
    shapes = np.where(call >= 0, calls.shapes[call], -1)
    of_op = np.unique(paired(activities.name[rows], op), return_inverse=True)[1]
    key = paired(of_op.astype(np.int32), shapes)
    distinct, first, code = np.unique(key, return_index=True, return_inverse=True)
    known: dict[tuple[str, str], int] = {}
    merged = np.zeros(len(distinct), np.int32)
    for at, row in enumerate(first.tolist()):
        kernel = strings[int(activities.name[rows[row]])]
        kind = DeviceKind(int(activities.kind[rows[row]]))
        family = family_of(kernel) if kind == DeviceKind.KERNEL else kind.name.lower()
        texts = (strings[int(one[row])] if one[row] >= 0 else "" for one in (op, shapes))
        role = (family, "") if of_family else role_of(family, *texts)
        merged[at] = known.setdefault(role, len(known))
    codes = merged[code] if len(distinct) else np.zeros(0, np.int32)
    weight = summed(columns["device_self_ns"], code.astype(np.int32), len(distinct))
    examples = [""] * len(known)
    for at in np.argsort(weight, kind="stable").tolist():  # the heaviest is written last
        examples[int(merged[at])] = strings[int(activities.name[rows[first[at]]])]
    return Items(
        tuple(pair[0] for pair in known),
        tuple(pair[1] for pair in known),
        side.count,
        codes,
        side.places(activities.step[rows]),
        activities.ts[rows],
        columns,
        tuple(examples),
    )


def module_items(side: Side) -> Items | None:
    """The modules by their path: device time and own time of ops, of all phases.

    None where the recording has no modules.
    """
    columns = side.modules
    if columns is None or not len(columns.tree):
        return None
    sums = columns.sums
    rows = np.flatnonzero(in_steps(sums.step, side.steps))
    paths = module_paths(columns)
    names = tuple(dict.fromkeys(paths))
    place = {path: at for at, path in enumerate(names)}
    of_module = np.array([place[path] for path in paths], np.int32)
    code = of_module[sums.module[rows]]
    calls = columns.calls
    called = np.flatnonzero(in_steps(calls.step, side.steps))
    found = Items(
        names,
        ("",) * len(names),
        side.count,
        np.concatenate([code, of_module[calls.module[called]]]),
        np.concatenate([side.places(sums.step[rows]), side.places(calls.step[called])]),
        np.zeros(len(rows) + len(called), np.int64),
        {
            "calls": np.concatenate(
                [np.zeros(len(rows), np.int64), np.ones(len(called), np.int64)]
            ),
            "device_self_ns": _padded(sums.device_ns[rows], len(called)),
            "self_ns": _padded(sums.op_ns[rows], len(called)),
            "idle_ns": _padded(sums.idle_ns[rows], len(called)),
            "bytes": _padded(sums.born_bytes[rows], len(called)),
        },
    )

    def key_of(speed: SpeedColumns, work: I64) -> I64:
        keys = np.append(of_module, np.int32(-1)).astype(np.int64)
        if speed.places is None:
            return np.full(len(work), -1, np.int64)
        return keys[speed.places.module[speed.calls.place[speed.work.call[work]]]]

    return _with_light(side, found, key_of)


def _padded(column: I64, more: int) -> I64:
    return np.concatenate([column, np.zeros(more, np.int64)])


def module_paths(columns: ModuleColumns) -> list[str]:
    """The place of each module in the model: ``GPT_0 / Block_1 / Linear_0``, or its own name."""
    tree, strings = columns.tree, columns.strings
    paths: list[str] = []
    for row in range(len(tree)):
        name = strings[int(tree.name[row])]
        above = int(tree.parent[row])
        paths.append(f"{paths[above]} / {name}" if above >= 0 else name)
    return paths


def memory_device(side: Side, kind: int | None = None) -> MemoryDevice | None:
    """The device whose memory is compared: the first, or the first of a kind; None: there is none.

    Accelerators come first; of these the chosen one is taken.
    """
    devices = side.memory.devices if side.memory is not None else ()
    mine = [one for one in devices if kind is None or one.kind == kind]
    chosen = side.selection.device_facts
    wanted = None if chosen is None else chosen.index
    return next((one for one in mine if one.number == wanted), mine[0] if mine else None)


OUTSIDE = "outside of operators"
_LINE = regex(r"\(\d+\)")


def memory_items(side: Side, device: MemoryDevice) -> Items:
    """Allocations of the chosen steps by site: operator, and where known module and line of code.

    A site keeps its name when lines move, so line numbers are left out. ``bytes`` are those
    allocated, releases aside; ``peak_bytes`` what the site holds when most is allocated: this one
    is no sum over steps, and stands in every step.
    """
    memory = side.memory
    assert memory is not None
    events, blocks, mine = memory.events, memory.blocks, device.events
    step = _steps_of_events(side, events.ts[mine])
    rows = np.flatnonzero((events.bytes[mine] > 0) & (step >= 0)) + mine.start
    known: dict[tuple[str, str], int] = {}
    named: dict[tuple[int, int, int], int] = {}

    def site(path: int, module: int, frame: int) -> int:
        key = path, module, frame
        if key not in named:
            op = memory.path_names[path] if path >= 0 else OUTSIDE
            parts = (memory.strings[one] for one in (module, frame) if one >= 0)
            pair = op, " · ".join(_LINE.sub("", part) for part in parts)
            named[key] = known.setdefault(pair, len(known))
        return named[key]

    block = events.block[rows]
    has = block >= 0
    module = np.where(has, blocks.module[block], -1) if len(blocks) else np.full(len(rows), -1)
    frame = np.where(has, blocks.frame[block], -1) if len(blocks) else np.full(len(rows), -1)
    places = zip(events.path[rows].tolist(), module.tolist(), frame.tolist(), strict=True)
    code = np.array([site(*place) for place in places], np.int32)
    held = _held_at_peak(memory, device, site)
    count = side.count
    of_peak = np.repeat(np.array(list(held), np.int32), count)
    in_steps_ = np.tile(np.arange(count, dtype=np.int32), len(held))
    none = np.zeros(len(of_peak), np.int64)
    return Items(
        tuple(pair[0] for pair in known),
        tuple(pair[1] for pair in known),
        count,
        np.concatenate([code, of_peak]),
        np.concatenate([step[rows - mine.start], in_steps_]),
        np.concatenate([events.ts[rows], none]),
        {
            "calls": np.concatenate([np.ones(len(rows), np.int64), none]),
            "bytes": np.concatenate([events.bytes[rows], none]),
            "peak_bytes": np.concatenate(
                [
                    np.zeros(len(rows), np.int64),
                    np.repeat(np.array(list(held.values()), np.int64), count),
                ]
            ),
        },
    )


def _steps_of_events(side: Side, ts: I64) -> I32:
    """The place of the chosen step that holds each instant, −1 in none; 0 where none is marked."""
    if side.steps is None:
        return np.zeros(len(ts), np.int32)
    steps = side.selection.steps
    starts = np.array([one.start_ns for one in steps], np.int64)
    ends = np.array([one.end_ns for one in steps], np.int64)
    at = np.searchsorted(starts, ts, side="right") - 1
    inside = (at >= 0) & (ts < ends[np.maximum(at, 0)])
    return np.where(inside, at, -1).astype(np.int32)


def _held_at_peak(
    memory: MemoryColumns, device: MemoryDevice, site: Callable[[int, int, int], int]
) -> Mapping[int, int]:
    """Bytes that each site holds at the highest total; bytes without a block are left out."""
    held: dict[int, int] = {}
    if not device.has_addresses:
        return held
    for one in alive(memory, device, peaks(memory, device).first):
        if one.block >= 0:
            frame = int(memory.blocks.frame[one.block])
            key = site(one.path, one.module, frame)
            held[key] = held.get(key, 0) + one.total_bytes
    return held


def _items(
    side: Side,
    strings: Sequence[str],
    name: I32,
    second: I32 | None,
    step: I32,
    ts: I64,
    columns: Mapping[str, I64],
    detail_at: Callable[[int], str] | None = None,
) -> Items:
    """Items by name and by a second code; ``detail_at`` says it in words for a row."""
    key = name.astype(np.int64) if second is None else paired(name, second)
    distinct, first, code = np.unique(key, return_index=True, return_inverse=True)
    pairs: list[tuple[str, str]] = []
    for at in first.tolist():
        text = _STEP.sub("ProfilerStep*", strings[int(name[at])])
        if second is None:
            detail = ""
        elif detail_at is not None:
            detail = detail_at(at)
        else:
            detail = strings[int(second[at])] if second[at] >= 0 else ""
        pairs.append((text, detail))
    known: dict[tuple[str, str], int] = {}
    merged = np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int32)
    return Items(
        tuple(pair[0] for pair in known),
        tuple(pair[1] for pair in known),
        side.count,
        merged[code] if len(distinct) else np.zeros(0, np.int32),
        side.places(step),
        ts,
        columns,
    )
