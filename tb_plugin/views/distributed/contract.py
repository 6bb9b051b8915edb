"""The JSON of the Distributed view (contract). Durations are ns; ``None`` = not known.

The view answers with ``Distributed``; its parts: ``ops`` → RankOperations (OperationsQuery),
``what_if`` → WhatIfAnswer (WhatIfQuery), ``hang`` → HangAnswer (HangQuery), ``sentence`` →
RanksSentence (RanksQuery); for the Trace view ``clocks`` → RankClocks (AxisQuery), ``joined`` →
JoinedCollectives (JoinedQuery). Ranks are named by their row in ``Distributed.ranks``; the rows of
matrices are ranks, their columns steps or collectives.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ...analysis.findings import Reference
from ..shared import Words, option
from ..table import Column
from .declared import (
    BandwidthPoint,
    DistributedCollective,
    DistributedGroup,
    DistributedNode,
    DistributedRank,
    PipelineStage,
    RankOperation,
)

MOST_COLLECTIVES = 200
"""Collectives in the table: those with most waiting."""
MOST_COLUMNS = 24
"""Collectives that are columns of the heat map."""
MOST_IN_MATRIX = 64
"""Most rows of the waiting matrix; with more ranks, neighbours share a row."""

RankPlaceKind = Literal["late", "last", "waits most", "median"]
DistributedRole = Literal[
    "",
    "data parallel",
    "sharded data parallel",
    "tensor parallel",
    "pipeline",
    "expert parallel",
    "model-parallel embeddings",
    "context parallel",
]


class DistributedQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of steps, and the user's changes of groups."""

    steps: Annotated[
        str, option('steps by their numbers: "3", "2-5"', "those that are not left out")
    ] = ""
    roles: Annotated[
        Words,
        option(
            'roles of groups, by ranks or shape: "0-7=tensor parallel;32x8=pipeline"', "guessed"
        ),
    ] = ""
    so_far: Annotated[
        bool, option("compare what is there while other recordings are being read")
    ] = False


class RankCell(Struct, frozen=True):
    """The value of a rank in a column: waiting, own work or lateness; ``None`` = not there."""

    values: tuple[int | None, ...]
    last: tuple[bool, ...]  # it came last: in most collectives of the step, or in this one


class HeatColumns(Struct, frozen=True):
    """A heat map: columns, and per metric the rows of all ranks."""

    columns: tuple[str, ...]  # "12", or "all_reduce"
    details: tuple[str, ...]  # "1.50 MiB"
    waiting: tuple[RankCell, ...]
    own: tuple[RankCell, ...]  # own work before arrival beyond its peers'; () not available
    start: tuple[RankCell, ...]  # behind the first; () not available
    links: tuple[Reference, ...] = ()  # each column in Trace


class LayoutAxis(Struct, frozen=True):
    """One kind of parallelism."""

    name: str  # "TP"; "other" where groups do not tell ranks apart
    size: int


class LayoutCell(Struct, frozen=True):
    """The place of a rank along each axis."""

    rank: int
    row: int | None  # of ``Distributed.ranks``; None: without a recording
    place: tuple[int, ...]


class RankLayout(Struct, frozen=True):
    """All ranks of the job by their places in process groups."""

    text: str  # "TP 8 × PP 4 × DP 32"; "" where no role is known
    axes: tuple[LayoutAxis, ...]
    cells: tuple[LayoutCell, ...]


class DistributedFinding(Struct, frozen=True):
    """One thing that was found; text between backticks is code."""

    id: str
    title: str
    text: str
    gain_ns: int | None  # at most, per step
    method: str  # how the gain is reckoned


class WhoWaits(Struct, frozen=True):
    """Three ranks to look at together."""

    rank: int  # row
    kind: RankPlaceKind


class Distributed(Struct, frozen=True):
    """The ranks of a run, compared over the chosen steps."""

    headline: str
    detail: str
    ranks_columns: tuple[Column, ...]
    step_columns: tuple[Column, ...]  # of ``DistributedRank.step``
    ranks: tuple[DistributedRank, ...]
    read: int  # recordings that are there
    waiting: int  # recordings that are still being read
    world_size: int | None
    missing: str  # ranks without a recording, in words
    notes: tuple[str, ...]  # what must be known of the comparison
    step_count: int
    total_wait_ns: int | None  # sum of ``cost_ns``, equal to the sum of ``lost_ns``
    blame: tuple[tuple[int, ...], ...]  # [last][who waited], per step; () where nobody waited
    blame_ranks: int  # so many ranks, in their order, share a row and a column of it
    clocks: str
    steps: HeatColumns
    collectives: HeatColumns
    nodes_columns: tuple[Column, ...]
    nodes: tuple[DistributedNode, ...]  # () for fewer than two
    groups_columns: tuple[Column, ...]
    groups: tuple[DistributedGroup, ...]
    layout: RankLayout
    table_columns: tuple[Column, ...]
    table: tuple[DistributedCollective, ...]
    count: int  # collectives matched in all
    unmatched: int  # calls without a counterpart
    bandwidth: tuple[BandwidthPoint, ...]
    findings: tuple[DistributedFinding, ...]
    unchecked: tuple[str, ...]  # rules that could not be checked, and what they need
    pipeline_columns: tuple[Column, ...]
    pipeline: tuple[PipelineStage, ...]
    pipeline_text: str
    experts_text: str  # balance of all-to-all; "" none
    replay: str  # its error without an edit, or why there is none
    look_at: tuple[WhoWaits, ...]
    logs: bool  # there are logs of a hang beside the traces
    reasons: dict[str, str]  # figure that is missing → why


class OperationsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Communication of one rank."""

    steps: str = ""
    rank: Annotated[
        int, Meta(ge=-1, lt=1 << 20), option("row of the view's ranks", "all ranks")
    ] = -1
    so_far: Annotated[bool, option("of what is there while other recordings are being read")] = (
        False
    )


class RankOperations(Struct, frozen=True):
    """Communication operations, most time first."""

    columns: tuple[Column, ...]
    rows: tuple[RankOperation, ...]
    reason: str  # why figures are missing


class RanksQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Query for the sentence on differing ranks."""

    steps: str = ""


class RanksSentence(Struct, frozen=True):
    """The sentence on differing ranks, for the Overview."""

    sentence: str
    ranks: int
    waiting: int  # recordings that are still being read
    roles: str  # "4 prefill, 8 decode", where names tell it; "" otherwise


class WhatIfQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The rank, node, stage or group to set to the median of its peers, or the input.

    ``late``: the ranks that make the others wait; the input where there are none.
    """

    kind: Annotated[
        Literal["late", "rank", "node", "stage", "group", "input"],
        option(
            'what works like the median of its peers; "late" = the ranks that make the others wait,'
            ' "stage" = of a pipeline, "group" = transfers of a process group, "input" = no wait'
            " for data"
        ),
    ] = "late"
    target: Annotated[
        int, Meta(ge=0, lt=1 << 20), option("its number from 0, for rank, node, stage and group")
    ] = 0


class WhatIfAnswer(Struct, frozen=True):
    """The step replayed with a change, means over the steps that no rank leaves out."""

    refused: str  # why there is no answer; "" where there is
    sentence: str = ""
    step_ns: int | None = None  # replayed without a change
    edited_ns: int | None = None
    gain_ns: int | None = None  # None: none is claimed
    error_median: float | None = None  # of the replay without a change: share of the step
    error_most: float | None = None


class HangQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class HangRow(Struct, frozen=True):
    """A collective that did not end."""

    group: str
    operation: str
    sequence: int
    problem: str
    missed: str
    waiting: str
    no_log: str
    part_of_log: str
    place: str


class HangAnswer(Struct, frozen=True):
    """Result of the hang logs beside the traces."""

    sentence: str
    detail: str
    notes: tuple[str, ...]
    rows: tuple[HangRow, ...]
    ranks: int


class AxisQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Workers shown beside the requested trace."""

    workers: Annotated[
        str, Meta(max_length=4000), option('"a,b"; a comma is %2C, a percent sign %25')
    ]


class RankClock(Struct, frozen=True):
    """The clock of a worker, relative to the requested trace."""

    worker: str
    rank: int | None
    correction_ns: int  # to add to its wall clock; 0 where clocks are shown as recorded
    uncertainty_ns: int | None
    problem: str  # why its clock is not known


class RankClocks(Struct, frozen=True):
    """The clocks of some workers, and how they are known."""

    clocks: tuple[RankClock, ...]
    fitted: bool
    comparable: bool  # instants of different ranks may be compared
    sentence: str
    ranks: int  # of which that is known: those asked for, and those that were digested before


class JoinedQuery(AxisQuery, frozen=True, forbid_unknown_fields=True):
    """A window of the axis on which they are shown."""

    offsets: Annotated[
        str, Meta(max_length=200), option('ns to add to the times of each: "-12,34"')
    ]
    start_ns: Annotated[int, Meta(ge=-(2**62), le=2**62)]
    end_ns: Annotated[int, Meta(ge=-(2**62), le=2**62)]
    layout: Annotated[str, Meta(max_length=40), option("of the Trace view")] = "split"


class JoinedEnd(Struct, frozen=True):
    """The slice of a collective on one worker; times are its own."""

    slice: int
    track: int
    lane: int  # within the track
    ts: int
    dur: int


class JoinedArrow(Struct, frozen=True):
    """From the slice that let the others go on (its start) to one of them (its end)."""

    operation: str
    group: str
    start_source: int  # 0 = the trace that is asked for, then the workers as they were named
    start: JoinedEnd
    end_source: int
    end: JoinedEnd
    skew_ns: int | None  # between the first and the last start, of all ranks that are compared
    last: str  # "rank 3", the last of them, shown or not; "" nobody waits for the last


class JoinedCollectives(Struct, frozen=True):
    """Collectives of a window, joined across the workers."""

    arrows: tuple[JoinedArrow, ...]
    count: int  # collectives in the window …
    joined: int  # … and how many of them have arrows: those with most between first and last start
