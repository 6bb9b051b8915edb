"""Are ops called in a way that costs more than their work?

OP1, OP2: does the optimizer update parameters one by one, or in several passes?
OP3: are gradients filled with zeros?
OP4: is a module called for one sample after another?
OP5: has a convolution a bias that the next op takes away?
DT4: are tensors converted back and forth?
LA2: do many ops last less than their call?
SY1, without a device or for small reads: are values read into Python one by one?
IN5: are tensors made on the host and then moved?
"""

from __future__ import annotations

from ...base.units import duration
from ..findings import Evidence, Reference
from ..steps import Selection
from ..wording import device_noun, per_step
from .claims import (
    PatternAdvice,
    Seen,
    count_of,
    often,
    pattern_rule,
    spent,
    spent_by,
    total_of,
)
from .rule import (
    COMPILE_DEVICES,
    DEVICE_ACTIVITY,
    MODULES,
    OPS,
    SHAPES,
    TIME,
    TORCH_2_0,
    TORCH_2_4,
    TORCH_2_12,
    WHOLE,
    is_older,
)

_FUSED = ("Adam", "AdamW", "SGD")
_FUSED_ON_HOST = (*_FUSED, "Adagrad")
_FUSING = ("GPU", "XPU", "HPU", "MPS")  # devices with fused forms of their own in torch
_FOREACH = ("ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop")
_OPTIMIZER_DOCS = "https://docs.pytorch.org/docs/stable/optim.html"
_COMPILE_DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
_TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
_OPTIMIZES = ("optimizer_ns", "idle_optimizer_ns")


