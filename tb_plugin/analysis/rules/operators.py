"""Are ops called in a way that costs more than their work?

OP1, OP2: does the optimizer update parameters one by one, or in several passes?
OP3: are gradients filled with zeros?
OP4: is a module called for one sample after another?
OP5: has a convolution a bias that the next op takes away?
DT4: are tensors converted back and forth?
LA2: do many ops last less than their call?
SY1: are values read into Python one by one?
IN5: are tensors made on the host and then moved?
"""

from __future__ import annotations

from ...base.units import duration
from ..overview.findings import Evidence, Finding, Reference
from ..steps import Selection
from ..wording import per_step
from .claims import PatternAdvice, PatternSum, pattern_finding, patterns, spent, united_ns
from .python_code import large, often
from .rule import DEVICE_ACTIVITY, MODULES, OPS, SHAPES, TIME, WHOLE, Rule

_FUSED = ("Adam", "AdamW", "SGD")
_FUSED_ON_HOST = (*_FUSED, "Adagrad")  # its fused form is for the CPU alone
_OPTIMIZER_DOCS = "https://docs.pytorch.org/docs/stable/optim.html"
_COMPILE_DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
_TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


def total_of(selection: Selection, seen: tuple[PatternSum, ...]) -> int:
    """The time that some patterns claim together."""
    return united_ns(selection, [one.row for one in seen])


def _check_optimizer(selection: Selection, *, foreach: bool) -> Finding | None:
    limits = selection.limits
    limit = limits.foreach_ratio if foreach else limits.optimizer_ratio
    seen = tuple(
        one
        for one in patterns(selection, "optimizer")
        if bool(one.pattern.figures.get("foreach")) is foreach
    )
    if not seen or not large(selection, seen, limit):
        return None
    name, ops = seen[0].pattern.name, seen[0].pattern.figures.get("ops", 0.0)
    can_fuse = name in (_FUSED_ON_HOST if selection.device is None else _FUSED)
    how = "several passes over all parameters" if foreach else "parameter by parameter"
    if can_fuse:
        action = "Have one op do all of it: `fused=True`."
        snippet = f"optimizer = torch.optim.{name}(model.parameters(), …, fused=True)"
    elif not foreach:
        action = "Have one op work on all parameters: `foreach=True`, where the optimizer has it."
        snippet = f"optimizer = torch.optim.{name}(model.parameters(), …, foreach=True)"
    else:
        return None
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="OP2" if foreach else "OP1",
            title=f"`{name}` updates {'in ' if foreach else ''}{how}",
            said=(
                f"`{name}.step` takes {spent(selection, total_of(selection, seen))}, "
                f"and calls {ops:,.0f} ops in an update: {how}."
            ),
            action=action,
            snippet=snippet,
            method="all time in the optimizer, of which a fused one keeps the arithmetic",
            limit=limit,
            headline=f"`{name}` takes {{part}}, and calls {ops:,.0f} ops in an update.",
            confidence=0.9,
            evidence=(Evidence("ops in an update", ops, "count"),),
            verify="Record again: an update should call a few ops.",
            links=(Reference("Which optimizers are fused", url=_OPTIMIZER_DOCS),),
        ),
    )


def check_loop(selection: Selection) -> Finding | None:
    """Fires when an optimizer that calls ops for each parameter takes over 2 % of the steps."""
    return _check_optimizer(selection, foreach=False)


def check_foreach(selection: Selection) -> Finding | None:
    """Fires when an optimizer of several passes, that could be fused, takes over 3 %."""
    return _check_optimizer(selection, foreach=True)


LOOP = Rule(
    "OP1",
    "Optimizers that work parameter by parameter",
    (TIME, WHOLE, OPS),
    check_loop,
    frozenset({"optimizer_ns", "idle_optimizer_ns"}),
)
FOREACH = Rule(
    "OP2",
    "Optimizers that could be fused",
    (TIME, WHOLE, OPS),
    check_foreach,
    frozenset({"optimizer_ns", "idle_optimizer_ns"}),
)


def check_zeroing(selection: Selection) -> Finding | None:
    """Fires when filling gradients with zeros takes over 1 % of the steps."""
    seen = patterns(selection, "zeroing")
    limit = selection.limits.zeroing_ratio
    if not seen or not large(selection, seen, limit):
        return None
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="OP3",
            title="Gradients are filled with zeros",
            said=(
                f"`zero_grad` fills gradients with zeros for "
                f"{spent(selection, total_of(selection, seen))}."
            ),
            action="Forget them instead: the next backward pass writes new ones.",
            snippet="optimizer.zero_grad(set_to_none=True)",
            method="time in ops that fill gradients",
            limit=limit,
            confidence=0.9,
            verify="Record again: no `zero_` under `Optimizer.zero_grad`.",
        ),
    )


