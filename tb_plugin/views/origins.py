"""The operators of a recording, those of replayed graphs too: one way for every view.

A recording of the capture of graphs lies beside the run, in a folder or under a name that says so
(``capture_traces/``, ``graph_capture_profile/``). What its launches tell is lent to the replays
(``analysis/graphs/origins``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, structs

from ..analysis.facts import Facts
from ..analysis.graphs.artifact import CAPTURES, GRAPHS
from ..analysis.graphs.captures import LEAST_SHARE
from ..analysis.graphs.model import CaptureColumns, GraphColumns
from ..analysis.graphs.module_origins import lend_modules
from ..analysis.graphs.origins import OperatorOrigins, origin_of, with_origins
from ..analysis.modules.model import ModuleColumns
from ..analysis.operators.artifact import OPERATORS
from ..analysis.operators.model import NamedLight, OperatorColumns
from ..analysis.serving.model import PhaseUse
from ..analysis.serving.phases import phases
from ..analysis.speed_of_light.artifact import PLACES, SPEED
from ..analysis.speed_of_light.captured import with_captured, with_lengths
from ..analysis.speed_of_light.figures import SpeedSelection, has_light, lit_device, phase_use
from ..analysis.speed_of_light.model import SpeedColumns
from ..analysis.steps import Selection
from ..base.artifact_spec import ArtifactSpec
from ..base.errors import NotReadyError, TraceFormatError
from ..base.units import plural, share
from ..trace.worker_names import is_capture
from .view import RunWorker, Subject, TracePlace

MOST_CAPTURES = 64
"""Recordings of captures that are read for one recording."""
WORTH_SAYING = 0.01  # of the device time in replays
_SWITCHES = {
    "SGLang": "`SGLANG_ENABLE_CUDA_GRAPH_CAPTURE_TRACE=1` writes one into `graph_capture_profile/`",
}
_ANY_ENGINE = "run a profiler around the capture, and keep its file in a folder `capture_traces/`"


class FoundCaptures(NamedTuple):
    """Recordings of captures, and why others were not read."""

    opened: tuple[tuple[TracePlace, CaptureColumns], ...]
    problems: list[str]


def operators_of(subject: Subject) -> OperatorColumns:
    """The calls of a recording, with those that recordings of its captures lend.

    Raises:
        NotReadyError: one of them is being read.
    """
    return origins_of(subject).operators


def origins_of(subject: Subject) -> OperatorOrigins:
    """The same, with the operators that each graph takes from its capture.

    Raises:
        NotReadyError: a recording of a capture is being read.
    """
    operators: OperatorColumns = subject.other_artifact(OPERATORS)
    if not has_replays(subject.facts):
        return OperatorOrigins(operators, (), 0, 0)
    found = captures_of(subject, near_captures(subject))
    return with_origins(
        operators, subject.other_artifact(GRAPHS), tuple(one for _, one in found.opened)
    )


def speed_of(subject: Subject) -> SpeedColumns:
    """The work of a recording, that of replayed graphs as far as captures beside it tell.

    Raises:
        NotReadyError: it is being made, or a recording of a capture is being read.
    """
    columns: SpeedColumns = subject.other_artifact(SPEED)
    iterations = subject.facts.iterations
    if iterations:
        columns = with_lengths(columns, iterations)
    if not has_replays(subject.facts) or not (near := near_captures(subject)):
        return columns
    captures = tuple(one for _, one in captures_of(subject, near).opened)
    return with_captured(columns, subject.other_artifact(GRAPHS), captures, iterations)


def placed_speed_of(subject: Subject) -> SpeedColumns:
    """The same with module and phase of each call.

    Raises:
        NotReadyError: one of them is being made, or read.
    """
    return structs.replace(speed_of(subject), places=subject.other_artifact(PLACES))


def light_of_modules(subject: Subject) -> SpeedColumns | None:
    """The work by module; None without a data sheet, or where captures lend modules.

    Raises:
        NotReadyError: it is being made.
    """
    facts = subject.facts
    if not has_light(facts) or (has_replays(facts) and near_captures(subject)):
        return None
    columns: SpeedColumns = subject.other_artifact(SPEED)
    return structs.replace(columns, places=subject.other_artifact(PLACES))


def light_of(
    subject: Subject, group: str, steps: tuple[int, ...] | None, device: int | None
) -> Mapping[str, NamedLight]:
    """Light of all ops ("op") or kernels ("kernel") by their names; nothing without a data sheet.

    Args:
        subject: the recording.
        group: what is named.
        steps: indexes of the steps; None: everything.
        device: row of the devices; None: the only one that was used, of several none.

    Raises:
        NotReadyError: it is being made.
    """
    if not has_light(subject.facts, device):
        return {}
    row, columns = lit_device(subject.facts, device), speed_of(subject)
    groups = SpeedSelection(columns, columns.steps_of(steps), row).by(group)
    known = np.flatnonzero(groups.known_ns > 0)
    waste = np.rint(groups.waste_ns[known]).astype(np.int64).tolist()
    rows = zip(
        groups.key[known].tolist(),
        groups.light_ratio[known].tolist(),
        waste,
        (groups.bound[row] or "" for row in known.tolist()),
        strict=True,
    )
    return {
        columns.strings[key]: NamedLight(ratio, spent, bound)
        for key, ratio, spent, bound in rows
        if key >= 0
    }


def phase_uses(subject: Subject, selection: Selection) -> Mapping[str, PhaseUse]:
    """MFU and MBU of each phase of a served model; nothing without a data sheet or sizes.

    A phase is left out where steps of it hold other iterations, too.

    Raises:
        NotReadyError: the work is being made, or a recording of a capture is being read.
    """
    facts = selection.facts
    device = selection.device_facts
    if not facts.iterations or device is None or not device.has_peak:
        return {}
    if lit_device(facts, selection.device) is None and not (
        has_replays(facts) and near_captures(subject)
    ):
        return {}
    columns = placed_speed_of(subject)
    found: dict[str, PhaseUse] = {}
    for one in phases(selection):
        steps = {each.step for each in one.iterations}
        held = sum(each.step in steps for each in facts.iterations)
        if one.count and held == one.count:
            spent = sum(each.period_ns or each.span_ns for each in one.iterations)
            found[one.phase] = phase_use(columns, sorted(steps), selection.device, spent)
    return found


class SliceOrigin(Struct, frozen=True):
    """The operator of work in a replayed graph, from a recording of its capture."""

    op: str
    shapes: str  # of its inputs; "" not recorded
    module: str  # the innermost module around it; "" not known
    run: str  # the recording of the capture …
    worker: str


def origin_of_work(subject: Subject, row: int) -> SliceOrigin | None:
    """Operator of a row of the device table by the capture; None where its recording has it.

    Raises:
        NotReadyError: a recording of a capture is being read.
    """
    if not has_replays(subject.facts) or not (near := near_captures(subject)):
        return None
    graphs: GraphColumns = subject.other_artifact(GRAPHS)
    if not 0 <= row < len(graphs.of_activity) or graphs.of_activity[row] < 0:
        return None
    origins, found = origins_of(subject), captures_of(subject, near)
    operators, lent = origins.operators, origins.graphs[int(graphs.of_activity[row])].lent
    call, is_lent = origin_of(operators, row)
    if not is_lent or lent is None:
        return None
    calls, (place, _) = operators.calls, found.opened[lent.capture]

    def text(code: int) -> str:
        return operators.strings[code] if code >= 0 else ""

    return SliceOrigin(
        text(int(calls.name[call])),
        text(int(calls.shapes[call])),
        text(int(calls.module[call])),
        place.run,
        place.worker,
    )


def lending(subject: Subject) -> Callable[[ArtifactSpec[Any]], Any]:
    """The artifacts of a recording, its operators and modules with those that captures lend."""

    def artifact(spec: ArtifactSpec[Any]) -> Any:  # noqa: ANN401  # what it opens as
        if spec is OPERATORS:
            return operators_of(subject)
        if spec is SPEED:
            return speed_of(subject)
        found = subject.other_artifact(spec)
        return modules_of(subject, found) if isinstance(found, ModuleColumns) else found

    return artifact


def modules_of(subject: Subject, columns: ModuleColumns) -> ModuleColumns:
    """The modules of a recording, with those that recordings of its captures lend.

    Raises:
        NotReadyError: one of them is being read.
    """
    if not has_replays(subject.facts) or not near_captures(subject):
        return columns
    return lend_modules(columns, operators_of(subject))


def has_replays(facts: Facts) -> bool:
    """True if a graph was replayed."""
    return facts.traits.graph_launches > 0


def captures_of(subject: Subject, chosen: list[RunWorker]) -> FoundCaptures:
    """Some recordings of captures, opened.

    Raises:
        NotReadyError: one of them is being read.
    """
    found: list[tuple[TracePlace, CaptureColumns]] = []
    problems = [f"{one.place.worker}: {one.problem}" for one in chosen if one.problem]
    if len(chosen) > MOST_CAPTURES:
        problems.append(f"{len(chosen) - MOST_CAPTURES} further recordings were not looked at")
    waiting: NotReadyError | None = None
    for one in chosen[:MOST_CAPTURES]:
        if one.problem:
            continue
        try:
            found.append((one.place, subject.recordings.artifact(one.place, CAPTURES)))
        except NotReadyError as error:
            waiting = error  # all of them are asked for first, so that they are read together
        except (TraceFormatError, OSError) as error:
            problems.append(f"{one.place.worker}: {error}")
    if waiting is not None:
        raise waiting
    return FoundCaptures(tuple(found), problems)


def near_captures(subject: Subject) -> list[RunWorker]:
    """The recordings of captures of the same rank beside the run."""
    own, rank = subject.recordings.own, subject.facts.rank
    if own is None:
        return []
    return [
        one
        for one in subject.recordings.everything()
        if one.place != own
        and one.place.run == own.run
        and (rank is None or one.rank is None or one.rank == rank)
        and says_capture(one.place)
    ]


def says_capture(place: TracePlace) -> bool:
    """True if the name of a worker says that it recorded a capture."""
    return any(is_capture(part) for part in place.worker.split("/"))


def origin_words(origins: OperatorOrigins, facts: Facts) -> str:
    """Note on operators of replayed graphs, and the option that records them; "" without."""
    whole = int(origins.operators.activities.dur_ns.sum())
    if not origins.graph_ns or origins.graph_ns < WORTH_SAYING * whole:
        return ""
    part = share(origins.graph_ns / whole)
    if origins.lent_ns:
        return (
            f"{part} of the device time is in replayed graphs: {share(origins.ratio)} of that has"
            " its operator from the recording of the capture."
        )
    best = max((one.lent for one in origins.graphs if one.lent), key=lambda one: one.ratio,
               default=None)  # fmt: skip
    if best is not None:
        return (
            f"{part} of the device time is in replayed graphs. The recording of a capture beside it"
            f" fits {share(best.ratio)} of a graph's kernel time"
            f" ({best.matched:,} of {plural(best.kernels, 'kernel')}), less than"
            f" {LEAST_SHARE * 100:.0f} %: nothing is taken from there."
        )
    engine = next((one.engine for one in facts.iterations if one.engine), "")
    return (
        f"{part} of the device time is in replayed graphs. A recording of the capture would name"
        f" its operators: {_SWITCHES.get(engine, _ANY_ENGINE)}."
    )
