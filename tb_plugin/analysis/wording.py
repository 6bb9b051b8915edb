"""Phrases shared by several sentences: devices, steps, ranges of time, and shares in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import structs

from ..base.arrays import median
from ..base.regex import regex
from ..base.units import NBSP, duration, listing, plural, share
from .facts import DeviceFacts, Facts, Longest, Partition, Place
from .overview.left_out import COMPILE_RATIO, WARM_UP
from .steps import HEAD, HeldSum, Selection

MOST_FOLDERS = 3
MOST_SAID = 4  # sentences on what is not judged
LEAST_STEPS = 3  # for a typical one
MEDIAN_RATIO = 0.05  # of the median step: where the mean is that far off, both are said
UNSEEN_RATIO = 0.25  # of the steps: a stretch before the first work that is as long is said
_FRAME = regex(r"^(?P<path>[^()]+\.py)(?P<rest>\(\d+\): .+)$")

SAME_RATIO = 0.1  # of the mean share, by which that of each step is off it: "of every step"

# Ranges of a share that have a name; between them it is a number.
_FRACTIONS = (
    (0.235, 0.265, "a quarter"),
    (0.315, 0.352, "a third"),
    (0.475, 0.525, "half"),
    (0.648, 0.685, "two thirds"),
    (0.735, 0.765, "three quarters"),
)


def fraction(ratio: float) -> str:
    """A share in words: ``a third``, else ``41.2 %``."""
    named = (name for low, high, name in _FRACTIONS if low <= ratio <= high)
    return next(named, share(ratio))


def device_name(device: DeviceFacts) -> str:
    """``GPU 0``."""
    return f"{device.type}{NBSP}{device.index}"


def the_device(selection: Selection) -> str:
    """``The GPU`` where there is only one, else ``GPU 3``."""
    device = selection.device_facts
    if device is None:
        return "The host"
    used = sum(one.used for one in selection.facts.devices)
    return f"The {device.type}" if used == 1 else device_name(device)


def device_noun(selection: Selection) -> str:
    """Noun for the chosen device: ``GPU``, ``NPU`` …; ``device`` where its type is unknown."""
    device = selection.device_facts
    return (device.type if device else "") or "device"


def device_names(devices: Sequence[DeviceFacts]) -> str:
    """``GPU 0 and GPU 1``."""
    return listing([device_name(device) for device in devices])


def scope(selection: Selection, *, device: bool = True) -> str:
    """``6 of 6 steps, GPU 0``."""
    noun, total = step_noun(selection.facts), len(selection.facts.steps)
    is_whole = noun == "recording"
    steps = "the whole recording" if is_whole else f"{selection.count} of {plural(total, noun)}"
    chosen = selection.device_facts
    return f"{steps}, {device_name(chosen)}" if device and chosen else steps


def not_judged(selection: Selection) -> tuple[str, ...]:
    """The parts of a recording that no figure contains: its head, warm-up, missing steps.

    Also compilation within the figures.
    """
    facts = selection.facts
    said = [text for text in (_warm_up(selection), compilation(selection)) if text]
    if facts.head_ns:
        said.append(
            f"The first {duration(facts.head_ns)} are not judged: the device was on work launched "
            "before the recording."
        )
        whole = sum(step.excluded != HEAD for step in facts.steps)
        captures = selection.partition is not None and selection.partition.idle_capture_ns
        if captures and facts.step_source == "whole_trace":
            pass  # a capture happens once, and has no steps
        elif not whole or (len(facts.steps) < 2 and facts.step_source != "iteration"):
            said.append("No whole step is left: record more steps, after a warm-up step.")
    part = selection.partition
    if part is not None and part.start_up_ns:
        calls = listing([called(one) for one in selection.held_of("start_up_ns")[:2]])
        spent = duration(selection.mean(part.start_up_ns))
        said.append(f"Start-up is not judged, {spent} {per_step(selection)}: {calls}.")
    if unseen := _before_first_work(selection):
        said.append(unseen)
    if facts.tail_ns:
        said.append(f"The last {duration(facts.tail_ns)} are not judged: only the recorder ran.")
    if facts.step_source == "iteration" and len(facts.steps) < 2:
        said.append("Only one iteration was recorded: times between iterations are not known.")
    for index in range(len(facts.steps)):
        if skipped := facts.skipped_before(index):
            low, high = skipped[0], skipped[-1]
            named = f"Step {low} is" if low == high else f"Steps {low} to {high} are"
            said.append(f"{named} not in the recording.")
    return tuple(as_recorded(one, facts) for one in said[:MOST_SAID])


def _before_first_work(selection: Selection) -> str:
    """The part of the steps before the first recorded work of the device, where it is large.

    A start of the process shows by its first calls: the device had nothing to do before them.
    """
    device, part = selection.device_facts, selection.partition
    if device is None or device.first_work_ns is None or part is None or selection.cut:
        return ""
    first = device.first_work_ns
    ns = sum(max(0, min(step.end_ns, first) - step.start_ns) for step in selection.steps)
    if selection.ratio(ns) < UNSEEN_RATIO or 2 * part.start_up_ns > ns:
        return ""
    named, noun = the_device(selection).replace("The ", "the "), step_noun(selection.facts)
    return (
        f"Whether {named} worked before its first recorded work is unknown: that is "
        f"{share(selection.ratio(ns))} of the {noun}."
    )


def mean_step(selection: Selection) -> str:
    """``a mean step of 12 ms``; with the median where that is another."""
    length = duration(selection.mean(selection.total_ns))
    if selection.facts.step_source == "whole_trace":
        return f"{length} of recording"
    if selection.count < LEAST_STEPS:
        return f"a mean step of {length}" if selection.count > 1 else f"a step of {length}"
    middle = median([selection.length_ns(step) for step in selection.steps])
    if abs(selection.mean(selection.total_ns) - middle) < MEDIAN_RATIO * middle:
        return f"a mean step of {length}"
    return f"a mean step of {length} (median {duration(middle)})"


def _warm_up(selection: Selection) -> str:
    """Steps that are left out because code is compiled in them for the first time."""
    found = selection.facts.compiled
    some = [
        one
        for one in selection.facts.steps
        if one.excluded == WARM_UP and one.index not in selection.indexes
    ]
    spans = [(one.start_ns, one.end_ns) for one in some]
    first = found.first_and_again(spans)[0] if found is not None else 0
    if not first:
        return ""
    which = f"Step {some[0].number} is" if len(some) == 1 else f"{len(some)} steps are"
    return f"{which} left out as warm-up: first compilation takes {duration(first)}."


def compilation(selection: Selection) -> str:
    """Compilation in the chosen steps, first apart from again; "" where it takes little."""
    found = selection.facts.compiled
    if found is None:
        return ""
    spans = [(step.start_ns, step.end_ns) for step in selection.steps]
    first, again = found.first_and_again(spans)
    if first + again < max(COMPILE_RATIO * selection.total_ns, 1):
        return ""
    parts = (
        *((f"{duration(selection.mean(first))} first, which is warm-up",) if first else ()),
        *((f"{duration(selection.mean(again))} again",) if again else ()),
    )
    return f"Compilation {per_step(selection)}: {'; '.join(parts)}."


def per_step(selection: Selection) -> str:
    """The unit of a mean: ``per step``; ``in the recording`` for a recording without steps."""
    noun = step_noun(selection.facts)
    if noun == "recording":
        return "in the recording"
    return f"per {noun}" if selection.count != 1 else f"in this {noun}"


def of_step(selection: Selection, shares: Sequence[float]) -> str:
    """The whole of a share: ``of every step``, ``of the mean step``, ``of the step``.

    ``shares`` are those of each chosen step. Of every step only where they are about the same.
    """
    noun = step_noun(selection.facts)
    if noun == "recording" or selection.count < 2:
        return f"of the {noun}"
    mean = sum(shares) / max(len(shares), 1)
    alike = len(shares) == selection.count and all(
        abs(one - mean) <= SAME_RATIO * mean for one in shares
    )
    return f"of every {noun}" if alike else f"of the mean {noun}"


StepNoun = Literal["step", "iteration", "recording"]


def step_noun(facts: Facts) -> StepNoun:
    """``step``; ``iteration`` of an inference engine; ``recording`` without either."""
    return noun_of(facts.step_source)


def noun_of(step_source: str) -> StepNoun:
    """The word for a step by ``Facts.step_source``."""
    return _NOUNS.get(step_source, "step")


_NOUNS: Mapping[str, StepNoun] = {"whole_trace": "recording", "iteration": "iteration"}
_WHOLE_WORDS = {
    "the step": "the recording",
    "per step": "in the recording",
    "work of a step": "work of the recording",
    "of steps": "of the recording",
}
_WHOLE_PHRASE = regex(rf"\b(?:{'|'.join(_WHOLE_WORDS)})\b", re.IGNORECASE)
_STEP_WORD = regex(r"`[^`]*`|(?<![\w.#-])(a )?(steps?)(?![\w(\[#]|\.\w)", re.IGNORECASE)


def as_recorded(text: str, facts: Facts) -> str:
    """A text about steps: of the recording where it has none, of iterations where it has those.

    Text between backticks is code, and stays.
    """
    return in_noun(text, step_noun(facts))


def in_noun(text: str, noun: StepNoun) -> str:
    """``as_recorded``, where the word is known."""
    match noun:
        case "recording":
            return _WHOLE_PHRASE.sub(_recording, text)
        case "iteration":
            return _STEP_WORD.sub(_iteration, text)
    return text


def _recording(found: re.Match[str]) -> str:
    return _cased(_WHOLE_WORDS[found[0].lower()], found[0])


def _iteration(found: re.Match[str]) -> str:
    article, step = found[1], found[2]
    if step is None:
        return found[0]
    return _cased(f"{'an ' if article else ''}iteration{step[4:]}", found[0])


def _cased(words: str, like: str) -> str:
    return words if like[0].islower() else words[0].upper() + words[1:]


def whole_of(selection: Selection) -> str:
    """Base of shares: ``mean step``, ``step``, ``recording``."""
    noun = step_noun(selection.facts)
    return f"mean {noun}" if noun != "recording" and selection.count > 1 else noun


def spread(values: Sequence[int]) -> str:
    """``48.1 ms to 69.3 ms``, or one value where both read the same."""
    low, high = duration(min(values)), duration(max(values))
    return low if low == high else f"{low} to {high}"


def called(held: HeldSum) -> str:
    """```hipLaunchKernel` for 332 ms (once, its first call)``: a name, how long, how often.

    How often is not said where the count is 0, which means that it is not known.
    """
    longest = held.longest
    notable = held.kind in ("runtime", "blocking", "op")
    firsts = {
        "call": "the first call in the recording",
        "kernel": "the first launch of its kernel",
    }
    first = firsts.get(longest.first, "") if notable else ""
    often = "once" if held.count == 1 else f"{held.count:,} times" if held.count else ""
    # Of several, one that takes most of it is named apart.
    alone = ""
    if held.count != 1 and longest.longest_ns * 2 > held.idle_ns:
        alone = f"{duration(longest.longest_ns)} of it in one"
    elif held.count != 1:
        first = ""
    inside = "nothing recorded inside" if held.kind == "annotation" else ""
    more = ", ".join(text for text in (often, alone, inside, first) if text)
    said = f"`{short_frame(held.name)}` for {duration(held.idle_ns)}"
    return f"{said} ({more})" if more else said


def short_frame(name: str) -> str:
    """A Python frame with the last two directories of its file; other names as they are."""
    match = _FRAME.match(name)
    if match is None:
        return name
    parts = match["path"].split("/")
    return name if len(parts) <= MOST_FOLDERS else f"…/{'/'.join(parts[-2:])}{match['rest']}"


def whereabouts(place: Place | None, name: str = "") -> str:
    """``in `aten::copy_`, at `train.py(12): load` ``; "" where nothing is known."""
    if place is None:
        return ""
    op = f"in `{place.op}`" if place.op and place.op != name else ""
    frame = f"at `{short_frame(place.frame)}`" if place.frame else ""
    return ", ".join(text for text in (op, frame) if text)


def _by_name(held: Sequence[HeldSum]) -> list[HeldSum]:
    """Each name once, though a device may wait under it for several causes; the largest first.

    One event may be there for two of the causes: how often it was is known where one cause holds
    nearly all, and of single events.
    """
    found: dict[tuple[str, str], list[HeldSum]] = {}
    for one in held:
        found.setdefault((one.name, one.kind), []).append(one)
    sums = []
    for parts in found.values():
        longest = max(parts, key=lambda one: one.longest.longest_ns)
        total = sum(one.idle_ns for one in parts)
        large = [one for one in parts if one.idle_ns * 100 >= total]
        singles = {one.longest.ts for one in large}
        are_single = all(one.count == 1 for one in large)
        count = large[0].count if len(large) == 1 else len(singles) if are_single else 0
        together = structs.replace(longest, idle_ns=total, count=count)
        sums.append(together if len(parts) > 1 else longest)
    return sorted(sums, key=lambda one: -one.idle_ns)


def held_by(selection: Selection, least_ns: float, most: int = 2) -> str:
    """The host events during idle time, as a list, with the place of the longest.

    Names that hold less than ``least_ns`` are not said; "" where none holds that much.
    """
    some = [held for held in _by_name(selection.held) if held.idle_ns >= least_ns][:most]
    if not some:
        return ""
    where = whereabouts(some[0].place, some[0].name)
    said = [called(held) for held in some]
    if where:
        said[0] = f"{said[0]}, the longest {where}" if some[0].count != 1 else f"{said[0]}, {where}"
    return "; ".join(said)


CAUSE_NAMES = {
    "idle_dataloader_ns": "DataLoader",
    "idle_capture_ns": "capture of a graph",
    "idle_compile_ns": "compilation",
    "idle_gc_ns": "garbage collection",
    "idle_allocator_ns": "allocator",
    "idle_blocking_ns": "blocking call",
    "idle_communication_ns": "collective of the host",
    "idle_optimizer_ns": "optimizer",
    "idle_dispatch_ns": "host dispatch",
    "idle_python_ns": "Python code",
    "idle_launch_ns": "launch API",
    "idle_first_launch_ns": "first launch",
    "idle_profiler_ns": "profiler",
    "idle_uninstrumented_ns": "host, no known operator",
    "idle_latency_ns": "launch latency",
    "idle_kernel_gap_ns": "kernel gap",
    "idle_device_wait_ns": "device-side wait",
    "idle_graph_ns": "gap inside a graph",
    "idle_before_ns": "launched before the recording",
    "idle_unattributed_ns": "unattributed",
}
"""The causes of idle time, as the page and the terminal name them."""


_WORK_NAMES = {
    "exposed_communication_ns": "exposed communication",
    "exposed_copy_ns": "exposed copies",
    "memset_ns": "memset",
}


def other_part(selection: Selection, total: Partition, *, is_busy: bool) -> str:
    """The largest part of a device beside its kernels, or beside all of its work, as a sentence."""
    names = {cause: f"idle time ({name})" for cause, name in CAUSE_NAMES.items()}
    names |= {} if is_busy else _WORK_NAMES
    ns, name = max((getattr(total, cause), name) for cause, name in names.items())
    return f" The largest other part is {name}, {share(selection.ratio(ns))}." if ns else ""


def longest_work(selection: Selection, part: str) -> Longest | None:
    """The longest activity of a part (field of Partition) in the chosen steps on their device."""
    found = [
        one
        for step in selection.steps
        if (device := selection.device_step(step))
        for one in device.longest
        if one.part == part
    ]
    return max(found, key=lambda one: one.dur_ns, default=None)
