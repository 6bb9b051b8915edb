"""Are ops called in a way that costs more than their work? Optimizers, conversions, rows of ops."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...base.arrays import (
    I32,
    I64,
    Mask,
    cells,
    distinct_values,
    is_among,
    matches,
    ranked,
    search,
    stable_order,
    take,
    where,
)
from ...base.group_sums import middles
from ...base.intervals import EMPTY, Intervals, merge, union
from ...base.regex import regex
from ...base.units import duration
from ...trace.model import DeviceClass
from ..findings import Evidence, Reference
from ..steps import Selection
from ..user_code import (
    CONVERTS,
    COPIES,
    LEAST_LOOP,
    MOST_FRAMES,
    OPTIMIZES,
    PAUSE_NS,
    PRINTS,
    DeviceCode,
    Found,
    HostCode,
    loops,
    of_code,
)
from ..wording import device_noun, per_step
from .claims import Seen, count_of, often, on_host, on_kernels, spent, spent_by, total_of
from .rule import (
    COMPILE_DEVICES,
    COMPILE_DOCS,
    MODULES,
    OPS,
    SHAPES,
    TIME,
    TORCH_2_0,
    TORCH_2_4,
    TORCH_2_12,
    TRAINS,
    TUNING_DOCS,
    WHOLE,
    Advice,
    Threshold,
    is_older,
    pattern_rule,
)
from .waits import HIDDEN_DEVICE

_FUSED = ("Adam", "AdamW", "SGD")
_FUSED_ON_HOST = (*_FUSED, "Adagrad")
_FUSING = ("GPU", "XPU", "HPU", "MPS")  # devices with fused forms of their own in torch
_FOREACH = ("ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop")
_OPTIMIZER_DOCS = "https://docs.pytorch.org/docs/stable/optim.html"
_OPTIMIZES = ("optimizer_ns", "idle_optimizer_ns")
LEAST_UPDATES = 20  # ops in one call of an optimizer that works parameter by parameter
_LOOP_FRAME = of_code(r": _single_tensor_\w+$")


@on_host(hides_python=True)
def find_optimizers(code: HostCode) -> Iterator[Found]:
    """Optimizers that are not fused, with the number of ops of one update.

    The kind of update is told by the names of its ops: one op for all parameters (``_foreach``),
    or one for each.
    """
    annotations = code.named(OPTIMIZES)
    annotations = annotations[~code.frame[annotations]]
    for name in distinct_values(code.name[annotations]).tolist():
        rows = annotations[code.name[annotations] == name]
        time = code.updates(rows)
        inside = code.within(code.top_ops, time)
        if not len(inside):
            continue
        names = {code.trace.strings[one] for one in distinct_values(code.name[inside]).tolist()}
        if any("fused" in one for one in names):
            continue
        foreach = any("_foreach_" in one for one in names)
        calls = len(inside) / len(rows)
        if not foreach and calls < LEAST_UPDATES:
            continue
        loop = rows[:0]
        if not foreach:
            frames = code.named(_LOOP_FRAME)
            loop = code.within(frames[code.frame[frames]], time)
        match = OPTIMIZES.match(code.trace.strings[name])
        yield Found(
            "optimizer",
            match[1] if match else "",
            time,
            code.host_rows(loop if len(loop) else rows),
            code.trace.strings[int(code.name[loop[0]])] if len(loop) else "",
            {"ops": calls, "foreach": float(foreach), "calls": float(len(rows))},
        )


def _update(selection: Selection, seen: Seen, how: str) -> Advice | None:
    """An optimizer that calls more ops than it has to; None where nothing helps."""
    name, ops = seen[0].pattern.name, seen[0].figure("ops")
    if name.startswith("Fused"):
        return None  # of a library, whose kernels work on all parameters and are no ops of torch
    host = selection.device is None
    fused = _FUSED_ON_HOST if host else _FUSED if device_noun(selection) in _FUSING else ()
    if device_noun(selection) == "GPU" and not is_older(selection, TORCH_2_12):
        fused = _FUSED_ON_HOST  # the fused form of Adagrad came to GPUs with 2.12
    option = ""
    # The fused form of SGD came to GPUs with 2.3, all of those for the CPU with 2.4.
    since = "2.4" if host else "2.3" if name == "SGD" else "2.0"
    if name in fused and is_older(selection, TORCH_2_0 if since == "2.0" else TORCH_2_4):
        action = f"From torch {since} on, one op does all of it: `fused=True`."
    elif name in fused:
        action, option = "Have one op do all of it: `fused=True`.", "fused=True"
    elif seen[0].figure("foreach"):
        return None
    elif name in _FOREACH and not is_older(selection, TORCH_2_0):
        action, option = "Have one op work on all parameters: `foreach=True`.", "foreach=True"
    else:
        action = "Use a form of it whose ops work on all parameters at once, if there is one."
    code = f"optimizer = torch.optim.{name}(model.parameters(), …, {option})"
    return Advice(
        title=f"`{name}` updates {how}",
        said=f"Updates take {spent_by(selection, seen)}, with {ops:,.0f} ops each.",
        action=action,
        snippet=code if option else "",
        method="all time in the optimizer, of which a fused one keeps the arithmetic",
        headline=f"`{name}` takes {{part}}, and calls {ops:,.0f} ops in an update.",
        confidence=0.9,
        evidence=(Evidence("ops in an update", ops, "count"),),
        verify="Record again: an update should call a few ops.",
        links=(Reference("Which optimizers are fused", url=_OPTIMIZER_DOCS),),
    )


@pattern_rule(
    "OP1",
    "Optimizers that work parameter by parameter",
    (TIME, WHOLE, OPS),
    "optimizer",
    Threshold("optimizer_ratio", 0.02, "an optimizer that works parameter by parameter"),
    choose=lambda seen: tuple(one for one in seen if not one.figure("foreach")),
    answers=_OPTIMIZES,
)
def loop(selection: Selection, seen: Seen) -> Advice | None:
    """An optimizer that calls ops for each parameter takes more than {optimizer_ratio}.

    It calls 20 or more an update.

    Ceiling: all its time.
    """
    return _update(selection, seen, "parameter by parameter")


@pattern_rule(
    "OP2",
    "Optimizers that could be fused",
    (TIME, WHOLE, OPS),
    "optimizer",
    Threshold("foreach_ratio", 0.03, "an optimizer that is not fused"),
    choose=lambda seen: tuple(one for one in seen if one.figure("foreach")),
    answers=_OPTIMIZES,
    theoretical=True,
)
def foreach(selection: Selection, seen: Seen) -> Advice | None:
    """An optimizer of several passes (`foreach`), not fused, takes more than {foreach_ratio}.

    Ceiling: all its time.
    """
    return _update(selection, seen, "in several passes over all parameters")


@on_host(hides_python=True)
def find_per_sample(code: HostCode) -> Iterator[Found]:
    """Modules that one call of a frame calls again and again: outermost ones, by that frame."""
    rows = where(code.module).astype(np.int64)
    rows = code.outside_of_loader(rows[code.parent[rows] >= 0])
    if len(rows) < LEAST_LOOP:
        return
    outer = code.outermost(rows[_come_often(code, rows)])
    ones = _leading_ones(code, outer)
    for frame, mine in code.by_owner(outer, code.dur[outer], 2):
        callers = len(distinct_values(code.owner[mine]))
        name = code.trace.strings[int(code.name[mine[0]])].removeprefix("nn.Module: ")
        time = code.with_backward(loops(code, mine))
        known = ones[is_among(outer, mine)]
        figures = {
            "calls": len(mine) / max(callers, 1),
            "ones": float((known == 1).mean()) if (known >= 0).any() else -1.0,
        }
        yield Found("per_sample", name, time, code.host_rows(mine), frame, figures)


def _come_often(code: HostCode, rows: I64) -> Mask:
    """Rows that have at least ``LEAST_LOOP`` of their name in their call of a frame."""
    owner = code.owner[rows].astype(np.int64)
    key = (owner + 1) * len(code.trace.strings) + code.name[rows]
    order = stable_order(key)
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    size = np.diff(first, append=len(order))
    often = np.empty(len(rows), np.bool_)
    often[order] = np.repeat(size >= LEAST_LOOP, size)
    return often & (owner >= 0)


def _leading_ones(code: HostCode, rows: I64) -> I64:
    """1 if the first op in each row works on one sample, 0 if not, −1 where unknown."""
    told = code.trace.host.args.get("input_dims")
    if told is None:
        return np.full(len(rows), -1, np.int64)
    mine = slice(*np.searchsorted(told.row, (code.low, code.high)).tolist())
    ops, shapes = told.row[mine] - np.int32(code.low), told.value[mine]
    has_shape = take(code.op, ops) & (shapes >= 0)
    ops, shapes = ops[has_shape], shapes[has_shape]
    at = search(ops, rows)
    known = at < len(ops)
    known[known] = code.ts[ops[at[known]]] < code.end[rows[known]]
    result = np.full(len(rows), -1, np.int64)
    one = {
        text: int(re.match(r"^\[\[1\b", code.trace.strings[text]) is not None)
        for text in distinct_values(shapes[at[known]]).tolist()
    }
    result[known] = [one[text] for text in shapes[at[known]].tolist()]
    return result


@pattern_rule(
    "OP4",
    "Modules called sample by sample",
    (TIME, WHOLE, OPS, MODULES),
    "per_sample",
    Threshold("sample_ratio", 0.05, "a module called sample by sample"),
    choose=lambda seen: tuple(one for one in seen if one.figure("ones", -1.0) != 0.0),
    answers=("forward_ns", "backward_ns", "idle_dispatch_ns"),
)
def samples(selection: Selection, seen: Seen) -> Advice:
    """One call of a frame calls one module 16 times or more, for more than {sample_ratio}.

    Where shapes are recorded, only if the module works on one sample at a time.

    Ceiling: these calls and their backward pass, apart from one call.
    """
    one = seen[0]
    calls, known = one.figure("calls"), one.figure("ones", -1.0) > 0
    return Advice(
        title=f"`{one.pattern.name}` is called for one sample after another{one.place}",
        said=(
            f"One call of `{one.frame}` calls `{one.pattern.name}` {calls:,.0f} times"
            f"{', for one sample each' if known else ''}: with their backward pass these calls "
            f"take {spent_by(selection, seen)}."
        ),
        action="Call it once with all samples, unless each result is the next one's input.",
        snippet="y = model(x)                      # one batch"
        + (
            ""
            if is_older(selection, TORCH_2_0)
            else "\ny = torch.func.vmap(model)(x)     # where it takes one sample only"
        ),
        method="time of these calls and of their backward pass, apart from one of them",
        scale=1 - 1 / max(calls, 2.0),
        headline=f"`{one.pattern.name}` runs sample by sample for {{part}}.",
        confidence=0.85 if known else 0.6,
        evidence=(Evidence("calls in one call of the frame", calls, "count", 16),),
        verify="Record again: the module is called once per batch.",
    )


_BIASED = of_code(r"^aten::(conv[123]d|convolution)$")
_BATCH_NORM = of_code(r"^aten::(batch_norm|_batch_norm_impl_index)$")
_THREE = regex(r"^\[\[[\d,\s]+\],\s*\[[\d,\s]+\],\s*\[\d+\]")


@on_host()
def find_biases(code: HostCode) -> Iterator[Found]:
    """Convolutions with a bias whose next op is a batch norm; needs shapes."""
    top, rows = code.top_ops, code.named(_BIASED)
    at = search(top, rows[code.top_op[rows]])
    at = at[at + 1 < len(top)]
    rows = top[at[code.have_name(top[at + 1], _BATCH_NORM)]]
    shapes = cells(code.trace.host.args.get("input_dims"), code.host_rows(rows), -1)
    biased = [
        one >= 0 and _THREE.match(code.trace.strings[one]) is not None for one in shapes.tolist()
    ]
    rows = rows[np.array(biased, np.bool_)] if len(rows) else rows
    for frame, mine in code.by_owner(rows, code.dur[rows], 1):
        name = code.trace.strings[int(code.name[mine[0]])]
        yield Found("bias", name, EMPTY, code.host_rows(mine), frame)


@pattern_rule("OP5", "A bias before batch norm", (WHOLE, OPS, SHAPES), "bias")
def bias(selection: Selection, seen: Seen) -> Advice:
    """A convolution with a bias right before a batch norm.

    A training leaves the bias out; inference folds the norm into the convolution.
    """
    trains = TRAINS.holds(selection)
    return Advice(
        title="`Conv2d` adds a bias that batch norm takes away",
        said=(
            f"`{seen[0].pattern.name}` with a bias comes right before a batch norm, "
            f"{often(selection, count_of(seen))}{seen[0].place}: the norm subtracts the mean, and "
            "with it the bias."
        ),
        action="Make these convolutions without a bias."
        if trains
        else "Fold each norm into its convolution: the model does not change while it answers.",
        snippet="nn.Conv2d(…, bias=False)  # before nn.BatchNorm2d"
        if trains
        else "torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm)",
        otherwise="info",
        confidence=0.7,
        verify="Record again with `record_shapes=True`: these convolutions have no bias.",
        links=(Reference("Tuning guide", url=TUNING_DOCS),),
    )


_COPIES_ALONE = of_code(r"^aten::clone$")  # a copy on purpose, of the same type and layout
_LAYS_OUT = of_code(r"^aten::contiguous$")
_ATTENTION = of_code(r"^aten::(scaled_dot_product_attention|_scaled_dot_product\w+)$")
FEW_OPS = 16  # between a layout for attention and the attention
_NO_SIZE = regex(r"^\[\s*\[\s*\]")


@on_host(hides_python=True)
def find_conversions(code: HostCode) -> Iterator[Found]:
    """Copies into another type or layout that the program asks for, by the frame that does.

    No copies between host and device, no layout for attention, and no numbers without a size, which
    ops convert for themselves.
    """
    converts = np.zeros(len(code.ts), np.bool_)
    converts[code.named(CONVERTS)] = True
    converts &= code.op
    at = code.named(COPIES)
    at = at[code.op[at]]
    at = at[~is_among(at, _between_memories(code))]
    top = np.full(len(at), -1, np.int64)
    for _ in range(6):
        above = np.where(at >= 0, code.parent[np.maximum(at, 0)], -1)
        inside = (above >= 0) & converts[np.maximum(above, 0)]
        top = np.where(inside, above, top)
        at = np.where(inside, above, -1)
    top = distinct_values(top[top >= 0])
    top = code.outside_of_loader(top[code.top_op[top]])
    top = code.outside(top, code.time(code.named(PRINTS)))
    top = top[~code.have_name(top, _COPIES_ALONE) & ~_of_attention(code, top)]
    shapes = cells(code.trace.host.args.get("input_dims"), code.host_rows(top), -1)
    sized = np.array(
        [one < 0 or _NO_SIZE.match(code.trace.strings[one]) is None for one in shapes.tolist()],
        np.bool_,
    )
    top = top[sized] if len(top) else top
    # A gradient has the layout of its tensor: backward ops copy theirs, too.
    asked = code.named(CONVERTS)
    follow = code.time(asked[code.op[asked] & code.begin_in(asked, code.backward)])
    for frame, mine in code.by_owner(top, code.dur[top], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        time = merge(code.with_backward(loops(code, mine)), follow)
        follow = EMPTY  # once
        yield Found("conversion", name, time, code.host_rows(mine), frame)


def _of_attention(code: HostCode, rows: I64) -> Mask:
    """Which of the rows lay out what attention reads within a few ops."""
    place, mine = search(code.top_ops, code.named(_ATTENTION)), search(code.top_ops, rows)
    after = np.append(place, np.iinfo(np.int64).max)[search(place, mine)]
    return code.have_name(rows, _LAYS_OUT) & (after - mine <= FEW_OPS)


def _between_memories(code: HostCode) -> I64:
    """The ops that had a device copy from or to another memory."""
    device = code.trace.device
    op = device.op[(device.klass == DeviceClass.COPY) & (device.op >= code.low)]
    return distinct_values(op[op < code.high].astype(np.int64) - code.low)


@on_kernels
def find_conversion_kernels(one: DeviceCode) -> Iterator[Found]:
    """Kernels that only copy into another type or layout."""
    trace = one.trace
    copies = one.op_names(one.rows, COPIES)
    above = trace.host.parent[trace.device.op[one.rows[copies]]]
    copies[copies] = above >= 0
    copies[copies] = matches(trace.strings, trace.host.name[above[above >= 0]], CONVERTS)
    if copies.any():
        yield one.found("conversion_kernels", one.rows[copies])


@pattern_rule(
    "DT4",
    "Conversions of type and layout",
    (TIME, WHOLE, OPS),
    ("conversion", "conversion_kernels"),
    Threshold("conversion_ratio", 0.05, "conversions of type and layout"),
    answers=("forward_ns", "idle_dispatch_ns"),
)
def conversions(selection: Selection, seen: Seen) -> Advice | None:
    """Conversions of type or layout that the program asks for take more than {conversion_ratio}.

    Copies between host and device are none, and neither is `clone()` or the layout of what
    attention reads next. Silent where the run used a
    device that was not recorded: a conversion may be a copy to it.

    Ceiling: their time, that of loops over them, and of such copies in their backward pass. Ops on
    another layout may get faster, too, by an unknown time.
    """
    if HIDDEN_DEVICE.holds(selection):
        return None
    kernels = any(one.pattern.kernels for one in seen)
    # A conversion on a device is an op and a kernel: once is enough.
    count = max(
        sum(one.count for one in seen if one.pattern.kernels is there) for there in (False, True)
    )
    return Advice(
        title=f"Tensors are converted back and forth{seen[0].place}",
        said=(
            f"Copies into another type or layout take "
            f"{spent(selection, total_of(selection, seen), kernels=kernels)}, "
            f"{often(selection, count)}"
            f"{', most of it' if len(seen) > 1 else ''}{seen[0].place}."
        ),
        action="Keep one type and one layout from the input to the result.",
        method="time of these copies alone, with loops and backward; ops that follow may gain, too",
        headline="Conversions take {part}.",
        confidence=0.8,
        verify="Record again: fewer `aten::_to_copy` and `aten::contiguous`.",
    )


_OF_LISTS = regex(
    r"^aten::(add|sub|mul|div|lerp|addcmul|addcdiv|copy|zero|sqrt|clamp_max)_?$"
    r"|^aten::(linalg_vector_norm|norm|stack|detach|to|empty_like|item|_local_scalar_dense)$"
)
TINY_NS = 20_000  # an op below this mostly pays for being called
INTERRUPTED = 5  # … times as long, and it is still one of them
RARE = 50  # … or, of so many pauses and ops of one call of a frame, one is longer
LEAST_ROW = 100  # ops of one row of tiny ops


@on_host(hides_python=True)
def find_tiny_ops(code: HostCode) -> Iterator[Found]:
    """Rows of at least a hundred short ops with short pauses, by the frame that most are of."""
    told = merge(code.updates(code.named(OPTIMIZES)), code.backward, code.time(code.named(PRINTS)))
    # Ops of the optimizer and of autograd are no code of the user's.
    keep = ~code.begin_in(code.top_ops, merge(code.loading, told))
    top = code.top_ops[keep]
    if not len(top):
        return
    dur = code.dur[top]
    # By the middle of all ops of the name: a single one may have been interrupted.
    short = np.flatnonzero(_typical(code.name[top], dur) < TINY_NS)
    short = short[~_are_long(code, top[short], dur[short])]
    top, place = top[short], np.flatnonzero(keep)[short]
    if not len(top):
        return
    joined = np.zeros(len(top), np.bool_)
    joined[1:] = code.ts[top[1:]] - code.end[top[:-1]] < PAUSE_NS
    joined[1:] |= _interrupted(code, top, place, joined)
    run = np.cumsum(~joined)
    keep = np.bincount(run)[run] >= LEAST_ROW
    rows, number = top[keep], run[keep]
    if not len(rows):
        return
    first = np.flatnonzero(np.diff(number, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    spans = union(code.ts[rows[first]], code.end[rows[last]])
    for frame, mine in code.by_owner(rows, code.dur[rows], 2):
        time = code.with_backward(_hull(code, mine, spans))
        kinds = distinct_values(code.name[mine])
        name = code.trace.strings[int(code.name[mine[0]])]
        joins = all(_OF_LISTS.match(code.trace.strings[one]) for one in kinds.tolist())
        figures = {"kinds": float(len(kinds)), "lists": float(joins)}
        yield Found("tiny_ops", name, time, code.host_rows(mine), frame, figures)


def _are_long(code: HostCode, ops: I64, dur: I64) -> Mask:
    """Ops that last long, where they are no rare exception of their frame's call.

    On a busy machine a thread is interrupted now and then: one op in fifty may be long.
    """
    long = dur >= INTERRUPTED * TINY_NS
    return long & ~_rare(_calls(code, ops), long)


def _calls(code: HostCode, ops: I64) -> I32:
    """The call of a frame that each op is in, without frames its step; −1 for none."""
    if code.frame.any():
        return take(code.owner, ops)
    return code.windows.of(take(code.ts, ops)).astype(np.int32)


def _interrupted(code: HostCode, ops: I64, place: I64, joined: Mask) -> Mask:
    """True if long pauses between the ops of a frame's call are rare exceptions.

    ``place`` is that of each op among all ops that no other calls.
    """
    owner = _calls(code, ops)
    long = ~joined
    same = np.zeros(len(ops), np.bool_)
    # An op of anything else in between is no pause.
    same[1:] = (owner[1:] == owner[:-1]) & (np.diff(place) == 1)
    return (same & long & _rare(owner, long & same))[1:]


def _rare(owner: I32, marked: Mask) -> Mask:
    """Rows of calls of frames in which one of fifty at most is marked."""
    known = owner >= 0
    result: Mask = known.copy()
    frames = distinct_values(owner[known & marked])
    if not len(frames):
        return result
    # Nothing is said of frames without a marked row but that it is rare there.
    at = np.minimum(search(frames, owner), len(frames) - 1)
    here = np.flatnonzero(frames[at] == owner)
    at = at[here]
    every = np.bincount(at, minlength=len(frames))
    some = np.bincount(at[marked[here]], minlength=len(frames))
    result[here] = (some * RARE <= every)[at]
    return result


def _typical(name: I32, dur: I64) -> I64:
    """For each op the upper median of the durations of its name."""
    codes, place = ranked(name)
    return take(middles(place, dur, len(codes))[1], place)


def _hull(code: HostCode, rows: I64, spans: Intervals) -> Intervals:
    """The spans, each from the first to the last of the rows in it."""
    at = search(spans.start, code.ts[rows], "right") - 1
    first = np.flatnonzero(np.diff(at, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    return union(code.ts[rows[first]], code.end[rows[last]])


@pattern_rule(
    "LA2",
    "Rows of tiny ops",
    (TIME, WHOLE, OPS),
    "tiny_ops",
    Threshold("tiny_ratio", 0.10, "rows of tiny ops"),
    answers=("forward_ns", "idle_dispatch_ns"),
    general=True,
)
def tiny_ops(selection: Selection, seen: Seen) -> Advice:
    """Rows of at least 100 ops below 20 µs take more than {tiny_ratio}.

    Less than 100 µs pass between them.

    Ceiling: from the first to the last op of each row, and their backward pass.
    """
    one, count = seen[0], count_of(seen)
    mean = duration(sum(each.ns for each in seen) / max(count, 1))
    compiles = selection.device is None or device_noun(selection) in COMPILE_DEVICES
    compiles = compiles and not selection.facts.traits.compiled
    since = "from torch 2.0 on, " if is_older(selection, TORCH_2_0) else ""
    return Advice(
        title=f"Many tiny ops run in a row{one.place}",
        said=(
            f"{count / max(selection.count, 1):,.0f} ops {per_step(selection)}, {mean} each "
            f"with the Python between them, take {spent_by(selection, seen)}"
            f"{', most of it' if one.place and len(seen) > 1 else ''}{one.place}. Each "
            "pays for its call more than for its work."
        ),
        action="Do the work with few ops on whole tensors, or with plain numbers where they are "
        f"scalars{f'; {since}`torch.compile` joins what remains' if compiles else ''}."
        + (
            " Of a loop over parameters, `torch._foreach_` ops do one pass over all."
            if one.figure("lists") and not is_older(selection, TORCH_2_0)
            else ""
        ),
        method="time from the first to the last op of each row, and of their backward pass",
        headline="Rows of tiny ops take {part}.",
        confidence=0.8,
        verify="Record again: fewer and longer ops.",
        links=(Reference("How torch.compile works", url=COMPILE_DOCS),) if compiles else (),
    )
