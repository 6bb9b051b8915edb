"""Which modules did the work of replayed graphs, by a recording of their capture?

The stack of a lent launch (``origins``) has the modules around it. Work that no module of the
recording launched moves from *replayed graphs* to them. Sums stay. They have no calls and no host
time: those are of the capture.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import I8, I32, I64
from ...base.group_sums import summed
from ...base.regex import regex
from ...trace.build.categories import MODULE_PREFIX
from ..modules.costs import busy_times
from ..modules.model import ModuleBusy, ModuleColumns, ModuleSums, ModuleTree, Outside, Phase
from ..operators.model import OperatorColumns

NONE = -1
_NUMBER = regex(r"_\d+$")


class _Work(Struct, frozen=True, eq=False):
    """Lent work: its step, device and times, and the row of its module in the new tree."""

    step: I32
    device: I32
    ts: I64
    dur: I64
    module: I32


class _Tree:
    """The tree of modules, to which those of captures are added."""

    def __init__(self, columns: ModuleColumns) -> None:
        self.strings = list(columns.strings)
        self._first = len(columns.tree)
        self._rows: dict[tuple[int, str], int] = {}
        self._old = columns.tree

    def row(self, path: tuple[str, ...]) -> int:
        """The row of a module by the names from the outermost on; −1 for no name."""
        at = NONE
        for name in path:
            at = self._rows.setdefault((at, name), self._first + len(self._rows))
        return at

    def tree(self) -> ModuleTree:
        """The old rows, then the new ones: parents before children."""
        parent = [above for above, _ in self._rows]
        names = [name for _, name in self._rows]
        return ModuleTree(
            np.append(self._old.parent, parent).astype(np.int32),
            np.append(self._old.name, [self._code(name) for name in names]).astype(np.int32),
            np.append(self._old.type, [self._code(_NUMBER.sub("", name)) for name in names]).astype(
                np.int32
            ),
            np.append(self._old.qualified, np.full(len(names), NONE)).astype(np.int32),
        )

    def _code(self, text: str) -> int:
        self.strings.append(text)
        return len(self.strings) - 1


@lru_cache(maxsize=4)
def lend_modules(columns: ModuleColumns, operators: OperatorColumns) -> ModuleColumns:
    """The modules of a recording, with those that a recording of its captures lends."""
    tree = _Tree(columns)
    work = _lent_work(columns, operators, tree)
    if not len(work.module):
        return columns
    built = tree.tree()
    sums, outside = columns.sums, columns.outside
    cell = work.module.astype(np.int64) << 32 | (work.step.astype(np.int64) + 1)
    keys, code = np.unique(cell, return_inverse=True)
    module, step = (keys >> 32).astype(np.int32), ((keys & 0xFFFFFFFF) - 1).astype(np.int32)
    zero = np.zeros(len(keys), np.int64)
    more = {
        "module": module,
        "phase": np.full(len(keys), Phase.FORWARD, np.int8),
        "step": step,
        "device_ns": summed(work.dur, code.astype(np.int32), len(keys)),
        "activities": np.bincount(code, minlength=len(keys)),
    }
    busy = busy_times(work, built.parent, work.module)
    own = busy.module >= len(columns.tree)
    at = _places(outside.reason, outside.step)
    device_ns, activities = outside.device_ns.copy(), outside.activities.copy()
    for one, ns, count in zip(
        step.tolist(), more["device_ns"].tolist(), more["activities"].tolist(), strict=True
    ):
        device_ns[at[one]] -= ns
        activities[at[one]] -= count
    return replace(
        columns,
        strings=tuple(tree.strings),
        tree=built,
        sums=ModuleSums(
            **{
                name: np.append(getattr(sums, name), more.get(name, zero)).astype(
                    getattr(sums, name).dtype
                )
                for name in ModuleSums.__struct_fields__
            }
        ),
        busy=ModuleBusy(
            np.append(columns.busy.module, busy.module[own]).astype(np.int32),
            np.append(columns.busy.step, busy.step[own]).astype(np.int32),
            np.append(columns.busy.busy_ns, busy.busy_ns[own]).astype(np.int64),
        ),
        outside=replace(outside, device_ns=device_ns, activities=activities),
    )


def _places(reason: I8, step: I32) -> dict[int, int]:
    """The row of replayed graphs by step."""
    rows = np.flatnonzero(reason == Outside.GRAPH)
    return dict(zip(step[rows].tolist(), rows.tolist(), strict=True))


def _lent_work(columns: ModuleColumns, operators: OperatorColumns, tree: _Tree) -> _Work:
    """The work whose lent stack has modules, where no module launched the replay.

    Of a step with less work in replayed graphs than that, nothing moves.
    """
    activities, calls = operators.activities, operators.calls
    first = len(calls) - operators.lent_count
    rows = np.flatnonzero(activities.call >= first)
    path_of: dict[int, int] = {}
    module = np.full(len(rows), NONE, np.int32)
    around = _modules_around(operators, first)
    for at, row in enumerate(rows.tolist()):
        call = int(activities.call[row])
        if int(calls.host[call]) in around:
            continue
        stack = int(calls.stack[call])
        if stack not in path_of:
            path_of[stack] = tree.row(_path(operators, stack))
        module[at] = path_of[stack]
    kept = module >= 0
    rows, module = rows[kept], module[kept]
    places = _places(columns.outside.reason, columns.outside.step)
    step, dur = activities.step[rows], activities.dur_ns[rows]
    fits = np.zeros(len(rows), np.bool_)
    for one in np.unique(step).tolist():
        mine = step == one
        if one in places and dur[mine].sum() <= columns.outside.device_ns[places[one]]:
            fits |= mine
    rows, module = rows[fits], module[fits]
    return _Work(
        activities.step[rows], activities.device[rows], activities.ts[rows],
        activities.dur_ns[rows], module,
    )  # fmt: skip


def _modules_around(operators: OperatorColumns, first: int) -> frozenset[int]:
    """Host rows of calls with a module around them in the recording itself."""
    calls = operators.calls
    rows = np.flatnonzero(calls.module[:first] >= 0)
    return frozenset(calls.host[rows].tolist())


def _path(operators: OperatorColumns, stack: int) -> tuple[str, ...]:
    """The modules of a stack, the outermost first."""
    found: list[str] = []
    while stack >= 0:
        name = operators.strings[int(operators.stacks.frame[stack])]
        if name.startswith(MODULE_PREFIX):
            found.append(name.removeprefix(MODULE_PREFIX))
        stack = int(operators.stacks.parent[stack])
    return tuple(reversed(found))