ZEROING = Rule("OP3", "Gradients filled with zeros", (TIME, WHOLE, OPS), check_zeroing)


def check_samples(selection: Selection) -> Finding | None:
    """Fires when one frame calls a module at least 16 times for over 5 % of the steps.

    Where shapes are recorded, only if the module works on one sample at a time.
    """
    seen = tuple(
        one
        for one in patterns(selection, "per_sample")
        if one.pattern.figures.get("ones", -1.0) != 0.0
    )
    limit = selection.limits.sample_ratio
    if not seen or not large(selection, seen, limit):
        return None
    one = seen[0]
    calls = one.pattern.figures.get("calls", 0.0)
    known = one.pattern.figures.get("ones", -1.0) > 0
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="OP4",
            title=f"`{one.pattern.name}` is called for one sample after another{one.place}",
            said=(
                f"One call of `{one.frame}` calls `{one.pattern.name}` {calls:,.0f} times"
                f"{', for one sample each' if known else ''}: with their backward pass these calls "
                f"take {spent(selection, total_of(selection, seen))}."
            ),
            action="Call it once with all samples, unless each result is the next one's input.",
            snippet="y = model(x)                      # one batch\n"
            "y = torch.func.vmap(model)(x)     # where it takes one sample only",
            method="time of these calls and of their backward pass, apart from one of them",
            scale=1 - 1 / max(calls, 2.0),
            limit=limit,
            headline=f"`{one.pattern.name}` runs sample by sample for {{part}}.",
            confidence=0.85 if known else 0.6,
            evidence=(Evidence("calls in one call of the frame", calls, "count", 16),),
            verify="Record again: the module is called once per batch.",
        ),
    )


SAMPLES = Rule(
    "OP4",
    "Modules called sample by sample",
    (TIME, WHOLE, OPS, MODULES),
    check_samples,
    frozenset({"forward_ns", "backward_ns", "idle_dispatch_ns"}),
)


def check_bias(selection: Selection) -> Finding | None:
    """Fires when a convolution with a bias is followed by a batch norm."""
    seen = patterns(selection, "bias")
    if not seen:
        return None
    count = sum(one.count for one in seen)
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="OP5",
            title="`Conv2d` adds a bias that batch norm takes away",
            said=(
                f"`{seen[0].pattern.name}` with a bias comes right before a batch norm, "
                f"{often(selection, count)}{seen[0].place}: the norm subtracts the mean, and with "
                "it the bias."
            ),
            action="Make these convolutions without a bias.",
            snippet="nn.Conv2d(…, bias=False)  # before nn.BatchNorm2d",
            method="",
            limit=0.0,
            otherwise="info",
            confidence=0.7,
            verify="Record again with `record_shapes=True`: these convolutions have no bias.",
            links=(Reference("Tuning guide", url=_TUNING),),
        ),
    )


BIAS = Rule("OP5", "A bias before batch norm", (WHOLE, OPS, SHAPES), check_bias)


def check_conversions(selection: Selection) -> Finding | None:
    """Fires when conversions that the program asks for take over 5 % of the steps."""
    seen = (*patterns(selection, "conversion"), *patterns(selection, "conversion_kernels"))
    limit = selection.limits.conversion_ratio
    if not seen or not large(selection, seen, limit):
        return None
    kernels = any(one.pattern.kernels for one in seen)
    # A conversion on a device is an op and a kernel: once is enough.
    count = max(
        sum(one.count for one in seen if one.pattern.kernels is there) for there in (False, True)
    )
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="DT4",
            title=f"Tensors are converted back and forth{seen[0].place}",
            said=(
                f"Copies into another type or layout take "
                f"{spent(selection, total_of(selection, seen), kernels=kernels)}, "
                f"{often(selection, count)}"
                f"{', most of it' if len(seen) > 1 else ''}{seen[0].place}."
            ),
            action=(
                "Keep one type from the input to the loss, and convert data once, before the steps."
            ),
            method="time of these copies, of loops over them, and of their backward pass",
            limit=limit,
            headline="Conversions take {part}.",
            confidence=0.8,
            verify="Record again: fewer `aten::_to_copy` and `aten::contiguous`.",
        ),
    )


