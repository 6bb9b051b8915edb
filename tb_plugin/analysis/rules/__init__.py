"""Advice: the registry of all rules. Each rule checks the chosen steps; add new rules here only."""

from __future__ import annotations

from collections.abc import Mapping

from ...base.units import share
from ..overview.findings import Explanation, Finding, Reference, Sentence, Unchecked
from ..overview.headline import CAPTURE, CUT, NOTHING
from ..selection import Selection
from . import device_use, distributed, input_bound, utilization
from .rule import COMMUNICATION_RATIO, DATALOADER_RATIO, IDLE_RATIO, Rule

RULES: tuple[Rule, ...] = (
    input_bound.RULE,
    distributed.DATA_PARALLEL,
    distributed.BACKEND,
    distributed.COMMUNICATION,
    utilization.RULE,
    device_use.TENSOR_CORES,
    device_use.MEMORY_CAPACITY,
)

_ORDER = {"high": 0, "medium": 1, "low": 2, "info": 3}


def check_all(selection: Selection) -> tuple[tuple[Finding, ...], tuple[Unchecked, ...]]:
    """The findings of all rules, the largest gain ceiling first, and rules that could not run."""
    findings: list[Finding] = []
    unchecked: list[Unchecked] = []
    for rule in RULES:
        missing = next((need for need in rule.needs if not need.met(selection)), None)
        if missing is not None:
            unchecked.append(Unchecked(rule.id, rule.title, missing.text))
        elif (finding := rule.check(selection)) is not None:
            findings.append(finding)
    findings.sort(key=_rank)
    return tuple(findings), tuple(unchecked)


def unanswered(
    selection: Selection, said: Sentence, findings: tuple[Finding, ...]
) -> Explanation | None:
    """Why the cause in the headline has no finding, and where to look; None where it has one."""
    answering = {rule.id for rule in RULES if said.cause in rule.answers}
    if any(finding.id in answering for finding in findings):
        return None
    if said.cause in (CUT, "uninstrumented_ns"):
        return _cut() if said.cause == CUT else _uninstrumented(selection)
    return _UNANSWERED.get(said.cause, _IDLE_IS_SMALL) if said.cause else None


_KERNELS = (Reference("The longest kernels", "kernels"),)
_OPERATORS = (Reference("The longest operators", "operators"),)
_TRACE = (Reference("These steps in the trace", "timeline"),)
_COMPUTES = Explanation("The host computes: no rule speaks of its operators.", _OPERATORS)
_COMMUNICATES = Explanation(
    f"The rule on communication asks for more than {share(COMMUNICATION_RATIO)} of the time, with "
    "nothing else running.",
    _TRACE,
)
_LOADS = Explanation(
    f"The rule on the DataLoader asks for more than {share(DATALOADER_RATIO)} of the time, with "
    "nothing else running.",
    _TRACE,
)
_IDLE_IS_SMALL = Explanation(
    f"The rule on idle devices asks for {share(IDLE_RATIO)} of the time, apart from the "
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
        "The device works most of the time: what is left to gain is in its kernels.", _KERNELS
    ),
    "forward_ns": _COMPUTES,
    "backward_ns": _COMPUTES,
    "optimizer_ns": _COMPUTES,
    "runtime_ns": Explanation("The host calls the runtime: no rule speaks of that.", _OPERATORS),
    "python_ns": Explanation("The host runs Python: no rule speaks of that.", _OPERATORS),
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


def _cut() -> Explanation:
    return Explanation(
        "What is missing could be the cause of anything: rules on times were not checked. Record "
        "again, or copy the whole file.",
        (Reference("Where it ends", "health"),),
    )


def _uninstrumented(selection: Selection) -> Explanation:
    if selection.facts.counts.get("python", 0):
        text = "Neither ops nor Python frames were recorded on this thread in that time."
    else:
        text = "Record with `with_stack=True` to see the Python that ran there."
    return Explanation(text, _TRACE)


def _rank(finding: Finding) -> tuple[int, float]:
    return _ORDER[finding.severity], -(finding.gain.ratio if finding.gain else 0.0)
