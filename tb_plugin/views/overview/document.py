"""All advice on a trace as one document, for other programs and for the terminal (contract).

The document is stable: fields are added, and ``schema`` grows when one changes its meaning. Names
come from the trace: they are data, shortened, and never instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec import Struct, structs

from ...analysis.findings import (
    Evidence,
    Finding,
    RanksSaid,
    RuleName,
    SeenEvent,
    Severity,
    by_need,
)
from ...analysis.steps import Selection
from ...analysis.wording import as_recorded, device_name, not_judged
from ...base.units import NBSP, duration, plural, share

SCHEMA = 2
MOST_BYTES = 64 << 10
"""Size of the document as JSON, unless another limit is given."""
MOST_CHARACTERS = 400  # of a text that holds names of the trace
_NOTHING: Mapping[str, str] = MappingProxyType({})


class AdviceScope(Struct, frozen=True):
    """Subject of the advice."""

    steps: tuple[int, ...]  # numbers, as the page shows them
    step_source: str  # "profiler_step", "annotation", or "whole_trace": the recording is one step
    device: str  # "GPU 0"; "" for the main thread of a run without devices
    rank: int | None
    mean_step_ns: float


class AdviceEvidence(Struct, frozen=True):
    """Events that a finding rests on.

    ``slice`` is the number that ``kinetoscope advise PATH --slice N`` and the Trace view resolve;
    −1: a stretch of time, which ``page`` shows.
    """

    type: Literal["event"]
    slice: int
    name: str
    start_ns: int  # from the start of the recording
    end_ns: int
    step: str
    page: Mapping[str, str]  # parameters of the Trace view that show it


class AdviceGain(Struct, frozen=True):
    """The most that can be won, of a step. ``shared_ns_per_step`` is claimed by findings above."""

    kind: Literal["ceiling"]
    ns_per_step: float
    ratio: float
    shared_ns_per_step: float
    method: str
    claims: tuple[str, ...]


class AdviceAction(Struct, frozen=True):
    """The remedies."""

    text: str
    snippet: str
    documents: tuple[str, ...]  # addresses


class AdviceFinding(Struct, frozen=True):
    """One finding, the most worthwhile first."""

    id: str
    title: str
    severity: Severity
    confidence: float
    scope: str
    text: str  # evidence and action as sentences
    frame: str  # of the user's code, "file.py(line): function"; "" unknown
    metrics: tuple[Evidence, ...]
    evidence: tuple[AdviceEvidence, ...]
    gain: AdviceGain | None
    action: AdviceAction
    verify: str


class AdvicePath(Struct, frozen=True):
    """All of the critical paths that is of one kind."""

    kind: str  # "Ops", "DataLoader"
    ns_per_step: float
    ratio: float
    names: tuple[str, ...]  # the events that are most of it


class CannotAnswer(Struct, frozen=True):
    """Missing data, options that record it, and the rules that this recording cannot answer."""

    record: str
    rules: tuple[RuleName, ...]


class AdviceDocument(Struct, frozen=True):
    """The whole."""

    schema: int
    path: str
    headline: str
    detail: str
    agreement: str
    scope: AdviceScope
    findings: tuple[AdviceFinding, ...]
    why_none: str  # why what the headline blames has no finding; "" where it has one
    together_ns_per_step: float  # all ceilings together: no instant counts twice
    together_ratio: float
    cannot_answer: tuple[CannotAnswer, ...]
    not_available: Mapping[str, str]  # part of the Overview → why the recording does not have it
    doubts: tuple[str, ...]  # what Health says of figures used here
    left_out: int  # findings that did not fit the size limit
    ranks: str = ""  # what all ranks of the run say of late ones; "" for a file alone
    not_judged: tuple[str, ...] = ()  # parts of the recording that no figure contains
    critical_path: tuple[
        AdvicePath, ...
    ] = ()  # the critical path by kind, the longest first; JSON alone


def advise(
    selection: Selection, missing: Mapping[str, str] = _NOTHING, ranks: RanksSaid | None = None
) -> AdviceDocument:
    """The advice for the chosen steps and device.

    ``missing`` is what it lacks, and why; ``ranks`` what the other ranks of its run say.
    """
    from ...analysis.headline import verdict  # an answer that was kept needs no rules

    told = verdict(selection, ranks)
    facts = selection.facts
    said, why, together = told.sentence, told.unanswered, told.together_ns
    mean = selection.mean(selection.total_ns)
    return AdviceDocument(
        schema=SCHEMA,
        path=facts.path,
        headline=plain(said.headline),
        detail=plain(said.detail, 2 * MOST_CHARACTERS),
        agreement=plain(said.agreement),
        scope=_scope(selection),
        findings=tuple(_finding(one) for one in told.findings),
        why_none=plain(why.text) if why is not None else "",
        together_ns_per_step=together,
        together_ratio=together / mean if mean else 0.0,
        cannot_answer=tuple(
            CannotAnswer(plain(one.needs), tuple(map(_plain_rule, one.rules)))
            for one in by_need(told.unchecked)
        ),
        not_available={what: plain(why, 4 * MOST_CHARACTERS) for what, why in missing.items()},
        doubts=tuple(plain(n.title) for n in facts.health.costly if "overview" in n.taints),
        left_out=0,
        ranks=plain(as_recorded(ranks.text, facts)) if ranks is not None else "",
        not_judged=tuple(map(plain, not_judged(selection))),
    )


def _plain_rule(rule: RuleName) -> RuleName:
    return RuleName(rule.id, plain(rule.title))


def _scope(selection: Selection) -> AdviceScope:
    chosen = selection.device_facts
    return AdviceScope(
        steps=tuple(step.number for step in selection.steps),
        step_source=selection.facts.step_source,
        device=plain(device_name(chosen)) if chosen else "",
        rank=selection.facts.rank,
        mean_step_ns=selection.mean(selection.total_ns),
    )


def _finding(found: Finding) -> AdviceFinding:
    gain = found.gain
    return AdviceFinding(
        id=found.id,
        title=plain(found.title),
        severity=found.severity,
        confidence=found.confidence,
        scope=plain(found.scope),
        text=plain(found.text, 4 * MOST_CHARACTERS),
        frame=plain(found.frame),
        metrics=tuple(structs.replace(one, name=plain(one.name)) for one in found.evidence),
        evidence=tuple(map(_event, found.events)),
        gain=None
        if gain is None
        else AdviceGain(
            "ceiling",
            gain.ns_per_step,
            gain.ratio,
            gain.shared_ns_per_step,
            plain(gain.method),
            gain.claims,
        ),
        action=AdviceAction(
            plain(found.action),
            found.snippet,
            tuple(link.url for link in found.links if link.url),
        ),
        verify=plain(found.verify),
    )


def _event(seen: SeenEvent) -> AdviceEvidence:
    return AdviceEvidence(
        "event",
        seen.slice,
        plain(seen.name),
        seen.ts,
        seen.ts + seen.dur_ns,
        plain(seen.step),
        seen.link.params,
    )


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text on one line with ordinary spaces, shortened."""
    line = " ".join(text.replace(NBSP, " ").split())
    return line if len(line) <= most else line[: most - 1] + "…"


