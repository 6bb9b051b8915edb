"""What limits the steps, in one sentence, and how certain is it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import structs

from ..base.regex import regex
from ..base.units import duration, plural, share
from ..trace.model import is_of_other_recorder
from .advice import RULES, check_all
from .advice.claims import claimed_ns, with_shared
from .advice.distributed import COMMUNICATION_RATIO
from .advice.rule import finding_as_recorded, severity_of
from .advice.unanswered import CAPTURE, CUT, NOTHING, unanswered
from .advice.waits import compute_bound, device_causes, is_compute_bound
from .facts import HostPartition, Partition, StepFacts
from .findings import Finding, RanksSaid, Said, Sentence
from .serving.phases import bound_by_device
from .steps import HeldSum, Selection
from .wording import (
    LEAST_STEPS,
    as_recorded,
    device_noun,
    fraction,
    held_by,
    mean_step,
    not_judged,
    of_step,
    other_part,
    step_noun,
    the_device,
)

LEADS_RATIO = 0.15  # of a run on the host: what a finding claims, to be the cause
NAMED_CAUSE_RATIO = 0.6  # of the largest cause of idle time: one call that holds so much is named
MOST_OF_PART = 0.8  # of the largest part of a run on the host: a finding with as much stands for it
NAMED_RATIO = 0.25  # of a cause's time: a name that holds less of it is not said

_TIMED = ("op", "kernel", "annotation", "python", "module", "runtime", "memcpy", "memset")

# What can hold a device up: the field of Partition, and the sentence that says so.
_DEVICE_CAUSES = {
    "idle_dataloader_ns": "{device} waits for the DataLoader for {part}.",
    "idle_host_ns": "{device} waits for the host to launch work for {part}.",
    "idle_first_launch_ns": "{device} waits for first launches of kernels for {part}.",
    "idle_sync_ns": "{device} is idle under blocking calls of the host for {part}.",
    "idle_unattributed_ns": "{device} is idle without a recorded cause for {part}.",
    "exposed_communication_ns": "{device} waits for communication for {part}.",
    "exposed_copy_ns": "{device} only copies for {part}.",
}
_HOST_CAUSES = {
    "dataloader_ns": "The run waits for the DataLoader for {part}.",
    "communication_ns": "Communication takes {part}.",
    "compile_ns": "Compilation takes {part}.",
    "uninstrumented_ns": "For {part} the main thread runs no known operator.",
}
_NO_KIND_OF_OURS = "For {part} the main thread has no op and no frame of torch.profiler."
_HOST_WORK = {
    "forward_ns": "forward",
    "backward_ns": "backward",
    "optimizer_ns": "the optimizer",
    "runtime_ns": "calls of the runtime",
    "python_ns": "Python",
}
_SHORT = {
    "compute_ns": "compute",
    "idle_dataloader_ns": "the DataLoader",
    "idle_host_ns": "waiting for launches",
    "idle_first_launch_ns": "first launches",
    "idle_sync_ns": "blocking calls",
    "idle_unattributed_ns": "idle time without a cause",
    "exposed_communication_ns": "communication",
    "exposed_copy_ns": "copies",
    "dataloader_ns": "the DataLoader",
    "communication_ns": "communication",
    "compile_ns": "compilation",
    "uninstrumented_ns": "no known operator",
    **_HOST_WORK,
}


def verdict(selection: Selection, ranks: RanksSaid | None = None) -> Said:
    """The sentence, the findings of all rules, and what they could not check.

    ``ranks``: what all ranks of the run say of lateness. A late rank comes before the advice on
    communication, which speaks of what is left of it without waiting.
    """
    findings, unchecked = check_all(selection)
    said = _as_recorded(_and(headline(selection, findings), _recorded(findings)), selection)
    findings = _answer_first(selection, said.cause, findings)
    if ranks is not None:
        facts, late = selection.facts, ranks.late
        late = late and finding_as_recorded(late, facts)
        ranks = structs.replace(ranks, text=as_recorded(ranks.text, facts), late=late)
    if ranks is not None and not selection.cut:
        findings = _with_ranks(selection, findings, ranks)
        said = _among_ranks(said, ranks)
    return Said(
        sentence=said,
        findings=findings,
        unchecked=unchecked,
        unanswered=unanswered(selection, said, findings),
        together_ns=claimed_ns(selection, [one.gain for one in findings if one.gain is not None]),
        rule_count=len(RULES),
    )


def _as_recorded(said: Sentence, selection: Selection) -> Sentence:
    """The sentence of iterations, where they are the steps."""
    own = {name: getattr(said, name) for name in ("headline", "detail", "agreement", "beyond")}
    words = {name: as_recorded(text, selection.facts) for name, text in own.items()}
    return structs.replace(said, **words)


def _recorded(findings: Sequence[Finding]) -> str:
    """Note that recording stacks makes these times longer; "" where it hardly does."""
    is_dense = any(one.id == "PR2" for one in findings)
    return "Recording stacks makes these times longer." if is_dense else ""


def _answer_first(
    selection: Selection, cause: str, findings: Sequence[Finding]
) -> tuple[Finding, ...]:
    """The findings, with the one on the cause in the headline first if it claims about as much."""
    asked = {one.id for one in RULES if cause in one.answers and not one.theoretical}
    leads = [one for one in findings if one.gain and one.severity == findings[0].severity]
    least = MOST_OF_PART * max((one.gain.ratio for one in leads if one.gain), default=0)
    first = [one for one in leads if one.id in asked and one.gain and one.gain.ratio >= least][:1]
    return tuple(with_shared(selection, [*first, *(one for one in findings if one not in first)]))


_WAITS = ("CO1", "CO2")  # rules on communication, of which waiting for others is a part


def _with_ranks(
    selection: Selection, findings: Sequence[Finding], ranks: RanksSaid
) -> tuple[Finding, ...]:
    """The findings with the late rank among them."""
    if ranks.late is None:
        return tuple(findings)
    kept = [
        one if one.id not in _WAITS else _without_waiting(selection, one, ranks) for one in findings
    ]
    mine = ranks.late.gain.ratio if ranks.late.gain else 0.0
    rest = [one for one in kept if one is not None]
    above = [
        one
        for one in rest
        if not ranks.leads and one.severity != "info" and one.gain and one.gain.ratio > mine
    ]
    below = [one for one in rest if one not in above]
    return tuple(with_shared(selection, [*above, ranks.late, *below]))


def _without_waiting(selection: Selection, one: Finding, ranks: RanksSaid) -> Finding | None:
    """A finding on communication, for transfers alone; None where little is left."""
    if one.gain is None or ranks.late is None:
        return one
    left = one.gain.ns_per_step - ranks.waited_ns
    ratio = left / max(selection.mean(selection.total_ns), 1)
    if ratio <= COMMUNICATION_RATIO.of(selection.limits):
        return None
    gain = structs.replace(one.gain, ns_per_step=left, ratio=ratio)
    waits = f"{duration(ranks.waited_ns)} of that is waiting for other ranks."
    text = one.text.replace("Waiting for slower ranks is part of that.", waits)
    text = text.replace("Waiting for slower ranks is part of it.", waits)
    return structs.replace(one, gain=gain, text=text, severity=severity_of(selection, gain))


def _among_ranks(said: Sentence, ranks: RanksSaid) -> Sentence:
    """The sentence on one rank, with the late one on top where it leads."""
    if ranks.late is None or not ranks.leads:
        return _and(said, ranks.text)
    alone = f"This rank alone: {said.headline[:1].lower()}{said.headline[1:]}"
    details = f"{alone} {said.detail}", f"{alone} {said.beyond}".rstrip()
    return Sentence(ranks.text, details[0], cause=ranks.late.id, beyond=details[1])


def _and(said: Sentence, *texts: str) -> Sentence:
    """The sentence with more at the end of its details."""
    detail, beyond = (" ".join(filter(None, (one, *texts))) for one in (said.detail, said.beyond))
    return structs.replace(said, detail=detail, beyond=beyond)


def headline(selection: Selection, findings: Sequence[Finding] = ()) -> Sentence:
    """The main cause with a number, its reason, and the number of steps with the same cause.

    What it quotes holds in most of the steps: where the cause of the mean step is that of a few
    long ones, the cause of the others is said, and the longest step beside it.
    """
    said = _of_all(selection, findings)
    if selection.count < 2 or said.cause not in _BY_STEP:
        return said
    if 2 * _agreeing(selection, said.cause) > selection.count:
        return said
    causes = [_leading(selection, step) for step in selection.steps]
    cause, count = Counter(causes).most_common(1)[0]
    if 2 * count <= selection.count:
        text = "The steps differ: no single cause leads in most of them."
        if selection.count < LEAST_STEPS:
            text = f"The steps differ: {_of_each(selection)}."
        return Sentence(text, said.detail, cause=NOTHING, beyond=said.beyond)
    alike = tuple(at for at, one in zip(selection.indexes, causes, strict=True) if one == cause)
    most = _of_some(structs.replace(selection, indexes=alike), ())
    some = f"{count} of {plural(selection.count, 'step')}"
    lengths = most.detail.replace("a mean step of", f"the mean of {some},", 1)
    longest = max(selection.steps, key=selection.length_ns)
    alone = f"Step {longest.number} alone takes {duration(selection.length_ns(longest))}."
    said = Sentence(
        _OF_STEP.sub(rf"of the \1 in {some}", most.headline),
        f"{lengths} {alone}",
        f"in {some}",
        most.cause,
        f"{most.beyond} {alone}".lstrip(),
    )
    # Compilation, for example, is often in the other steps alone.
    return _and(said, *not_judged(selection))


def _of_each(selection: Selection) -> str:
    """``72.4 % of step 2 is backward, 58.9 % of step 3 is forward``."""
    said: list[str] = []
    for step in selection.steps:
        cause = _leading(selection, step)
        ratio = share(_causes(selection, step)[cause])
        said.append(f"{ratio} of step {step.number} is {_SHORT[cause]}")
    return ", ".join(said)


def _of_all(selection: Selection, findings: Sequence[Finding]) -> Sentence:
    """The sentence on the mean of all chosen steps, with what no figure of it contains."""
    return _and(_of_some(selection, findings), *not_judged(selection))


def _of_some(selection: Selection, findings: Sequence[Finding]) -> Sentence:
    """The sentence on the mean of some steps.

    On the host, the first finding is the cause where it claims as much as ``LEADS_RATIO``: it names
    the code, and a part of the step does not.
    """
    sentence = _headline(selection, findings)
    detail = " ".join(filter(None, (sentence.detail, _unnamed(selection, sentence))))
    beyond = detail.removeprefix(_lengths(selection)).lstrip()
    return structs.replace(sentence, detail=detail, beyond=beyond)


UNNAMED_RATIO = 0.10  # of a step: a part without a cause that is as large is said


def _unnamed(selection: Selection, said: Sentence) -> str:
    """The part of the steps that nothing recorded explains, where it is large and not said yet."""
    part, host = selection.partition, selection.host
    if said.cause in (CUT, CAPTURE, NOTHING, "") or "no known operator" in said.detail:
        return ""
    of_that = ""
    if part is not None and said.cause == "idle_host_ns":
        ns, known, of_that = part.idle_uninstrumented_ns, False, " of that"
        what = "the thread that launches runs no known operator."
    elif part is not None:
        ns = part.idle_uninstrumented_ns + part.idle_unattributed_ns
        what = f"{the_device(selection)} idles without a recorded cause.".replace("The ", "the ")
        known = said.cause == "idle_unattributed_ns"
    else:
        ns = host.uninstrumented_ns if host is not None else 0
        what = "the main thread runs no known operator."
        known = said.cause == "uninstrumented_ns"
    if known or selection.ratio(ns) < UNNAMED_RATIO:
        return ""
    length = duration(selection.mean(ns))
    noun = step_noun(selection.facts)
    return f"For {length}{of_that}, {share(selection.ratio(ns))} of the {noun}, {what}"


def _lengths(selection: Selection) -> str:
    """Begin of a detail that names lengths of parts."""
    if not selection.total_ns:
        return ""
    if selection.partition is not None:
        return _device_detail(selection, selection.partition)
    return _host_detail(selection, selection.host or HostPartition())


def _headline(selection: Selection, findings: Sequence[Finding]) -> Sentence:
    if (nothing := _nothing(selection)) is not None:
        return nothing
    if selection.cut:
        return _cut_sentence(selection)
    if why := selection.facts.unavailable.get("kernels"):
        return Sentence("Device time is not known: its kernels are missing.", why)
    if selection.partition is not None:
        return _named_cause(selection, selection.partition, findings) or _device_sentence(
            selection, selection.partition
        )
    host = selection.host or HostPartition()
    first = next((one for one in findings if one.gain is not None), None)
    gain = first.gain.ratio if first is not None and first.gain is not None else 0.0
    if first is not None and first.headline and first.severity == "high" and gain >= LEADS_RATIO:
        said = _found_sentence(selection, first, gain, _host_detail(selection, host))
        return _within_part(selection, host, first, said)
    return _host_sentence(selection, host)


def _within_part(
    selection: Selection, host: HostPartition, finding: Finding, said: Sentence
) -> Sentence:
    """The sentence of a finding, behind the part of the steps that has it, where that is larger.

    The largest part is what a table of parts shows first: the finding is one place in it.
    """
    parts = {key: getattr(host, key) for key in (*_HOST_WORK, *_HOST_CAUSES)}
    whole = max(parts, key=parts.__getitem__)
    answers = next((one.answers for one in RULES if one.id == finding.id), frozenset())
    ratio, gain = selection.ratio(parts[whole]), finding.gain.ratio if finding.gain else 0.0
    if whole not in _HOST_WORK or whole not in answers or gain >= MOST_OF_PART * ratio:
        return said
    name = _work_name(host, whole)
    begin = f"{name[:1].upper()}{name[1:]} takes {_part(selection, whole, parts[whole])}"
    own = finding.headline.replace("{part}", fraction(gain))
    return structs.replace(said, headline=f"{begin}. {own}")


def _nothing(selection: Selection) -> Sentence | None:
    """The sentence for a recording without time, or of memory alone."""
    counts = selection.facts.counts
    is_empty = not any(counts.get(kind) for kind in _TIMED)
    if selection.facts.recording.memory_alone or (is_empty and counts.get("memory")):
        return Sentence("Only memory was recorded.", "The Memory view explains it.", cause=NOTHING)
    if selection.total_ns:
        return None
    why = "All events of the file last 0 ns."
    if selection.facts.duration_ns and selection.count:
        many = f"The {plural(selection.count, 'chosen step')} last 0 ns."
        why = many if selection.count > 1 else "The chosen step lasts 0 ns."
    elif is_empty:
        why = (
            "The file holds no op, no kernel and no annotation: "
            "did the code run inside `with profile(…)`?"
        )
    return Sentence("Nothing was recorded that takes time.", why, cause=NOTHING)


def _named_cause(
    selection: Selection, total: Partition, findings: Sequence[Finding]
) -> Sentence | None:
    """The sentence of the first finding, if it claims most of the device's waiting.

    It names the call; the parts of the step do not.
    """
    first = next((one for one in findings if one.gain is not None), None)
    if first is None or first.gain is None or not first.headline or first.severity != "high":
        return None
    if is_compute_bound(selection, total) or not first.gain.claims[0].startswith("idle_"):
        return None
    parts = device_causes(total)
    if first.gain.ratio < max(
        NAMED_CAUSE_RATIO * selection.ratio(max(parts.values())), LEADS_RATIO
    ):
        return None
    return _found_sentence(selection, first, first.gain.ratio, _device_detail(selection, total))


def _found_sentence(selection: Selection, finding: Finding, ratio: float, detail: str) -> Sentence:
    """The sentence that a finding brings along."""
    text = finding.headline.replace("{part}", fraction(ratio))
    return Sentence(text, detail, _in_steps(selection, finding.agreeing), finding.id)


def _cut_sentence(selection: Selection) -> Sentence:
    """The sentence for a truncated recording: the missing part first, then the recorded part."""
    stub = next((one for one in selection.facts.health.notes if one.kind == "after_loop"), None)
    if stub is not None:
        return Sentence(f"{stub.title}.", f"{stub.consequence} {stub.remedy}", cause=NOTHING)
    part, host = selection.partition, selection.host or HostPartition()
    if selection.facts.health.cut is not None:
        whole = duration(selection.facts.duration_ns)
        said = f"The file is cut off after {whole}."
    else:
        said = "The recording ended within a chosen step."
    if part is not None:
        busy = duration(selection.mean(selection.total_ns - part.idle_ns))
        detail = f"In what was read, of {mean_step(selection)}, work of the device fills {busy}."
    else:
        detail = f"In what was read: {_host_parts(selection, host) or 'nothing that takes time'}."
    return Sentence(f"{said} Findings are switched off.", detail, cause=CUT)


def _device_sentence(selection: Selection, total: Partition) -> Sentence:
    if (selection.partition or Partition()).idle_capture_ns * 2 > total.idle_ns and _is_largest(
        selection, total
    ):
        return _capture_sentence(selection, total)
    parts = device_causes(total)
    cause = max(parts, key=lambda key: parts[key])
    compute = selection.ratio(total.compute_ns)
    noun = step_noun(selection.facts)
    if is_compute_bound(selection, total):
        unit = device_noun(selection)
        unit = f"{unit[:1].upper()}{unit[1:]}"
        busy = bound_by_device(selection, unit)  # copies are work, too
        said = busy or f"{unit}-bound: kernels run for {share(compute)} of the {noun}."
        detail = _device_detail(selection, total)
        detail += other_part(selection, total, is_busy=busy != "")
        return Sentence(said, detail, _agreement(selection, "compute_ns"), "compute_ns")
    text, ns = _DEVICE_CAUSES[cause], parts[cause]
    queued = selection.idle.queued_ns
    if cause == "idle_unattributed_ns":
        ns = total.idle_unattributed_ns + total.idle_before_ns
        if queued * 2 >= total.idle_ns or ns < total.idle_queued_ns - total.idle_before_ns:
            text, ns = "{device} idles for {part} although the next work was launched.", queued
    said = text.format(device=the_device(selection), part=_part(selection, cause, ns))
    detail = _device_detail(selection, total) + _why(selection, cause, parts[cause])
    return Sentence(said, detail, _agreement(selection, cause), cause)


def _is_largest(selection: Selection, total: Partition) -> bool:
    others = (total.compute_ns, total.exposed_communication_ns, total.exposed_copy_ns)
    return (selection.partition or Partition()).idle_capture_ns > max(others)


def _capture_sentence(selection: Selection, total: Partition) -> Sentence:
    captured = (selection.partition or Partition()).idle_capture_ns
    noun = step_noun(selection.facts)
    rest = duration(selection.mean(total.idle_ns - captured))
    return Sentence(
        f"For {fraction(selection.ratio(captured))} of the {noun} a graph is captured: launches "
        "are noted then, not run.",
        f"{_device_detail(selection, total)} Apart from the capture it idles {rest}.",
        cause=CAPTURE,
    )


def _part(selection: Selection, cause: str, ns: int) -> str:
    shares = [_causes(selection, step).get(cause, 0) for step in selection.steps]
    return f"{fraction(selection.ratio(ns))} {of_step(selection, shares)}"


def _device_detail(selection: Selection, total: Partition) -> str:
    busy = selection.total_ns - total.idle_ns
    idle = f", idle for {duration(selection.mean(total.idle_ns))}" if total.idle_ns else ""
    part = f" ({share(selection.ratio(total.idle_ns))})" if total.idle_ns else ""
    return f"Of {mean_step(selection)} it is busy for {duration(selection.mean(busy))}{idle}{part}."


def _why(selection: Selection, cause: str, ns: int) -> str:
    mean = duration(selection.mean(ns))
    loader = selection.facts.traits.dataloader_class
    match cause:
        case "idle_dataloader_ns":
            what = f"`{loader}.__next__`" if loader else "the DataLoader"
            return f" For {mean} it idles while {what} runs on a thread that launches kernels."
        case "idle_host_ns":
            return _on_the_host(selection, ns)
        case "idle_first_launch_ns":
            return f" For {mean} it idles in first launches{_named(selection, ns)}."
        case "idle_sync_ns":
            return (
                f" For {mean} it idles while a launching thread sits in a call that waits or may "
                f"wait{_named(selection, ns)}."
            )
        case "exposed_communication_ns" | "exposed_copy_ns":
            running = "copies" if cause == "exposed_copy_ns" else "collectives"
            return f" For {mean} {running} run and nothing computes."
        case _:
            return _without_cause(selection, ns)


def _on_the_host(selection: Selection, ns: int) -> str:
    """Idle time in which the host prepares launches, with the host's activity if known."""
    total = selection.partition
    silent = total.idle_uninstrumented_ns if total else 0
    if silent * 2 > ns:
        mean = duration(selection.mean(silent))
        return f" For {mean} it idles while the thread that launches runs no known operator."
    mean, named = duration(selection.mean(ns)), _named(selection, ns)
    return f" For {mean} it idles while the host runs ops and launch calls{named}."


