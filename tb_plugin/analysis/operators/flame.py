"""The flame graph of operators: calls by path, with host time, device time or their number."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec.structs import replace

from ...base.arrays import I32
from ...base.group_sums import summed
from ...base.regex import regex
from ..call_tree.flame import FlameTree, merged
from .credit import REASONS
from .groups import in_steps
from .model import CallKind, OperatorColumns

KERNEL = len(CallKind)  # the kind of a box that is device activity
UNATTRIBUTED = KERNEL + 1  # of a box that holds activity without a call
KIND_NAMES = (*(kind.name.lower() for kind in CallKind), "kernel", "unattributed")

_STEP = regex(r"ProfilerStep#\d+")
_LABELS = (*REASONS, "ProfilerStep")


_WAITS = regex(
    r"<built-in (?:function|method) (?:acquire|wait|e?poll|select|sleep|recv\w*|read|accept)\b"
    r"|threading\.py\(\d+\): (?:wait|acquire|_wait_for_tstate_lock)$"
)
_STARTS = regex(r"threading\.py\(\d+\): (?:_bootstrap(?:_inner)?|run)$")
WAITING_RATIO = 0.9
"""Share of its time that a thread spends in waiting calls if it only waits."""


def waiting_threads(operators: OperatorColumns, steps: tuple[int, ...] | None) -> dict[int, str]:
    """Threads without an op or a step that only wait in Python → what each of them runs.

    Monitors, watchdogs and threads that pin memory are such: as long as the recording, they would
    take half of a graph of the host.
    """
    calls, strings = operators.calls, operators.strings
    rows = np.flatnonzero(in_steps(calls.step, steps))
    thread, name = calls.thread[rows], calls.name[rows]
    works = np.isin(calls.kind[rows], [CallKind.OP, CallKind.ANNOTATION, CallKind.RUNTIME])
    own = np.maximum(calls.self_ns[rows], 0)
    waits = np.isin(name, [c for c in np.unique(name).tolist() if _WAITS.search(strings[c])])
    found = {}
    for one in np.setdiff1d(thread, thread[works]).tolist():
        here = thread == one
        if own[here & waits].sum() >= WAITING_RATIO * max(int(own[here].sum()), 1):
            names = [strings[code] for code in name[here].tolist()]
            found[one] = next((text for text in names if not _STARTS.search(text)), names[0])
    return found


def flame_tree(
    operators: OperatorColumns,
    steps: tuple[int, ...] | None,
    metric: str,
    kinds: frozenset[int],
    left_out: Collection[int] = (),
) -> FlameTree:
    """The boxes of the chosen steps, of calls of the chosen kinds; time of others goes upwards.

    ``metric``: "host" weighs by self time, so a box is what its calls took; "device" by the time of
    the device activities below, which are boxes of their own if ``kinds`` holds ``KERNEL``;
    "calls" by the number of calls. Device activity without a call hangs below its reason.
    ``left_out`` are threads whose calls do not count.
    """
    calls, paths = operators.calls, operators.paths
    chosen = in_steps(calls.step, steps)
    if left_out:
        chosen = chosen & ~np.isin(calls.thread, [*left_out])
    path = calls.path[chosen]
    number = np.bincount(path, minlength=len(paths)).astype(np.int64)
    tree = FlameTree(
        parent=paths.parent,
        name=_step_names(operators),
        kind=paths.kind.astype(np.int32),
        own=number,
        count=number,
        names=operators.strings,
        labels=_LABELS,
        kinds=KIND_NAMES,
    )
    if metric == "host":
        # Children that overlap each other may be longer than the call: then nothing is its own.
        own = np.maximum(calls.self_ns[chosen], 0)
        tree = replace(tree, own=summed(own, path, len(paths)))
    elif metric == "device":
        tree = _with_activities(operators, steps, tree, has_kernels=KERNEL in kinds)
    kept = np.isin(tree.kind, [*kinds, UNATTRIBUTED])
    if metric == "calls":
        tree = replace(tree, own=np.where(kept, number, 0))
    found, _ = merged(tree, kept)
    return found.only(found.value > 0)


def _step_names(operators: OperatorColumns) -> I32:
    """The name of each path, with one label for all steps."""
    strings, name = operators.strings, operators.paths.name
    steps = [code for code in np.unique(name).tolist() if _STEP.fullmatch(strings[code])]
    return np.where(np.isin(name, steps), len(strings) + len(REASONS), name).astype(np.int32)


def _with_activities(
    operators: OperatorColumns, steps: tuple[int, ...] | None, tree: FlameTree, *, has_kernels: bool
) -> FlameTree:
    """The paths with the device time of each, the reasons beside them, and kernels below both."""
    activities, first = operators.activities, len(tree)
    rows = np.flatnonzero(in_steps(activities.step, steps))
    call = activities.call[rows]
    box = first + activities.reason[rows].astype(np.int64)
    box[call >= 0] = operators.calls.path[call[call >= 0]]
    reasons = np.arange(len(REASONS))
    parent, name = np.full(len(REASONS), -1), len(tree.names) + reasons
    kind = np.full(len(REASONS), UNATTRIBUTED)
    if has_kernels:
        kernels, index = np.unique(box << 32 | activities.name[rows], return_inverse=True)
        parent = np.append(parent, kernels >> 32)
        name = np.append(name, kernels & 0xFFFFFFFF)
        kind = np.append(kind, np.full(len(kernels), KERNEL))
        box = first + len(REASONS) + index
    boxes = first + len(parent)
    number = np.bincount(box, minlength=boxes)
    number[:first] += tree.count
    return replace(
        tree,
        parent=np.append(tree.parent, parent).astype(np.int32),
        name=np.append(tree.name, name).astype(np.int32),
        kind=np.append(tree.kind, kind).astype(np.int32),
        own=summed(activities.dur_ns[rows], box.astype(np.int32), boxes),
        count=number.astype(np.int64),
    )
