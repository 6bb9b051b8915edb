"""Does a training compute what it does not need? Searches for NaN, unused gradients, validation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...base.arrays import cells, distinct_values, is_among, ranked, search, take, where
from ...base.intervals import Intervals, length_within, merge, subtract
from ...base.units import plural
from ..findings import Evidence, Reference
from ..steps import Selection
from ..user_code import MOST_FRAMES, OPTIMIZES, Found, HostCode, of_code
from ..wording import per_step
from .claims import Seen, in_python, longest, often, on_host, spent_by
from .numerics import json_of
from .rule import OPS, SHAPES, TIME, WHOLE, Advice, Threshold, pattern_rule

_WORK = ("forward_ns", "backward_ns", "optimizer_ns")
_ANOMALY_DOCS = "https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection"
_SPARSE_DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html"
LEAST_CHECKS = 8  # searches for NaN in the recording

_SEARCHES = of_code(r"^aten::isnan$")
_CHECKS = of_code(r"^aten::(isnan|_is_any_true|item)$")
_EVALUATES = of_code(r"^autograd::engine::evaluate_function: ")
_FORMATS = of_code(r"(^|/)traceback\.py\(\d+\): format_stack$")


@on_host(hides_python=True)
def find_anomaly(code: HostCode) -> Iterator[Found]:
    """Cost of anomaly detection: a stack as text behind every op, a search in each gradient.

    Without frames the text is what ops of the forward pass do beside the ops that they call.
    """
    rows = code.named(_CHECKS)
    rows = rows[code.op[rows] & (code.parent[rows] >= 0)]
    rows = rows[code.have_name(code.parent[rows].astype(np.int64), _EVALUATES)]
    searches = rows[code.have_name(rows, _SEARCHES)]
    if len(searches) < LEAST_CHECKS:
        return
    texts = code.outermost(code.named(_FORMATS))
    added = code.time(texts) if len(texts) else _beside_ops(code)
    name = code.trace.strings[int(code.name[searches[0]])]
    yield Found("anomaly", name, merge(code.time(rows), added), code.host_rows(searches))


def _beside_ops(code: HostCode) -> Intervals:
    """When ops of the forward pass were open, and none that calls no other."""
    ops = where(code.op).astype(np.int64)
    above = code.parent[ops]
    leaves = ops[~is_among(ops, distinct_values(above[above >= 0]).astype(np.int64))]
    return subtract(subtract(code.time(code.top_ops), code.time(leaves)), code.backward)


@pattern_rule("AG1", "Anomaly detection", (TIME, WHOLE, OPS), "anomaly", answers=_WORK)
def anomaly(selection: Selection, seen: Seen) -> Advice:
    """Autograd searches eight gradients or more for NaN, as `set_detect_anomaly` has it.

    Ceiling: time of these searches, and of the stacks that are noted for every op.
    """
    return Advice(
        title="Anomaly detection is on",
        said=(
            f"Autograd searches a gradient for NaN {often(selection, seen[0].count)}, and notes "
            f"the stack of every op. Both take {spent_by(selection, seen)}."
        ),
        action="Turn anomaly detection off when the search for NaN is over.",
        snippet="torch.autograd.set_detect_anomaly(False)",
        method="time of the searches for NaN, and of noting stacks",
        headline="Anomaly detection takes {part}.",
        confidence=0.95,
        verify="Record again: no `aten::isnan` in the backward pass.",
        links=(Reference("What anomaly detection does", url=_ANOMALY_DOCS),),
    )


_ACCUMULATES = of_code(r"^torch::autograd::AccumulateGrad$")
_ADDS = of_code(r"^aten::add_$")
MIXED_RATIO = 0.8  # of the steps that compute gradients


@on_host()
def find_unused_gradients(code: HostCode) -> Iterator[Found]:
    """Gradients that are added to older ones while others of the same backward pass are new.

    An optimizer clears what it works on; without one nothing is known. Where gradients are
    accumulated on purpose, all of a pass are new, or all are added. A pass ends where ops of the
    next forward pass begin.
    """
    rows = code.named(_ACCUMULATES)
    adds = code.named(_ADDS)
    above = code.parent[adds[code.parent[adds] >= 0]].astype(np.int64)
    old = is_among(rows, above[code.have_name(above, _ACCUMULATES)])
    forward = code.differentiated
    if not len(forward) or not old.any() or old.all() or not len(code.named(OPTIMIZES)):
        return
    passes, number = ranked(search(take(code.ts, forward), take(code.ts, rows), "right"))
    added = np.bincount(number, old, len(passes))
    mixed = ((added > 0) & (added < np.bincount(number)))[number]
    step = code.windows.of(take(code.ts, rows))
    steps, of_mixed = (distinct_values(some[some >= 0]) for some in (step, step[mixed]))
    if len(of_mixed) < MIXED_RATIO * max(len(steps), 1) or not mixed.any():
        return
    count = len(distinct_values(number[mixed]))
    start, end = np.full(len(passes), -1, np.int64), np.full(len(passes), -1, np.int64)
    np.maximum.at(start, number[~old], take(code.end, rows[~old]))
    np.maximum.at(end, number, take(code.end, rows))
    chosen = distinct_values(number[mixed])
    chosen = chosen[end[chosen] > start[chosen]]
    unused = rows[mixed & old]
    figures = {"unused": len(unused) / count, "all": float(mixed.sum()) / count}
    name = code.trace.strings[int(code.name[unused[0]])]
    time = Intervals(start[chosen], end[chosen])
    yield Found("unused_gradients", name, time, code.host_rows(unused), "", figures)


@pattern_rule(
    "AG2",
    "Gradients that no optimizer uses",
    (TIME, WHOLE, OPS),
    "unused_gradients",
    Threshold("unused_gradient_ratio", 0.05, "computing gradients that no optimizer uses"),
    answers=("backward_ns",),
)
def unused_gradients(selection: Selection, seen: Seen) -> Advice:
    """Gradients that nothing clears take more than {unused_gradient_ratio}.

    In most steps, a backward pass adds some gradients to older ones while others are new.

    Ceiling: from the last new gradient to the end of the backward pass.
    """
    unused, every = seen[0].figure("unused"), seen[0].figure("all")
    return Advice(
        title="Gradients are computed that no optimizer uses",
        said=(
            f"A backward pass adds {unused:,.0f} of {every:,.0f} gradients to older ones, which "
            f"no optimizer clears. After the last of the others it runs for "
            f"{spent_by(selection, seen)}."
        ),
        action="Freeze the parameters that are not trained, or give them to the optimizer.",
        snippet="backbone.requires_grad_(False)",
        method="time from the last new gradient to the end of the backward pass",
        headline="Gradients that no optimizer uses take {part}.",
        confidence=0.85,
        evidence=(Evidence("gradients that are not cleared", unused, "count", 0),),
        verify="Record again: no `aten::add_` in `AccumulateGrad`.",
    )


_EMBEDS = of_code(r"^aten::(embedding|_embedding_bag)_dense_backward$")
_ROW_COUNT_AT = {"aten::_embedding_bag_dense_backward": 5}
"""Place of the number of rows among the arguments, where it is not the third."""
LEAST_ROWS = 10_000  # of an embedding
READ_RATIO = 0.25  # of its rows: where a step reads more, sparse gradients win little


@on_host()
def find_dense_embeddings(code: HostCode) -> Iterator[Found]:
    """Dense gradients of large embeddings of which a step reads few rows, and the optimizer."""
    rows, args = code.named(_EMBEDS), code.trace.host.args
    names = ("input_dims", "concrete_inputs")
    texts = (cells(args.get(one), code.host_rows(rows), -1).tolist() for one in names)
    places = [_ROW_COUNT_AT.get(code.trace.strings[name], 2) for name in code.name[rows].tolist()]
    sizes = [_rows_of(code, *one) for one in zip(*texts, places, strict=True)]
    large = [every >= LEAST_ROWS and read <= READ_RATIO * every for read, every in sizes]
    if not any(large):
        return
    rows = rows[np.array(large, np.bool_)]
    updates = code.named(OPTIMIZES)
    updates = updates[~code.frame[updates]]
    of = {code.trace.strings[int(code.name[row])] for row in updates}
    read, every = max(one for one, keep in zip(sizes, large, strict=True) if keep)
    sparse = all("#SGD." in one or "#Adagrad." in one for one in of)
    figures = {"read": float(read), "rows": float(every), "sparse": float(sparse)}
    name = code.trace.strings[int(code.name[rows[0]])]
    time = merge(code.time(rows), code.time(updates))
    yield Found("dense_embedding", name, time, code.host_rows(rows), "", figures)


def _rows_of(code: HostCode, dims: int, values: int, place: int) -> tuple[int, int]:
    """The number of indices that were read, and of rows of the embedding; zeros if unknown."""
    try:
        read = json_of(code.trace.strings[dims])[1] if dims >= 0 else []
        every = json_of(code.trace.strings[values])[place] if values >= 0 else 0
        return int(np.prod(read)), int(every)
    except (TypeError, ValueError, LookupError):
        return 0, 0


@pattern_rule(
    "AG3",
    "Dense gradients of embeddings",
    (TIME, WHOLE, OPS, SHAPES),
    "dense_embedding",
    Threshold("dense_embedding_ratio", 0.10, "dense gradients of embeddings, with the optimizer"),
    answers=("backward_ns", "optimizer_ns"),
)
def dense_embedding(selection: Selection, seen: Seen) -> Advice | None:
    """Dense gradients of an embedding and the optimizer take more than {dense_embedding_ratio}.

    The embedding has 10,000 rows or more, and a step reads a quarter of them at most. Silent with
    `DistributedDataParallel` and FSDP, which reduce dense gradients only.

    Ceiling: time of these gradients, and of the optimizer.
    """
    one, traits = seen[0], selection.facts.traits
    if traits.fully_sharded or traits.distributed_data_parallel:
        return None
    switch = "" if one.figure("sparse") else ", and train it with `SparseAdam` or `Adagrad`"
    return Advice(
        title="The gradient of an embedding is dense",
        said=(
            f"A step reads {one.figure('read'):,.0f} of {one.figure('rows'):,.0f} rows of an "
            "embedding, and its gradient has all of them. With the optimizer that takes "
            f"{spent_by(selection, seen)}."
        ),
        action=f"Make its gradients sparse{switch}.",
        snippet="nn.Embedding(…, sparse=True)",
        method="time of these gradients, and of the optimizer",
        headline="Dense gradients of an embedding take {part}.",
        confidence=0.8,
        evidence=(Evidence("rows of the embedding", one.figure("rows"), "count", LEAST_ROWS),),
        verify=f"Record again: no `{one.pattern.name}`.",
        links=(Reference("Which optimizers take sparse gradients", url=_SPARSE_DOCS),),
    )


IN_OPS_RATIO = 0.5  # of a function's time, apart from what other patterns tell


@in_python
def find_aside(code: HostCode, told: Intervals) -> Iterator[Found]:
    """Functions of the user's code without a gradient, a backward pass or an optimizer in them.

    What a module calls is a part of the model. Without frames: ops that autograd does not follow,
    if there are products among them.
    """
    updates, forward = code.named(OPTIMIZES), code.differentiated
    if not len(updates) or not len(forward):
        return
    needed = np.sort(np.concatenate([take(code.ts, forward), take(code.ts, updates)]))
    needed = np.sort(np.concatenate([needed, code.backward.start]))
    apart = merge(code.loading, code.backward, code.time(updates))
    if code.frame.any():
        own = where(code.frame & (code.owner == np.arange(len(code.owner)))).astype(np.int64)
        rows = code.outside(own, merge(apart, code.time_where(code.module)))
    else:
        rows = code.outside(code.top_ops, apart)
    rows = rows[search(needed, code.end[rows]) == search(needed, code.ts[rows])]
    rows = code.outermost(rows)
    in_ops = length_within(subtract(code.time(code.top_ops), told), code.ts[rows], code.end[rows])
    rows = rows[in_ops >= IN_OPS_RATIO * np.maximum(code.dur[rows], 1)]
    products = code.named(_PRODUCES)
    if not code.frame.any() and not len(code.within(products, code.time(rows))):
        return
    for frame, mine in code.by_owner(rows, code.dur[rows], MOST_FRAMES):
        name = frame or code.trace.strings[int(code.name[mine[np.argmax(code.dur[mine])]])]
        yield Found("aside", name, code.time(mine), code.host_rows(mine), frame)


_PRODUCES = of_code(r"^aten::((add)?mm|(badd)?bmm|linear|conv[123]d|convolution)$")


@pattern_rule(
    "FN1",
    "Functions beside the training",
    (TIME, WHOLE, OPS),
    "aside",
    Threshold("aside_ratio", 0.20, "one function without gradients, in a training"),
    choose=longest,
    answers=("forward_ns", "python_ns"),
    general=True,
)
def aside(selection: Selection, seen: Seen) -> Advice:
    """In a training, one function of the user's code takes more than {aside_ratio}.

    No gradient, no backward pass and no optimizer is in it, and ops take half of its time or more.
    Without frames: ops that autograd does not follow.

    Ceiling: its time.
    """
    one = seen[0]
    what = f"`{one.frame}`" if one.frame else "Ops without gradients"
    takes = "takes" if one.frame else "take"
    return Advice(
        title=f"{what} {takes} a large part of the step",
        said=(
            f"{what} {takes} {spent_by(selection, seen)}, in "
            f"{plural(round(selection.mean(one.count)), 'call' if one.frame else 'op')} "
            f"{per_step(selection)}. No gradient flows through "
            f"{'it' if one.frame else 'them'}."
        ),
        action=(
            "If it validates the model, do so every hundredth step. If it makes the batch, do that "
            "in workers of the DataLoader."
            if one.frame
            else "If they validate the model, do so every hundredth step. If they are a frozen "
            "part of it, keep its results."
        ),
        method="time in this function" if one.frame else "time of these ops",
        headline=f"{what} {takes} {{part}}.",
        confidence=0.7 if one.frame else 0.6,
        verify="Record again: most steps do without it.",
    )


_ZERO_GRAD = of_code(r"^Optimizer\.zero_grad")
_ZEROES = of_code(r"^aten::(zero_|_foreach_zero_)$")


@on_host()
def find_zeroing(code: HostCode) -> Iterator[Found]:
    """Gradients that ``zero_grad`` fills with zeros."""
    clears, zeroes = code.named(_ZERO_GRAD), code.named(_ZEROES)
    ranges = code.time(clears[~code.frame[clears]])
    rows = code.within(zeroes[code.top_op[zeroes]], ranges)
    if len(rows):
        name = code.trace.strings[int(code.name[rows[0]])]
        yield Found("zeroing", name, code.time(rows), code.host_rows(rows))


@pattern_rule(
    "OP3",
    "Gradients filled with zeros",
    (TIME, WHOLE, OPS),
    "zeroing",
    Threshold("zeroing_ratio", 0.01, "gradients filled with zeros"),
)
def zeroing(selection: Selection, seen: Seen) -> Advice:
    """`zero_grad` fills gradients with zeros for more than {zeroing_ratio}.

    Ceiling: these ops.
    """
    return Advice(
        title="Gradients are filled with zeros",
        said=f"`zero_grad` fills gradients with zeros for {spent_by(selection, seen)}.",
        action="Forget them instead: the next backward pass writes new ones.",
        snippet="optimizer.zero_grad(set_to_none=True)",
        method="time in ops that fill gradients",
        confidence=0.9,
        verify="Record again: no `zero_` under `Optimizer.zero_grad`.",
    )
