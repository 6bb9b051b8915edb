"""A small catalog and small views: what the web is tested with where no trace need be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kinetoscope.analysis.facts import Breakdown, Facts, RunTraits, StepFacts
from kinetoscope.base.artifact_spec import ArtifactSpec
from kinetoscope.base.errors import KinetoscopeError, NotFoundError
from kinetoscope.store.catalog import BeingRead, Entry
from kinetoscope.store.contract import (
    Catalog,
    ErrorInfo,
    FileInfo,
    ReadProgress,
    RunInfo,
    SpanInfo,
    State,
    WorkerInfo,
)
from kinetoscope.trace.health_record import HealthRecord, Note
from kinetoscope.trace.model import Trace
from kinetoscope.views.table import Column, Table
from kinetoscope.views.view import Part, Subject, View

RUN, WORKER, SPAN = "resnet/50 & <b>", "host.1_7", "1"
"""Names as users make them: they travel in query strings and are never markup."""
CHOICE = {"run": RUN, "worker": WORKER, "span": SPAN}

PROGRESS = ReadProgress("reading events", 512, 2048, 17, 0.5, 1.5)


def facts(*notes: Note) -> Facts:
    """Two steps of 100 and 200 ns on the host, nothing else."""
    health = HealthRecord(2048, 4096, 4, 4, {}, 0, 0, notes)
    traits = RunTraits(False, False, (), None, 0, 0, 0, ())
    return Facts(
        path="/logs/x.json",
        base_ns=0,
        duration_ns=300,
        torch_era="G",
        device_type="CPU",
        rank=7,
        world_size=8,
        host_name="host.1",
        step_source="profiler_step",
        step_family="ProfilerStep",
        steps=(step(0, 0, 100), step(1, 100, 300)),
        devices=(),
        traits=traits,
        counts={"op": 4},
        classified={},
        unavailable={"devices": "no device activity was recorded"},
        health=health,
    )


def step(index: int, start_ns: int, end_ns: int) -> StepFacts:
    """A step that is nothing but other time."""
    return StepFacts(
        index=index,
        number=index + 5,
        name=f"ProfilerStep#{index + 5}",
        host_start_ns=start_ns,
        host_end_ns=end_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        breakdown=Breakdown(other_ns=end_ns - start_ns),
        devices=(),
        host=None,
        launches=0,
        device_events=0,
    )


def note(severity: str) -> Note:
    """A note of the severity; the rest does not matter."""
    return Note("truncated", severity, "The file ends early", 1, 0, "The last step is missing")


class LengthQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``scale``: multiplies; ``only``: index of one step."""

    scale: int = 1
    only: int | None = None
    upper: bool = False