def _without_cause(selection: Selection, ns: int) -> str:
    """Idle time without a cause: launched work, or a silent host."""
    queued = selection.idle.queued_ns
    if queued * 2 < ns:
        before = (selection.partition or Partition()).idle_before_ns
        if before * 2 > ns:
            mean = duration(selection.mean(before))
            return f" For {mean} no launch of the next work is in the recording."
        mean = duration(selection.mean(ns))
        return f" For {mean} no launching thread recorded any activity."
    names = held_by(selection, NAMED_RATIO * ns, most=1)
    host = f" Meanwhile the host is in {names}." if names else ""
    noun = device_noun(selection)
    late = duration(selection.mean(queued))
    return f" For {late} the {noun} had work queued but did not start it.{host}"


def _named(selection: Selection, ns: int) -> str:
    """The names that the host was in for a good part of that time."""
    names = held_by(selection, NAMED_RATIO * ns, most=1)
    sums = f", summed over {plural(selection.count, 'step')}" if selection.count > 1 else ""
    return f", above all in {names}{sums}" if names else ""


def _host_sentence(selection: Selection, total: HostPartition) -> Sentence:
    waits = {key: getattr(total, key) for key in _HOST_CAUSES}
    work = {key: getattr(total, key) for key in _HOST_WORK}
    cause, largest = max(waits, key=waits.__getitem__), max(work, key=work.__getitem__)
    detail = _host_detail(selection, total)
    if waits[cause] > work[largest]:
        part = _part(selection, cause, waits[cause])
        said = _HOST_CAUSES[cause]
        if cause == "uninstrumented_ns" and is_of_other_recorder(selection.facts.torch_era):
            said = _NO_KIND_OF_OURS  # its events are there, but no part of a step
        elif cause == "uninstrumented_ns" and (range_ := _widest_range(selection, waits[cause])):
            said = (
                f"The main thread runs no known operator for {{part}}, mostly in `{range_.name}`."
            )
        return Sentence(said.replace("{part}", part), detail, _agreement(selection, cause), cause)
    noun = step_noun(selection.facts)
    part = fraction(selection.ratio(work[largest]))
    verb = "take" if largest == "runtime_ns" else "takes"
    named = _work_name(total, largest)
    said = f"The {noun} runs on the host; {named} {verb} {part} of it."
    if any(note.kind == "lost_kernels" for note in selection.facts.health.notes):
        said = f"On the host, {named} {verb} {part} of the {noun}; the device was not recorded."
    return Sentence(said, detail, _agreement(selection, largest), largest)