CONVERSIONS = Rule(
    "DT4",
    "Conversions of type and layout",
    (TIME, WHOLE, OPS),
    check_conversions,
    frozenset({"forward_ns", "idle_dispatch_ns"}),
)


def check_tiny_ops(selection: Selection) -> Finding | None:
    """Fires when rows of at least a hundred tiny ops take over 10 % of the steps."""
    seen = patterns(selection, "tiny_ops")
    limit = selection.limits.tiny_ratio
    if not seen or not large(selection, seen, limit):
        return None
    one = seen[0]
    total, count = total_of(selection, seen), sum(one.count for one in seen)
    mean = duration(sum(each.ns for each in seen) / max(count, 1))
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="LA2",
            title=f"Many tiny ops run in a row{one.place}",
            said=(
                f"{count / max(selection.count, 1):,.0f} ops {per_step(selection)}, {mean} each "
                f"with the Python between them, take {spent(selection, total)}"
                f"{', most of it' if one.place and len(seen) > 1 else ''}{one.place}. Each "
                "pays for its call more than for its work."
            ),
            action=(
                "Do the work with few ops on whole tensors, or with plain numbers where they are "
                "scalars; `torch.compile` joins what remains."
            ),
            method="time from the first to the last op of each row, and of their backward pass",
            limit=limit,
            headline="Rows of tiny ops take {part}.",
            confidence=0.8,
            verify="Record again: fewer and longer ops.",
            links=(Reference("How torch.compile works", url=_COMPILE_DOCS),),
        ),
    )


TINY = Rule(
    "LA2",
    "Rows of tiny ops",
    (TIME, WHOLE, OPS),
    check_tiny_ops,
    frozenset({"forward_ns", "idle_dispatch_ns"}),
)


def check_reads(selection: Selection) -> Finding | None:
    """Fires when reading values into Python takes over 1 % of the steps.

    With a device that is idle time under these reads: a read while the device still works, and
    whose next work arrives in time, costs nothing.
    """
    seen = patterns(selection, "read_back")
    limit = selection.limits.read_back_ratio
    if not seen or not large(selection, seen, limit):
        return None
    total, count = total_of(selection, seen), sum(one.count for one in seen)
    name = seen[0].pattern.name
    waits = "" if selection.device is None else " Each waits until the device has done all before."
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="SY1",
            title=f"Values are read one by one{seen[0].place}",
            said=(
                f"`{name}` and the like take {spent(selection, total)}, "
                f"{often(selection, count)}{seen[0].place}.{waits}"
            ),
            action=(
                "Keep values on tensors: add losses up with `detach()`, and read the sum every "
                "hundredth step; read many values at once with `tolist()`."
            ),
            snippet="total += loss.detach()\nif step % 100 == 0:\n    print(total.item() / 100)",
            method="time of these reads, and of the loops that consist of them"
            if selection.device is None
            else "idle time during these reads",
            limit=limit,
            headline="Reading values one by one takes {part}.",
            confidence=0.9,
            verify="Record again: fewer `aten::item`.",
        ),
    )


def check_made_on_host(selection: Selection) -> Finding | None:
    """Fires when a tensor per step is made on the host right before it is copied to a device."""
    seen = patterns(selection, "made_on_host")
    count = sum(one.count for one in seen)
    if not seen or selection.mean(count) < selection.limits.made_on_host_count:
        return None
    name = seen[0].pattern.name
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="IN5",
            title=f"Tensors are made on the host and then moved{seen[0].place}",
            said=(
                f"`{name}` makes a tensor on the host, and the next op copies it to the device, "
                f"{often(selection, count)}{seen[0].place}: the device idles "
                f"{duration(selection.mean(total_of(selection, seen)))} during these copies."
            ),
            action="Make it on the device.",
            snippet="torch.zeros(…, device=x.device)",
            method="idle time during these copies",
            limit=selection.limits.low_ratio,
            otherwise="info",
            confidence=0.8,
            verify="Record again: no copy right behind the op that makes the tensor.",
        ),
    )


MADE_ON_HOST = Rule(
    "IN5", "Tensors made on the host", (TIME, WHOLE, OPS, DEVICE_ACTIVITY), check_made_on_host
)

RULES = (LOOP, FOREACH, ZEROING, SAMPLES, BIAS, CONVERSIONS, TINY, MADE_ON_HOST)
