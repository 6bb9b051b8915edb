"""The operator table: calls by group, with the figures of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, B, of_names, seen, take
from ...base.group_sums import GroupRanks, group_ranks, group_sums, sorted_by_code
from ...base.regex import regex
from ..idle.places import is_own_frame
from ..overview.utilization import ELIGIBLE_OPS
from .calls import ADDRESS
from .groups import Grouped, group, in_steps, named, paired, unpaired
from .model import CallKind, Calls, NamedLight, OperatorColumns
from .stacks import frame_place, frames_of, innermost_frames

_STEP = regex(r"^ProfilerStep#\d+$")
GROUPINGS = ("name", "shape", "line", "stack", "module", "thread", "annotation")


class CallSelection(Struct, frozen=True):
    """A choice of calls; ``steps`` None = everything recorded, including outside steps."""

    steps: tuple[int, ...] | None
    kinds: frozenset[CallKind]
    search: str = ""


def _summed(column: str) -> cached_property[I64]:
    """A column of the table: the sum of a column of the calls."""
    return cached_property(lambda table: table.groups.sums(getattr(table.calls, column)))


class CallTable(Grouped, frozen=True, eq=False, dict=True):
    """Groups of calls; durations are host times including children."""

    stack_depth: int
    steps: tuple[int, ...] | None  # the chosen ones, as in ``CallSelection``
    wall_ns: int = 0  # length of the chosen steps; 0 = unknown
    light: Mapping[str, NamedLight] = {}  # by name, where the rows are names

    @property
    def calls(self) -> Calls:
        """The grouped calls."""
        return self.operators.calls

    @property
    def row_name(self) -> I32:
        """Code of the name of each call."""
        return self.calls.name

    @property
    def row_ns(self) -> I64:
        """Host time of each call including children."""
        return self.calls.total_ns

    @property
    def _has_host(self) -> B:
        """True for calls with a time on the host; the last ones have none."""
        has: B = np.arange(len(self.calls)) < len(self.calls) - self.operators.lent_count
        return has

    @cached_property
    def lent_count(self) -> I64:
        """Calls that a recording of a capture lends: they have device time alone."""
        if not self.operators.lent_count:
            return np.zeros(len(self), np.int64)
        return self.groups.sums(~self._has_host)

    @cached_property
    def lent_ratio(self) -> F64:
        """Share of the device self time that a capture attributes to operators; NaN without any."""
        if not self.operators.lent_count:
            return _ratio(np.zeros(len(self), np.int64), self.device_self_ns)
        lent = self.groups.sums(np.where(self._has_host, 0, self.calls.device_self_ns))
        return _ratio(lent, self.device_self_ns)

    # Of calls with a time on the host; where all are lent, 0.

    @cached_property
    def mean_ns(self) -> F64:
        """Total divided by the calls with a host time."""
        found: F64 = self.total_ns / np.maximum(self.count - self.lent_count, 1)
        return found

    @cached_property
    def _host_ranks(self) -> GroupRanks:
        if not self.operators.lent_count:
            return self.groups.ranks
        own = self._has_host[self.groups.rows]
        return group_ranks(
            self.groups.code[own], self.groups.length[own], self.count - self.lent_count
        )

    @property
    def min_ns(self) -> I64:
        """The shortest."""
        return self._host_ranks.least

    @property
    def p50_ns(self) -> I64:
        """The median."""
        return self._host_ranks.median

    @property
    def p95_ns(self) -> I64:
        """The 95th percentile."""
        return self._host_ranks.p95

    @cached_property
    def self_ns(self) -> I64:
        """Host time without children."""
        return self.groups.sums(self.calls.own_ns)

    @cached_property
    def whole_self_ns(self) -> int:
        """Host self time of everything in the steps, whatever kinds and names are chosen.

        A name whose self time is below 0 is no part of it: shares would come to more than 1.
        """
        beyond = len(self.operators.strings)
        name = np.where(self._is_chosen, self.calls.name, np.int32(beyond))
        spent = group_sums(name, self.calls.own_ns, beyond + 1).total[:-1]
        return int(np.maximum(spent, 0).sum())

    @cached_property
    def whole_device_self_ns(self) -> int:
        """Device self time of everything in the steps, whatever kinds and names are chosen."""
        return int(self.calls.device_self_ns[self._is_chosen].sum())

    @cached_property
    def _is_chosen(self) -> B:
        return in_steps(self.calls.step, self.steps)

    @cached_property
    def _busy(self) -> tuple[I64, I64]:
        """Device total times above 0, sorted by group, and how many each group has."""
        ns = self.calls.device_total_ns[self.groups.rows]
        some = ns > 0
        code = self.groups.code[some]
        size = np.bincount(code, minlength=len(self)).astype(np.int64)
        return sorted_by_code(code, ns[some]), size

    @cached_property
    def device_mean_ns(self) -> F64:
        """Device total time divided by count."""
        return self.device_total_ns / np.maximum(self.count, 1)

    def _of_device(self, ratio: float) -> I64:
        """A quantile by nearest rank; most calls have no device time, and are not sorted."""
        (busy, count), size = self._busy, self.groups.size
        rank = np.ceil(ratio * size).astype(np.int64).clip(1, np.maximum(size, 1))
        beyond = rank - (size - count)  # rank among those with any
        some = beyond > 0
        found = np.zeros(len(self), np.int64)
        found[some] = busy[(np.cumsum(count) - count + beyond - 1)[some]]
        return found

    @cached_property
    def device_p50_ns(self) -> I64:
        """The median device total time of a call."""
        return self._of_device(0.5)

    @cached_property
    def device_p95_ns(self) -> I64:
        """The 95th percentile of it."""
        return self._of_device(0.95)

    @cached_property
    def device_max_ns(self) -> I64:
        """The largest of it."""
        return self._of_device(1.0)

    # Of the device activity that the calls launched themselves, in total of those inside them, too.
    device_total_ns = _summed("device_total_ns")
    device_self_ns = _summed("device_self_ns")
    kernels = _summed("kernels")
    # The part of these times in kernels that use tensor cores by their name.
    tensor_core_self_ns = _summed("tensor_core_self_ns")
    tensor_core_total_ns = _summed("tensor_core_total_ns")

    @cached_property
    def tensor_core_self_ratio(self) -> F64:
        """Of the device self time; NaN where there is none."""
        return _ratio(self.tensor_core_self_ns, self.device_self_ns)

    @cached_property
    def tensor_core_total_ratio(self) -> F64:
        """Of the device total time; NaN where there is none."""
        return _ratio(self.tensor_core_total_ns, self.device_total_ns)

    @cached_property
    def flops(self) -> F64:
        """Operations of the calls that have a model; NaN where none has one."""
        known = self.groups.any(~np.isnan(self.calls.flops))
        return np.where(known, self.groups.real_sums(self.calls.flops), np.nan)

    @cached_property
    def has_stack(self) -> B:
        """True if some call has a recorded stack."""
        return self.groups.any(self.calls.stack >= 0)

    @cached_property
    def tensor_core_eligible(self) -> B:
        """True if an op of this name may use tensor cores."""
        return of_names(self.operators.strings, self.name, ELIGIBLE_OPS.__contains__, np.bool_)

    def text(self, code: int) -> str:
        """The string behind a code; all steps are ``ProfilerStep*``, as torch prints them."""
        return _STEP.sub("ProfilerStep*", super().text(code))

    def detail(self, at: int) -> str:
        """The second key of the group, beside the name."""
        key = int(self.groups.key[at])
        if self.group_by == "name":
            return ""
        code = unpaired(key)[1]
        if code < 0:
            return ""
        if self.group_by == "thread":
            return self.operators.threads[code].label
        if self.group_by == "stack":
            frames = frames_of(self.operators.stacks, code)[: self.stack_depth]
            return "\n".join(_from_own([self.text(frame) for frame in frames]))
        return self.text(code)


def _from_own(frames: list[str]) -> list[str]:
    """The frames from the user's innermost on; without any from the innermost file on."""
    own = next((at for at, one in enumerate(frames) if is_own_frame(one)), None)
    if own is None:
        own = next((at for at, one in enumerate(frames) if frame_place(one)[0]), 0)
    return [ADDRESS.sub("", one) for one in frames[own:]]