class Lengths(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    dur_ns: tuple[int, ...]


@dataclass
class Counted:
    """Counts how often the view was computed."""

    builds: int = 0


def length_view(counted: Counted | None = None) -> View:
    """A view with a query of every kind of value: how long is each step?"""

    def build(of: Facts, query: LengthQuery) -> Lengths:
        if counted:
            counted.builds += 1
        steps = [s for s in of.steps if query.only in {None, s.index}]
        names = [s.name.upper() if query.upper else s.name for s in steps]
        lengths = [(s.end_ns - s.start_ns) * query.scale for s in steps]
        return Lengths(tuple(names), tuple(lengths))

    def tables(answer: Lengths) -> tuple[Table, ...]:
        columns = (Column("step", "Step"), Column("dur_ns", "Length", "How long the step took"))
        return (Table("Steps", columns, tuple(zip(answer.names, answer.dur_ns, strict=True))),)

    return View(
        stem="lengths",
        title="Lengths",
        key="l",
        question="How long is each step?",
        query=LengthQuery,
        answer=Lengths,
        build=build,
        tables=tables,
        unavailable=lambda _: None,
        badge=lambda of: len(of.steps),
    )


def absent_view() -> View:
    """A view that these facts cannot fill."""
    reason = "not available, because no device activity was recorded"
    return replace(
        length_view(), stem="absent", title="Absent", key="a", unavailable=lambda _: reason
    )


def broken_view() -> View:
    """A view with a mistake in it."""

    def build(of: Facts, query: Any) -> msgspec.Struct:
        raise ZeroDivisionError("secret detail")

    return replace(length_view(), stem="broken", title="Broken", key="b", build=build)


class TimesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``times`` how often; ``fail_at``: the piece before which it goes wrong."""

    times: int = 2
    fail_at: int = -1


def parted_view() -> View:
    """A view with an artifact (a text for each variant) and with a part of every kind."""

    def build(subject: Subject, query: LengthQuery) -> Lengths:
        names = (subject.artifact(""), *(s.name for s in subject.facts.steps))
        return Lengths(names, (0,) * len(names))

    def text(subject: Subject, query: TimesQuery) -> Lengths:
        return Lengths((subject.artifact("loud"),) * query.times, ())

    def frame(subject: Subject, query: TimesQuery) -> bytes:
        return bytes(range(256)) * query.times

    def download(subject: Subject, query: TimesQuery) -> Iterator[bytes]:
        for index in range(query.times):
            if index == query.fail_at:
                raise NotFoundError("the file is gone")
            yield f"piece {index}\n".encode()

    def name(subject: Subject, query: TimesQuery) -> str:
        return f'größe/"{query.times}".json.gz'

    parts = (
        Part("text", TimesQuery, Lengths, text),
        Part("frame", TimesQuery, None, frame),
        Part("download", TimesQuery, None, download, name),
    )
    artifact = ArtifactSpec("echo", "nowhere:nothing", Path.read_text, ("", "loud"))
    return replace(
        length_view(), stem="parted", title="Parted", key="p", build=build, artifact=artifact,
        parts=parts,
    )  # fmt: skip


@dataclass
class DrawnCatalog:
    """One run with one worker and one span, in the state that the test asks for."""

    state: State = "ready"
    error: KinetoscopeError | None = None
    digest: str = "d1"
    version: str = "v1"
    scanning: bool = False
    empty: bool = False
    prepared: bool = True  # the artifacts of the trace
    calls: list[str] = field(default_factory=list)

    def wait_first_look(self, timeout: float) -> bool:
        self.calls.append(f"wait {timeout}")
        return not self.scanning

    def snapshot(self) -> Catalog:
        worker = WorkerInfo(WORKER, 7, (self._span(),))
        run = RunInfo(RUN, "./logs", 1.0, (worker,))
        file = FileInfo(
            "x.json", "./logs", RUN, WORKER, SPAN, 2048, 1.0, self.state, 4, 0.1, False, "", "", ""
        )
        return Catalog(
            version=self.version,
            logdirs=("./logs",),
            problems=(),
            scanning=self.scanning,
            looked=2.0,
            runs=() if self.empty else (run,),
            files=() if self.empty else (file,),
            files_total=0 if self.empty else 1,
        )

    def locate(self, run: str | None, worker: str | None, span: str | None) -> Entry:
        if {run, worker, span} - {None, RUN, WORKER, SPAN}:
            raise NotFoundError("there is no such span", hint="choose another")
        if self.error:
            raise self.error
        if self.state != "ready":
            raise BeingRead("being read", PROGRESS)
        return Entry(RUN, WORKER, SPAN, "/logs/x.json", self.digest, 7, (0, "x.json"))

    def summary(self, entry: Entry) -> Facts:
        assert entry.digest == self.digest
        return facts()

    def trace(self, entry: Entry) -> Trace:
        raise AssertionError(f"no drawn view reads columns of {entry.path}")

    def is_outdated(self) -> bool:
        return False

    def stored_artifact(self, place: Any, spec: ArtifactSpec[Any]) -> Any:  # noqa: ARG002
        return None

    def artifact(self, entry: Entry, spec: ArtifactSpec[Any], variant: str) -> Any:
        assert entry.digest == self.digest
        if not self.prepared:
            raise BeingRead("being prepared", PROGRESS)
        return f"{spec.name} {variant or 'plain'}"

    def rescan(self) -> Catalog:
        self.calls.append("rescan")
        return self.snapshot()

    def retry(self, logdir: str, path: str) -> Catalog:
        self.calls.append(f"retry {logdir} {path}")
        return self.snapshot()

    def _span(self) -> SpanInfo:
        progress = PROGRESS if self.state == "reading" else None
        e = self.error
        error = None if e is None else ErrorInfo(e.kind, e.message, e.hint)
        digest = self.digest if self.state == "ready" else ""
        return SpanInfo(SPAN, "12:30:01", self.state, digest, "x.json", progress, error)
