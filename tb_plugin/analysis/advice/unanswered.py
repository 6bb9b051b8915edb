"""Why has the cause in the headline no finding, and where to look instead?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from ...base.units import share
from ...trace.model import is_of_other_recorder
from ...trace.recipes import FRAMES, with_option
from ..findings import Explanation, Finding, Reference, Sentence
from ..recording import OTHER_RECORDER
from ..steps import Selection
from . import RULES
from .distributed import COMMUNICATION_RATIO
from .input import LOADER_RATIO
from .launches import IDLE_RATIO

# What the sentence may say that is no field of a partition.
CUT, CAPTURE, NOTHING = "cut", "capture", "nothing"


def unanswered(
    selection: Selection, said: Sentence, findings: Sequence[Finding]
) -> Explanation | None:
    """Why the cause in the headline has no finding, and where to look; None where it has one."""
    answering = {said.cause, *(rule.id for rule in RULES if said.cause in rule.answers)}
    if any(finding.id in answering for finding in findings):
        return None
    why: Explanation | None
    if said.cause in (CUT, "uninstrumented_ns"):
        why = _cut_short() if said.cause == CUT else _uninstrumented(selection)
    else:
        why = _UNANSWERED.get(said.cause, _IDLE_IS_SMALL) if said.cause else None
    if why is not None and why.links == _TRACE and selection.facts.step_source == "whole_trace":
        return structs.replace(why, links=_WHOLE_TRACE)
    return why


_KERNELS = (Reference("The longest kernels", "kernels"),)
_OPERATORS = (Reference("The longest operators", "operators"),)
_TRACE = (Reference("These steps in the trace", "timeline"),)
_WHOLE_TRACE = (Reference("The recording in the trace", "timeline"),)
_COMPUTES = Explanation("No rule finds a cause in the operators.", _OPERATORS)
_COMMUNICATES = Explanation(
    f"The rule on communication asks for more than {share(COMMUNICATION_RATIO.value)} of the "
    "time, with nothing else running.",
    _TRACE,
)
_LOADS = Explanation(
    f"The rule on the DataLoader asks for more than {share(LOADER_RATIO.value)} of the time, "
    "with nothing else running.",
    _TRACE,
)
_IDLE_IS_SMALL = Explanation(
    f"The rule on idle devices asks for {share(IDLE_RATIO.value)} of the time, apart from the "
    "DataLoader.",
    _TRACE,
)
_UNANSWERED: Mapping[str, Explanation | None] = {
    NOTHING: None,
    CAPTURE: Explanation(
        "Capturing a graph happens once. To see how the device is used, record steps that replay "
        "it.",
        _TRACE,
    ),
    "compute_ns": Explanation(
        "The device is busy most of the time. Only faster kernels gain more.", _KERNELS
    ),
    "forward_ns": _COMPUTES,
    "backward_ns": _COMPUTES,
    "optimizer_ns": _COMPUTES,
    "runtime_ns": Explanation(
        "No rule says why the host calls the runtime for so long.", _OPERATORS
    ),
    "python_ns": Explanation("No rule finds a cause in the Python code.", _OPERATORS),
    "compile_ns": Explanation(
        "Code is compiled when it first runs, or when shapes change: run some steps before the "
        "recording starts.",
        _TRACE,
    ),
    "exposed_communication_ns": _COMMUNICATES,
    "communication_ns": _COMMUNICATES,
    "idle_dataloader_ns": _LOADS,
    "dataloader_ns": _LOADS,
}


def _cut_short() -> Explanation:
    return Explanation(
        "Rules on times were not checked: the rest of the recording is missing. Record again, or "
        "copy the whole file.",
        (Reference("Where it ends", "health"),),
    )


def _uninstrumented(selection: Selection) -> Explanation:
    if selection.facts.counts.get("python", 0):
        text = "Neither ops nor Python frames were recorded on this thread in that time."
    elif is_of_other_recorder(selection.facts.torch_era):
        text = f"{OTHER_RECORDER}: Trace shows its events."
    else:
        how = with_option(FRAMES, selection.facts.torch_era)
        text = f"To see the Python that ran there: {how}."
    return Explanation(text, _TRACE)