def _work_name(total: HostPartition, key: str) -> str:
    """The name of a part; Python is *other* beside parts that include their own."""
    is_other = key == "python_ns" and total.forward_ns + total.backward_ns + total.optimizer_ns
    return "other Python" if is_other else _HOST_WORK[key]


def _widest_range(selection: Selection, ns: int) -> HeldSum | None:
    """The range that the main thread was in for most of the time without a known operator."""
    held = [one for one in selection.host_held if one.cause == "uninstrumented_ns"]
    return held[0] if held and 2 * held[0].idle_ns >= ns else None


def _host_detail(selection: Selection, total: HostPartition) -> str:
    parts = _host_parts(selection, total)
    if parts:
        said = f"Of {mean_step(selection)}: {parts}"
    else:
        average = " on average" if selection.count > 1 else ""
        said = (
            f"The {step_noun(selection.facts)} lasts"
            f" {duration(selection.mean(selection.total_ns))}{average}"
        )
    if is_of_other_recorder(selection.facts.torch_era):
        return f"{said}. None of its events is known to be work of a device."
    return f"{said}. No device activity was recorded."


def _host_parts(selection: Selection, total: HostPartition) -> str:
    """``backward 37.2 ms, communication 31.2 ms``: the three largest parts."""
    named = {**_HOST_WORK, "dataloader_ns": "the DataLoader", "communication_ns": "communication"}
    named["python_ns"] = _work_name(total, "python_ns")
    parts = sorted(((getattr(total, key), text) for key, text in named.items()), reverse=True)
    return ", ".join(f"{text} {duration(selection.mean(ns))}" for ns, text in parts[:3] if ns)