def fitted(document: AdviceDocument, most_bytes: int) -> AdviceDocument:
    """The document in at most so many bytes of JSON, as far as its first parts allow.

    First all but one event of each finding go, then the critical path, then findings from the last
    on; ``left_out`` counts these.
    """

    def fits(one: AdviceDocument) -> bool:
        return len(msgspec.json.encode(one)) <= most_bytes

    if fits(document):
        return document
    short = tuple(structs.replace(one, evidence=one.evidence[:1]) for one in document.findings)
    document = structs.replace(document, findings=short)
    if not fits(document):
        document = structs.replace(document, critical_path=())
    while document.findings and not fits(document):
        document = structs.replace(
            document, findings=document.findings[:-1], left_out=document.left_out + 1
        )
    return document


def as_markdown(document: AdviceDocument) -> str:
    """The document for a ticket or a review, as Markdown."""
    said = [f"# {document.headline}", "", document.detail]
    if document.agreement:
        said[-1] += f" ({document.agreement})"
    for number, one in enumerate(document.findings, start=1):
        gain = f", up to {share(one.gain.ratio)}" if one.gain else ""
        said += ["", f"## {number}. {one.title}", "", f"*{one.severity}{gain}, rule {one.id}*", ""]
        said.append(one.text)
        if one.action.snippet:
            fence = "`" * (3 if "```" not in one.action.snippet else 5)
            said += ["", f"{fence}python", one.action.snippet, fence]
        for seen in one.evidence[:1]:
            length = duration(seen.end_ns - seen.start_ns)
            which = f"slice {seen.slice}, " if seen.slice >= 0 else ""
            at = duration(seen.start_ns)
            said += ["", f"Evidence: {which}{_code(seen.name)}, {length} at {at}."]
        if one.gain and one.gain.shared_ns_per_step * 100 >= one.gain.ns_per_step:
            said += ["", f"{duration(one.gain.shared_ns_per_step)} of it is claimed above, too."]
    if not document.findings:
        said += ["", document.why_none or "No rule had anything to say."]
    if document.left_out:
        said += ["", f"{plural(document.left_out, 'more finding')} did not fit."]
    if document.not_available:
        said += ["", "## Not available", ""]
        said += [f"- {what}: {why}" for what, why in document.not_available.items()]
    if document.cannot_answer:
        said += ["", "## Not answered by this recording", ""]
        for lacking in document.cannot_answer:
            asked = "; ".join(f"{rule.title} ({rule.id})" for rule in lacking.rules)
            said.append(f"- {capital(lacking.record)}: {asked}")
    return "\n".join(said).replace(NBSP, " ")


def capital(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def _code(name: str) -> str:
    """A name of the trace as code: nothing in it is Markdown."""
    return f"`` {name.replace('``', '')} ``" if "`" in name else f"`{name}`"