def call_table(
    operators: OperatorColumns, chosen: CallSelection, group_by: str = "name", stack_depth: int = 5
) -> CallTable:
    """Groups the chosen calls.

    ``group_by`` is one of ``GROUPINGS``; every grouping keeps names apart. With "stack", calls are
    of one group when the ``stack_depth`` innermost frames around them are equal.
    """
    rows = chosen_rows(operators, chosen)
    key = keys_of(operators, group_by, stack_depth)
    groups = group(rows, key, operators.calls.total_ns)
    return CallTable(operators, groups, group_by, stack_depth, chosen.steps)


def one_group(
    operators: OperatorColumns, chosen: CallSelection, group_by: str, stack_depth: int, key: int
) -> CallTable:
    """The table of one group alone, by its key; empty where there is no such group."""
    keys = keys_of(operators, group_by, stack_depth)
    rows = chosen_rows(operators, chosen)
    groups = group(rows[keys[rows] == key], keys, operators.calls.total_ns)
    return CallTable(operators, groups, group_by, stack_depth, chosen.steps)


def keys_of(operators: OperatorColumns, group_by: str, stack_depth: int) -> NDArray[np.integer]:
    """By call: the key of its group. All steps have one name."""
    calls = operators.calls
    steps = _steps(operators)
    names = _as_one(calls.name, steps)
    if group_by == "name":
        return names
    columns = {
        "shape": calls.shapes,
        "module": calls.module,
        "line": calls.owner,
        "thread": calls.thread,
        "annotation": calls.annotation,
    }
    if group_by == "stack":
        return paired(names, innermost_frames(operators.stacks, calls.stack, stack_depth))
    column = columns[group_by]
    return paired(names, _as_one(column, steps) if group_by == "annotation" else column)