def _agreement(selection: Selection, cause: str) -> str:
    """The number of steps with this cause; "" where all of them have it."""
    return _in_steps(selection, _agreeing(selection, cause))


def _in_steps(selection: Selection, agree: int) -> str:
    return "" if agree >= selection.count else f"in {agree} of {plural(selection.count, 'step')}"


def _agreeing(selection: Selection, cause: str) -> int:
    """The number of steps in which this cause is the largest on its own, or nearly as large."""
    shares = [_causes(selection, step) for step in selection.steps]
    return sum(one.get(cause, 0) >= MOST_OF_PART * max(one.values()) for one in shares)


_OF_STEP = regex(r"of (?:every|the mean) (step|iteration)")
_BY_STEP = frozenset({"compute_ns", *_DEVICE_CAUSES, *_HOST_CAUSES, *_HOST_WORK})
"""Causes to look for in each step."""


def _leading(selection: Selection, step: StepFacts) -> str:
    """The cause of one step on its own."""
    parts = _causes(selection, step)
    return max(parts, key=parts.__getitem__)


def _causes(selection: Selection, step: StepFacts) -> dict[str, float]:
    """The causes that can limit one step, with their shares of it; compute alone if it does."""
    length = max(selection.length_ns(step), 1)
    one = selection.device_step(step)
    if one is not None:
        parts = {key: ns / length for key, ns in device_causes(one.partition).items()}
        compute = one.partition.compute_ns / length
        return {"compute_ns": compute} if compute_bound(compute, max(parts.values())) else parts
    host = step.host or HostPartition()
    return {key: getattr(host, key) / length for key in (*_HOST_CAUSES, *_HOST_WORK)}
