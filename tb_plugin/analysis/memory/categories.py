"""What does a block hold? Told by where it was allocated and how long it lived.

A trace does not name tensors, so each category is a conclusion from phases of the training step,
and carries the rule and its confidence. ``classify`` puts every block into exactly one category.

    forward       backward            optimizer     next forward
    ├─ activation ────┤                                            released in the backward pass
      ├┤ temporary                                                 within one op
                    ├─ autograd ─┤                                 released in the same pass
                    ├─ gradient ──────────────────────┤            outlives the pass
                                        ├─ optimizer state ─────…
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from ...base.arrays import I8, I32, I64, B, distinct_values, matches
from ...base.intervals import Intervals
from ...base.regex import regex
from ...trace.model import DeviceKind, HostKind, Trace
from ..call_tree.paths import innermost
from ..host_activity import HostRole, Hosts
from .model import BEFORE, NEVER, NONE, Category

Confidence = Literal["high", "medium", "low"]


class CategoryRule(NamedTuple):
    """Why a block is in its category."""

    category: Category
    confidence: Confidence
    why: str


RULES: tuple[CategoryRule, ...] = (
    CategoryRule(Category.UNKNOWN, "low", "No rule fits where it was allocated and released."),
    CategoryRule(
        Category.PARAMETER,
        "medium",
        "It was there before the recording began and was not released: parameters, gradients and"
        " optimizer state that are kept, and whatever else lives as long.",
    ),
    CategoryRule(
        Category.OPTIMIZER,
        "low",
        "It was there before the recording began and was not released; it is what two values per"
        " parameter take, as the optimizer of this name keeps them.",
    ),
    CategoryRule(
        Category.GRADIENT,
        "medium",
        "It was there before the recording began and was released by `zero_grad`.",
    ),
    CategoryRule(
        Category.ACTIVATION,
        "medium",
        "It was there before the recording began and was released in a backward pass.",
    ),
    CategoryRule(
        Category.TEMPORARY, "high", "It was allocated and released inside one top-level op."
    ),
    CategoryRule(
        Category.COMMUNICATION, "medium", "It was allocated inside a collective or by FSDP."
    ),
    CategoryRule(Category.INPUT, "high", "It was allocated inside the DataLoader."),
    CategoryRule(
        Category.INPUT, "medium", "It was allocated by an op that copied from host to device."
    ),
    CategoryRule(
        Category.OPTIMIZER, "high", "It was allocated by the optimizer's step and outlived it."
    ),
    CategoryRule(
        Category.TEMPORARY, "medium", "It was allocated by the optimizer and released soon after."
    ),
    CategoryRule(
        Category.AUTOGRAD, "high", "It was allocated in a backward pass and released in the same."
    ),
    CategoryRule(Category.GRADIENT, "high", "It was allocated in a backward pass and outlived it."),
    CategoryRule(
        Category.ACTIVATION,
        "high",
        "It was allocated in a forward pass and released in a backward pass.",
    ),
    CategoryRule(
        Category.ACTIVATION,
        "medium",
        "It was allocated by an op of a forward pass and released by a later one.",
    ),
    CategoryRule(
        Category.ACTIVATION,
        "medium",
        "Autograd was on when an op allocated it, and no backward pass followed in the recording.",
    ),
    CategoryRule(
        Category.ACTIVATION,
        "low",
        "It was allocated in a forward pass and was still there after the last backward pass, as"
        " results are until the next step replaces them.",
    ),
    CategoryRule(
        Category.UNKNOWN,
        "low",
        "It was allocated in a forward pass and outlived its backward pass.",
    ),
    CategoryRule(Category.UNKNOWN, "low", "Its allocation was not recorded."),
    CategoryRule(
        Category.OPTIMIZER, "medium", "Code of an optimizer allocated it, and it was not released."
    ),
    CategoryRule(Category.GRADIENT, "medium", "Autograd allocated it, and it was not released."),
    CategoryRule(
        Category.AUTOGRAD,
        "low",
        "Autograd allocated it and it was released: a gradient of an activation, or one of a"
        " parameter until `zero_grad`.",
    ),
    CategoryRule(
        Category.ACTIVATION,
        "low",
        "Code of a module allocated it, as its stack says; short-lived results are among them.",
    ),
    CategoryRule(
        Category.UNKNOWN, "high", "torch put it into this category, by the identity of tensors."
    ),
    CategoryRule(
        Category.UNKNOWN, "low", "Its stack names no module, no optimizer and no collective."
    ),
)
(
    NO_RULE, PERSISTENT, STATES_BEFORE, GRADIENT_BEFORE, ACTIVATION_BEFORE, WITHIN_OP, COLLECTIVE,
    LOADED, COPIED_IN, STATES, OF_OPTIMIZER, WITHIN_BACKWARD, GRADIENTS, SAVED, BETWEEN_OPS,
    UNFINISHED, LAST_RESULT, KEPT, LOST, STATES_BY_STACK, GRADIENTS_BY_STACK, AUTOGRAD_BY_STACK,
    OF_MODULE, TOLD_BY_TORCH, OTHER_STACK,
) = range(len(RULES))  # fmt: skip

_SHARDED = regex(r"^(FSDP::|fsdp::|FullyShardedDataParallel\.)")
_SINGLE_OP = regex(r"::|Backward\d*$")
_BACKWARD_FRAME = regex(r"torch/autograd/__init__\.py\(\d+\): backward$")
_TO_DEVICE = regex(r"HtoD|HostToDevice|Host2Device", re.IGNORECASE)


class HostPlaces(Struct, frozen=True, eq=False):
    """Per host row the row of the nearest event of some kind at or above it; −1 without one."""

    top_op: I32  # the outermost op
    loader: I32
    optimizer: I32
    collective: I32
    backward: I32
    copies_in: B  # by host row: below this top-level op the host copied to a device
    recorded: B  # by host row: autograd keeps a record of an op at or above it


def host_places(hosts: Hosts, operator: B) -> HostPlaces:
    """``operator`` marks the rows that count as ops."""
    trace = hosts.trace
    host, count = trace.host, len(trace.host)
    # Recorders before torch 1.12 write ranges of the user as ops, too: these are no single op.
    operator = operator & matches(trace.strings, host.name, _SINGLE_OP)
    around = innermost(np.where(operator, np.arange(count, dtype=np.int32), NONE), host.parent)
    above = np.full(count, NONE, np.int32)
    inner = host.parent >= 0
    above[inner] = around[host.parent[inner]]
    outermost = np.where(operator & (above < 0), np.arange(count, dtype=np.int32), NONE)
    top = innermost(outermost, host.parent)
    sharded = matches(trace.strings, host.name, _SHARDED)
    copies_in = np.zeros(count, bool)
    copies = (trace.device.kind == DeviceKind.MEMCPY) & (trace.device.op >= 0)
    copies &= matches(trace.strings, trace.device.name, _TO_DEVICE)
    rows = top[trace.device.op[copies]]
    copies_in[rows[rows >= 0]] = True
    optimizer = hosts.with_role(HostRole.OPTIMIZER) & (host.kind != HostKind.RUNTIME)
    sequence = host.args.get("sequence")
    recorded = np.zeros(count, bool)
    if sequence is not None:
        recorded[sequence.row[sequence.value >= 0]] = True
    return HostPlaces(
        top_op=top,
        loader=_nearest(hosts.loader, host.parent),
        optimizer=_nearest(optimizer, host.parent),
        collective=_nearest(hosts.collective | sharded, host.parent),
        backward=_nearest(in_backward(hosts), host.parent),
        copies_in=copies_in,
        recorded=_nearest(recorded & (host.kind == HostKind.OP), host.parent) >= 0,
    )


def in_backward(hosts: Hosts) -> B:
    """Ops of autograd, and the frames of the call that starts them."""
    trace = hosts.trace
    frames = hosts.frame & matches(trace.strings, trace.host.name, _BACKWARD_FRAME)
    return np.asarray(hosts.with_role(HostRole.BACKWARD) | frames)


def _nearest(mask: B, parent: I32) -> I32:
    return innermost(np.where(mask, np.arange(len(mask), dtype=np.int32), NONE), parent)


def backward_passes(hosts: Hosts, places: HostPlaces) -> Intervals:
    """From the first op of each backward pass to the next op that is none of it.

    The engine takes time between its ops, and releases what it held after the last one; so a pass
    lasts until the next top-level op of another kind, or the optimizer, begins, or the step ends.
    """
    host = hosts.trace.host
    backward = hosts.ranges(in_backward(hosts))
    others = (places.top_op == np.arange(len(host))) & (places.backward < 0)
    others &= (places.collective < 0) & (places.loader < 0)
    others |= hosts.with_role(HostRole.OPTIMIZER) & (places.top_op < 0)
    if not len(backward):
        return backward
    starts = np.sort(np.concatenate([host.ts[others], hosts.trace.steps.end]))
    # What begins while autograd runs is of another thread, and ends no pass.
    inside = np.searchsorted(backward.start, starts, side="right") - 1
    within = (inside >= 0) & (starts < backward.end[np.maximum(inside, 0)])
    starts = starts[~within]
    turn = np.searchsorted(starts, backward.start)
    first = np.flatnonzero(np.diff(turn, prepend=-1))
    last = np.append(first[1:], len(turn)) - 1
    following = np.searchsorted(starts, backward.end[last])
    stop = np.append(starts, NEVER)[following]
    return Intervals(backward.start[first], np.maximum(stop, backward.end[last]))


class BlockEnds(Struct, frozen=True, eq=False):
    """The two ends of each block: instants, and the innermost host row around each, −1."""

    start: I64
    end: I64
    born: I32
    freed: I32
    known: B  # False: its allocation was lost


def classify(hosts: Hosts, places: HostPlaces, passes: Intervals, blocks: BlockEnds) -> I8:
    """The rule of each block: row of ``RULES``. The first that fits, in the order written here."""
    end = hosts.trace.host.ts + hosts.trace.host.dur
    born = blocks.born
    rule = np.full(len(born), NO_RULE, np.int8)
    open_ = np.ones(len(born), bool)

    def say(number: int, where: B) -> None:
        rule[open_ & where] = number
        open_[where] = False

    pre, survives = blocks.start == BEFORE, blocks.end == NEVER
    freed_pass = _within(passes, np.where(survives, 0, blocks.end)) & ~survives
    say(LOST, ~blocks.known)
    say(PERSISTENT, pre & survives)
    say(GRADIENT_BEFORE, pre & (_of(places.optimizer, blocks.freed) >= 0))
    say(ACTIVATION_BEFORE, pre & freed_pass)
    say(NO_RULE, pre)

    top = _of(places.top_op, born)
    say(WITHIN_OP, (top >= 0) & (blocks.end <= _of(end, top)))
    optimizer = _of(places.optimizer, born)
    outlives = blocks.end > _next_start(hosts, places, _of(end, optimizer))
    say(STATES, (optimizer >= 0) & (survives | outlives))
    say(OF_OPTIMIZER, optimizer >= 0)
    say(LOADED, _of(places.loader, born) >= 0)
    say(COLLECTIVE, _of(places.collective, born) >= 0)

    in_pass = _of(places.backward, born) >= 0
    born_in = np.searchsorted(passes.start, blocks.start, side="right") - 1
    pass_end = np.append(passes.end, NEVER)[np.where(born_in >= 0, born_in, len(passes))]
    say(WITHIN_BACKWARD, in_pass & ~survives & (blocks.end <= pass_end))
    say(GRADIENTS, in_pass)

    say(COPIED_IN, _of(places.copies_in, top) > 0)
    forward = top >= 0
    following = np.searchsorted(passes.start, blocks.start)
    stops = np.append(passes.end, NEVER)
    # Results are released when the next step replaces them: within one more pass.
    in_time = blocks.end <= stops[np.minimum(following + 1, len(passes))]
    say(SAVED, forward & freed_pass & in_time)
    say(BETWEEN_OPS, forward & ~survives & in_time)
    say(UNFINISHED, forward & (following >= len(passes)) & (_of(places.recorded, born) > 0))
    if len(passes):
        say(LAST_RESULT, forward & (following == len(passes) - 1))
        say(KEPT, forward)
    return rule


def _of(column: I32 | I64 | B, row: I32 | I64) -> I64:
    """A column at rows; −1 where the row is −1. False counts as 0."""
    found = np.full(len(row), NONE, np.int64)
    known = row >= 0
    found[known] = column[row[known]]
    return found


def _within(spans: Intervals, at: I64) -> B:
    place = np.searchsorted(spans.start, at, side="right") - 1
    inside = place >= 0
    inside[inside] = at[inside] < spans.end[place[inside]]
    return np.asarray(inside)


def _next_start(hosts: Hosts, places: HostPlaces, after: I64) -> I64:
    """When the next optimizer range begins after an instant; NEVER where there is none."""
    rows = distinct_values(places.optimizer[places.optimizer >= 0])
    starts = np.append(np.sort(hosts.trace.host.ts[rows]), NEVER)
    return starts[np.minimum(np.searchsorted(starts, after), len(starts) - 1)]


# Optimizers that keep two values for each parameter.
_TWO_STATES = regex(r"^Optimizer\.step#\w*(Adam|Lamb|LAMB)")


def states_per_parameter(trace: Trace) -> int:
    """Values that the optimizer keeps for each parameter, by its name; 0 for an unknown name."""
    codes = distinct_values(trace.host.name)
    return 2 if any(_TWO_STATES.match(trace.strings[int(code)]) for code in codes) else 0