def _steps(operators: OperatorColumns) -> list[int]:
    """The codes of the names of steps."""
    calls = operators.calls
    some = seen(calls.name[calls.kind == CallKind.ANNOTATION], len(operators.strings))
    return [code for code in np.flatnonzero(some).tolist() if _STEP.match(operators.strings[code])]


def _as_one(column: I32, codes: list[int]) -> I32:
    """The column with the first of these codes for all of them."""
    if len(codes) < 2:  # nothing to unite
        return column
    code = np.arange(-1, int(column.max(initial=-1)) + 1, dtype=np.int32)
    code[[one + 1 for one in codes if one + 1 < len(code)]] = codes[0]
    return take(code, column + np.int32(1))


def chosen_rows(operators: OperatorColumns, chosen: CallSelection) -> NDArray[np.intp]:
    """The rows of the chosen calls."""
    calls = operators.calls
    wanted = np.zeros(len(CallKind), np.bool_)
    wanted[[int(kind) for kind in chosen.kinds]] = True
    keep = wanted[calls.kind]
    if CallKind.RUNTIME not in chosen.kinds:
        # A call that no op surrounds owns its kernels: without it, sums would not be whole.
        keep |= (calls.kind == CallKind.RUNTIME) & (calls.device_self_ns > 0)
    keep &= in_steps(calls.step, chosen.steps)
    if chosen.search:
        keep &= named(operators.strings, calls.name, chosen.search)
    return np.flatnonzero(keep)


def kinds_of(names: Iterable[str]) -> frozenset[CallKind]:
    """The kinds with these names. Raises KeyError."""
    return frozenset(CallKind[name.upper()] for name in names)


def _ratio(part: I64, whole: I64) -> F64:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