def _update(selection: Selection, seen: Seen, how: str) -> PatternAdvice | None:
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
    return PatternAdvice(
        title=f"`{name}` updates {how}",
        said=f"`{name}.step` takes {spent_by(selection, seen)}, and calls {ops:,.0f} ops in an "
        "update.",
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
    "optimizer_ratio",
    choose=lambda seen: tuple(one for one in seen if not one.figure("foreach")),
    answers=_OPTIMIZES,
)
def loop(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """An optimizer that calls ops for each parameter takes over 2 % of the steps."""
    return _update(selection, seen, "parameter by parameter")


@pattern_rule(
    "OP2",
    "Optimizers that could be fused",
    (TIME, WHOLE, OPS),
    "optimizer",
    "foreach_ratio",
    choose=lambda seen: tuple(one for one in seen if one.figure("foreach")),
    answers=_OPTIMIZES,
)
def foreach(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """An optimizer of several passes, that could be fused, takes over 3 %."""
    return _update(selection, seen, "in several passes over all parameters")


@pattern_rule("OP3", "Gradients filled with zeros", (TIME, WHOLE, OPS), "zeroing", "zeroing_ratio")
def zeroing(selection: Selection, seen: Seen) -> PatternAdvice:
    """Filling gradients with zeros takes over 1 % of the steps."""
    return PatternAdvice(
        title="Gradients are filled with zeros",
        said=f"`zero_grad` fills gradients with zeros for {spent_by(selection, seen)}.",
        action="Forget them instead: the next backward pass writes new ones.",
        snippet="optimizer.zero_grad(set_to_none=True)",
        method="time in ops that fill gradients",
        confidence=0.9,
        verify="Record again: no `zero_` under `Optimizer.zero_grad`.",
    )


@pattern_rule(
    "OP4",
    "Modules called sample by sample",
    (TIME, WHOLE, OPS, MODULES),
    "per_sample",
    "sample_ratio",
    choose=lambda seen: tuple(one for one in seen if one.figure("ones", -1.0) != 0.0),
    answers=("forward_ns", "backward_ns", "idle_dispatch_ns"),
)
def samples(selection: Selection, seen: Seen) -> PatternAdvice:
    """One frame calls a module at least 16 times for over 5 % of the steps.

    Where shapes are recorded, only if the module works on one sample at a time.
    """
    one = seen[0]
    calls, known = one.figure("calls"), one.figure("ones", -1.0) > 0
    return PatternAdvice(
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


@pattern_rule("OP5", "A bias before batch norm", (WHOLE, OPS, SHAPES), "bias")
def bias(selection: Selection, seen: Seen) -> PatternAdvice:
    """A convolution with a bias is followed by a batch norm."""
    return PatternAdvice(
        title="`Conv2d` adds a bias that batch norm takes away",
        said=(
            f"`{seen[0].pattern.name}` with a bias comes right before a batch norm, "
            f"{often(selection, count_of(seen))}{seen[0].place}: the norm subtracts the mean, and "
            "with it the bias."
        ),
        action="Make these convolutions without a bias.",
        snippet="nn.Conv2d(…, bias=False)  # before nn.BatchNorm2d",
        otherwise="info",
        confidence=0.7,
        verify="Record again with `record_shapes=True`: these convolutions have no bias.",
        links=(Reference("Tuning guide", url=_TUNING),),
    )


@pattern_rule(
    "DT4",
    "Conversions of type and layout",
    (TIME, WHOLE, OPS),
    ("conversion", "conversion_kernels"),
    "conversion_ratio",
    answers=("forward_ns", "idle_dispatch_ns"),
)
def conversions(selection: Selection, seen: Seen) -> PatternAdvice:
    """Conversions that the program asks for take over 5 % of the steps."""
    kernels = any(one.pattern.kernels for one in seen)
    # A conversion on a device is an op and a kernel: once is enough.
    count = max(
        sum(one.count for one in seen if one.pattern.kernels is there) for there in (False, True)
    )
    return PatternAdvice(
        title=f"Tensors are converted back and forth{seen[0].place}",
        said=(
            f"Copies into another type or layout take "
            f"{spent(selection, total_of(selection, seen), kernels=kernels)}, "
            f"{often(selection, count)}"
            f"{', most of it' if len(seen) > 1 else ''}{seen[0].place}."
        ),
        action="Keep one type from the input to the result, and convert data once, before the "
        "steps.",
        method="time of these copies, of loops over them, and of their backward pass",
        headline="Conversions take {part}.",
        confidence=0.8,
        verify="Record again: fewer `aten::_to_copy` and `aten::contiguous`.",
    )


@pattern_rule(
    "LA2",
    "Rows of tiny ops",
    (TIME, WHOLE, OPS),
    "tiny_ops",
    "tiny_ratio",
    answers=("forward_ns", "idle_dispatch_ns"),
)
def tiny_ops(selection: Selection, seen: Seen) -> PatternAdvice:
    """Rows of at least a hundred tiny ops take over 10 % of the steps."""
    one, count = seen[0], count_of(seen)
    mean = duration(sum(each.ns for each in seen) / max(count, 1))
    compiles = selection.device is None or device_noun(selection) in COMPILE_DEVICES
    compiles = compiles and not selection.facts.traits.compiled
    since = "from torch 2.0 on, " if is_older(selection, TORCH_2_0) else ""
    return PatternAdvice(
        title=f"Many tiny ops run in a row{one.place}",
        said=(
            f"{count / max(selection.count, 1):,.0f} ops {per_step(selection)}, {mean} each "
            f"with the Python between them, take {spent_by(selection, seen)}"
            f"{', most of it' if one.place and len(seen) > 1 else ''}{one.place}. Each "
            "pays for its call more than for its work."
        ),
        action="Do the work with few ops on whole tensors, or with plain numbers where they are "
        f"scalars{f'; {since}`torch.compile` joins what remains' if compiles else ''}.",
        method="time from the first to the last op of each row, and of their backward pass",
        headline="Rows of tiny ops take {part}.",
        confidence=0.8,
        verify="Record again: fewer and longer ops.",
        links=(Reference("How torch.compile works", url=_COMPILE_DOCS),) if compiles else (),
    )


@pattern_rule("SY1", "Values read into Python", (TIME, WHOLE, OPS), "read_back", "read_back_ratio")
def reads(selection: Selection, seen: Seen) -> PatternAdvice:
    """Reading values into Python takes over 1 % of the steps.

    With a device that is idle time under these reads: a read while the device still works, and
    whose next work arrives in time, costs nothing.
    """
    host = selection.device is None
    waits = "" if host else " Each waits until the device has done all before."
    return PatternAdvice(
        title=f"Values are read one by one{seen[0].place}",
        said=(
            f"{seen[0].name} take {spent_by(selection, seen)}, "
            f"{often(selection, count_of(seen))}{seen[0].place}.{waits}"
        ),
        action=(
            "Keep values on tensors: add losses up with `detach()`, and read the sum every "
            "hundredth step; read many values at once with `tolist()`."
        )
        if selection.facts.traits.backward
        else "Keep values on tensors, and read many at once with `tolist()`.",
        snippet="total += loss.detach()\nif step % 100 == 0:\n    print(total.item() / 100)"
        if selection.facts.traits.backward
        else "values = results.tolist()  # one read for all",
        method="time of these reads, and of the loops that consist of them"
        if host
        else "idle time during these reads",
        headline="Reading values one by one takes {part}.",
        confidence=0.9,
        verify="Record again: fewer `aten::item`.",
    )


@pattern_rule(
    "IN5", "Tensors made on the host", (TIME, WHOLE, OPS, DEVICE_ACTIVITY), "made_on_host"
)
def made_on_host(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """A tensor per step is made on the host right before it is copied to a device."""
    count = count_of(seen)
    if selection.mean(count) < selection.limits.made_on_host_count:
        return None
    return PatternAdvice(
        title=f"Tensors are made on the host and then moved{seen[0].place}",
        said=(
            f"`{seen[0].pattern.name}` makes a tensor on the host, and the next op copies it to "
            f"the device, {often(selection, count)}{seen[0].place}: the device idles "
            f"{duration(selection.mean(total_of(selection, seen)))} during these copies."
        ),
        action="Make it on the device.",
        snippet="torch.zeros(…, device=x.device)",
        method="idle time during these copies",
        otherwise="info",
        confidence=0.8,
        verify="Record again: no copy right behind the op that makes the tensor.",
    )


RULES = (loop, foreach, zeroing, samples, bias, conversions, tiny_ops, made_on_host)
