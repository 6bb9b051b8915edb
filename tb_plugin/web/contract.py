"""Structs of the routes that are not views, and the recipe for a training loop (contract).

GET api/info                                     → Info
GET api/catalog                                  → Catalog    304 while its version is the same
GET api/trace?run=&worker=&span=                 → TraceInfo  202 while reading
GET api/view/<stem>?run=&worker=&span=&<query…>  → the view's answer   202 while reading
GET api/view/<stem>/<part>?…                     → JSON, bytes or a download, as the part says
GET api/source?run=&worker=&span=&file=&line=     → SourcePlace
GET api/rescan                                   → Catalog    after looking again at once
GET api/retry?path=&logdir=                      → Catalog    reads a failed or refused file again
Errors: {"error": {"kind", "message", "hint"}} with status 400, 404, 405, 409, 422, 500;
202 → Reading. With ``&digest=`` of the span, as the catalog has it, the answer of a trace never
changes and a browser may keep it. Every answer names its program in a header, see ``CONTRACT``.
"""

from __future__ import annotations

from msgspec import Struct

from ..analysis.wording import StepNoun
from ..store.contract import ErrorInfo, ReadProgress
from ..trace.link.iterations import Phase

CONTRACT = "c2887f88"
"""A key of all these Structs, of the catalog and of the views: tools/gen_api_types.py writes it.

The page was built with one, too. Where they differ, the package was upgraded while the server ran.
"""


class ErrorAnswer(Struct, frozen=True):
    """The body of every response that is not 200, 202 or 304."""

    error: ErrorInfo


class Reading(Struct, frozen=True):
    """The body of a 202: the trace is being read; try again."""

    reading: ReadProgress


class ViewInfo(Struct, frozen=True):
    """One tab."""

    stem: str
    title: str
    key: str
    question: str


class Info(Struct, frozen=True):
    """The version of this program, and its views."""

    version: str
    release: str  # version and commit, for people
    contract: str  # key of the answers' types, to be held against the page's own
    reader: str  # "python" | "native"
    host: str  # "tensorboard" | "standalone"
    vscode: bool
    saves: bool  # api/report makes one file of a trace
    views: tuple[ViewInfo, ...]  # the registry, in tab order
    recipe: str  # the three lines to paste into a training loop


class SourcePlace(Struct, frozen=True):
    """The place of a source file of a stack."""

    path: str  # absolute, for an editor; "" where nothing is known of its place
    found: bool  # the server looked, and has it: never so where texts are not served
    line: int  # 1-based
    first: int  # number of the first of ``lines``
    lines: tuple[str, ...]
    missing: str  # why there are no lines
    directory: str  # working directory of the recording, as it says; "" where it does not


class StepInfo(Struct, frozen=True):
    """One step in the step strip."""

    index: int
    number: int
    name: str
    dur_ns: int
    excluded: str | None
    outlier: bool
    phase: Phase  # of the iteration of an engine that it is or holds; "" none, or of several


class ViewState(Struct, frozen=True):
    """State of one view for the chosen trace."""

    stem: str
    unavailable: str | None  # why this trace cannot fill the view
    badge: int | None  # findings of the Overview, notes of Health


class TraceInfo(Struct, frozen=True):
    """Data of the chosen trace that the shell needs, whatever the view."""

    digest: str
    run: str
    worker: str
    span: str
    rank: int | None
    device_type: str
    step_source: str
    noun: StepNoun  # the page's word for a step
    steps: tuple[StepInfo, ...]
    views: tuple[ViewState, ...]
    note_count: int  # health notes of severity warning or error
    worst: str  # "error" | "warning" | "info" | "good"


RECIPE = """\
from kinetoscope.handlers import tensorboard_trace_handler

with torch.profiler.profile(
    # repeat=1: recorded once. Without it the profiler records again and again, a file each time.
    schedule=torch.profiler.schedule(wait=1, warmup=3, active=5, repeat=1),
    on_trace_ready=tensorboard_trace_handler("./log"),
) as prof:
    for batch in loader:
        train(batch)
        prof.step()
"""
