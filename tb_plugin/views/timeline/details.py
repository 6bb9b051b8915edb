"""All data of one slice: arguments, call stack, relatives; and moves to its neighbours.

Arguments are read again from the file. The call stack is made of the Python frames around a slice,
or is the stack that the slice carries.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ...analysis.compile.reasons import about
from ...analysis.operators.stacks import frame_function, frame_place, written_frames
from ...analysis.timeline import relatives
from ...analysis.timeline.model import SliceKind, Track
from ...analysis.timeline.relatives import ancestors_of, launch_of, op_around, peers_of
from ...analysis.timeline.search import Neighbour
from ...analysis.timeline.timeline import Opened
from ...base.errors import KinetoscopeError, NotReadyError
from ...base.units import plural
from ...trace.model import is_of_other_recorder
from ...trace.raw import without_address
from ...trace.recipes import STACKS, with_option
from ..origins import origin_of_work
from ..view import Subject
from .arrows import links_of
from .common import FLAGS, KINDS, check_slice, opened_of, ref, refs
from .contract import LaunchDelay, SliceArg, SliceDetails, StackFrame, StepTo
from .queries import MoveQuery, SliceQuery

TEXT_LIMIT = 4000
_DIMS = ("Input Dims", "Input dims")
_TYPES = ("Input type",)
_ENVELOPE = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args")


class Told(Struct, frozen=True):
    """The arguments of a slice: ``args`` as decoded; ``missing`` is the reason for none."""

    args: Mapping[str, Any]
    shown: tuple[SliceArg, ...]
    missing: str
    inputs: tuple[tuple[str, str], ...]


_BARE = ("Memcpy", "Memset")


def told_of(subject: Subject, opened: Opened, one: int) -> Told:
    """The arguments of a slice; other keys of the event come after its ``args``.

    Raises:
        BeingRead: the columns are still being written.
    """
    slices = opened.timeline.slices
    try:
        event = subject.event(int(slices.raw[one]))
    except NotReadyError:
        raise
    except (KinetoscopeError, OSError, EOFError, zlib.error) as error:
        reason = error.message if isinstance(error, KinetoscopeError) else str(error)
        return Told({}, (), f"The file cannot be read again: {reason}", ())
    written = without_address(str(event.get("name", "")))
    # A copy named "Memcpy" alone got the rest of its name from its arguments.
    if written not in _BARE and written != opened.timeline.names[slices.name[one]]:
        return Told({}, (), "The file has changed since it was read.", ())
    args = event.get("args")
    args = args if isinstance(args, Mapping) else {} if args is None else {"args": args}
    beside = {key: value for key, value in event.items() if key not in _ENVELOPE}
    shown = tuple(_arg(key, value) for key, value in {**beside, **args}.items())
    return Told(
        args=args,
        shown=tuple(sorted(shown, key=lambda one: one.key in beside)),
        missing="" if shown else "The recorder wrote none.",
        inputs=inputs_of(args),
    )


def _made_of(subject: Subject, name: str) -> tuple[SliceArg, ...]:
    """Facts about a compiled region or a fused kernel, as first arguments."""
    return tuple(_arg(key, text) for key, text in about(subject.facts.compiled, name))


def _arg(key: str, value: object) -> SliceArg:
    text = value if isinstance(value, str) else _json(value)
    return SliceArg(_clean(key)[:200], _clean(text)[:TEXT_LIMIT], len(text) > TEXT_LIMIT)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "(cannot be shown)"


def _clean(text: str) -> str:
    """The text without characters that UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def inputs_of(args: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Shape and type of each input, "" where one of them is missing.

    Shapes are lists, or one text that Python or JSON wrote: "[[8, 3, 224, 224], []]".
    """
    dims = _list(next((args[key] for key in _DIMS if key in args), None))
    types = _list(next((args[key] for key in _TYPES if key in args), None))
    count = max(len(dims), len(types))
    dims += [""] * (count - len(dims))
    types += [""] * (count - len(types))
    return tuple((_shape(one), str(kind)) for one, kind in zip(dims, types, strict=True))


def _list(value: object) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [part.strip() for part in str(value).strip("[]").split(",")] if value else []
    return list(value) if isinstance(value, list) else []


def _shape(value: object) -> str:
    if isinstance(value, list):
        inner = ", ".join(_shape(one) for one in value)
        return f"[{inner}]"
    return _clean(str(value))


def stream_text(args: Mapping[str, Any], track: Track | None) -> str:
    """The stream of device work where its track holds those of several; "" elsewhere.

    >>> stream_text({"stream": 100000, "original_stream": 29}, None)
    'stream 29, drawn on lane 100000'
    """
    own, before = args.get("stream"), args.get("original_stream")
    asked = args.get("annotated_stream")
    if before is None and asked is None and (track is None or track.kind != "graph"):
        return ""
    if own is None:
        return ""
    moved = before is not None and before != own
    text = f"stream {before}, drawn on lane {own}" if moved else f"stream {own}"
    return _clean(text if asked is None else f"{text}, captured as stream {asked}")[:100]


_PYTHON = (SliceKind.PYTHON, SliceKind.MODULE)
_STACK_ARG = "Call stack"
_MOST_FRAMES = 2000


class Stack(Struct, frozen=True):
    """``file`` and ``line`` are those of the slice itself, where it is a Python frame."""

    frames: tuple[StackFrame, ...]
    missing: str
    file: str = ""
    line: int = 0


def stack_of(subject: Subject, opened: Opened, one: int, args: Mapping[str, Any]) -> Stack:
    """The call stack of a slice, for device work that of its launch; innermost frame first."""
    slices, timeline = opened.timeline.slices, opened.timeline
    at = launch_of(timeline.flows, one) if one >= timeline.tables.device else one
    if at is None:
        return Stack((), "It is not known what launched it.")
    chain = [*ancestors_of(slices, at), at]
    python = [row for row in chain[::-1] if slices.kind[row] in _PYTHON]
    if python:
        frames = tuple(_frame(timeline.names[slices.name[row]], row) for row in python)
        own = frames[0] if python[0] == one else None
        return Stack(frames, "", own.file if own else "", own.line if own else 0)
    text = _text(subject, opened, one, at, args)
    if text:
        parts = written_frames(text)
        beyond = len(parts) - _MOST_FRAMES
        return Stack(
            tuple(_frame(part, None) for part in parts[:_MOST_FRAMES]),
            f"{plural(beyond, 'outer frame')} more in the file." if beyond > 0 else "",
        )
    return Stack((), _why(subject))


def _text(subject: Subject, opened: Opened, one: int, at: int, args: Mapping[str, Any]) -> str:
    """The stack that the slice, or else the op around it, carries."""
    if _STACK_ARG not in args:
        op = op_around(opened.timeline.slices, at)
        if op is None or op == one or not subject.facts.recording.call_stacks:
            return ""
        args = told_of(subject, opened, op).args
    found = args.get(_STACK_ARG)
    return found if isinstance(found, str) else ""


def _why(subject: Subject) -> str:
    if is_of_other_recorder(subject.facts.torch_era):
        return "Another program than PyTorch wrote this file: no call stack of its slices is read."
    counts = subject.facts.counts
    recorded = counts.get("python", 0) + counts.get("module", 0)
    if not recorded and not subject.facts.recording.call_stacks:
        return f"No call stack was recorded: {with_option(STACKS, subject.facts.torch_era)}."
    return "No Python frame was open around it."


def _frame(name: str, row: int | None) -> StackFrame:
    file, line = frame_place(name)
    return StackFrame(frame_function(name) if file else name, file, line, row)


def details(subject: Subject, query: SliceQuery) -> SliceDetails:
    """Times, place, arguments, stack and relatives of a slice.

    Raises:
        NotFoundError: there is no such slice.
    """
    opened = opened_of(subject, query.layout)
    one = check_slice(opened, query.slice)
    timeline = opened.timeline
    slices = timeline.slices
    place = ref(opened, one)
    step = int(slices.step[one])
    known = step >= 0 and step < len(timeline.steps)
    peers = peers_of(timeline.index.first, timeline.index.slices, slices, one)
    ancestors = ancestors_of(slices, one)
    told = told_of(subject, opened, one)
    stack = stack_of(subject, opened, one, told.args)
    track = opened.layout.tracks[place.track] if place.track >= 0 else None
    return SliceDetails(
        slice=place,
        kind_label=KINDS[SliceKind(place.kind)][1],
        self_ns=int(slices.self_ns[one]),
        step=timeline.steps[step].name if known else "",
        step_offset_ns=place.ts - timeline.steps[step].ts if known else None,
        track_label=track.label if track else "hidden in this layout",
        stream=stream_text(told.args, track),
        depth=len(ancestors),
        wall_ns=str(timeline.base_ns + place.ts),
        flags=tuple(text for flag, text in FLAGS.items() if int(slices.flags[one]) & flag),
        peers=peers.count,
        median_ns=peers.median,
        rank=peers.rank,
        ancestors=refs(opened, ancestors),
        links=links_of(opened, one),
        launch=_launch(opened, one),
        origin=origin_of_work(subject, one - timeline.tables.device),
        args=(*_made_of(subject, place.name), *told.shown),
        args_missing=told.missing,
        inputs=told.inputs,
        stack=stack.frames,
        stack_missing=stack.missing,
        source_file=stack.file,
        source_line=stack.line,
    )


def _launch(opened: Opened, one: int) -> LaunchDelay | None:
    """From the call to the end of the work; None where the call was not recorded."""
    slices = opened.timeline.slices
    if one < opened.timeline.tables.device:
        return None
    call = launch_of(opened.timeline.flows, one)
    if call is None or slices.kind[call] != SliceKind.RUNTIME:
        return None
    end = int(slices.ts[call] + slices.dur[call])
    return LaunchDelay(int(slices.dur[call]), int(slices.ts[one]) - end, int(slices.dur[one]))


def move(subject: Subject, query: MoveQuery) -> StepTo:
    """The neighbour of a slice; along arrows "next" follows them, "previous" goes back.

    Upwards it is the parent, whatever the direction; downwards the first child, or the last one.

    Raises:
        NotFoundError: there is no such slice.
    """
    opened = opened_of(subject, query.layout)
    one = check_slice(opened, query.slice)
    forward = query.direction == "next"
    found: Neighbour | None = None
    match query.by:
        case "lane":
            found = relatives.next_in_lane(opened, one, forward=forward)
        case "name":
            found = relatives.next_of_name(opened, one, forward=forward)
        case "flow":
            found = relatives.along_arrow(opened, one, forward=forward)
        case "parent":
            found = _alone(relatives.parent_of(opened, one))
        case "child":
            found = _alone(relatives.child_of(opened, one, last=not forward))
    if found is None:
        return StepTo(None, 0, 0)
    return StepTo(ref(opened, found.slice), found.position, found.count)


def _alone(found: int | None) -> Neighbour | None:
    """A neighbour without a place among others."""
    return None if found is None else Neighbour(found, 0, 0)
