"""Query parameters of the Trace view (contract). Ids and tracks are those of the manifest."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..shared import Words, option
from .contract import LayoutName

Index = Annotated[int, Meta(ge=0, lt=2**31)]
Instant = Annotated[int, Meta(ge=-(2**62), le=2**62)]
List = Annotated[str, Meta(max_length=4000)]  # "0,1,4-7"


class LayoutQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A layout, for the manifest and for every answer that names tracks."""

    layout: Annotated[
        LayoutName,
        option(
            "split: Python frames have tracks of their own below the ops of their thread; merged:"
            " both together, as recorded; filtered: split, without the frames of frameworks."
            " -folded: nodes of replayed graphs by what they do, -recorded: each on its stream;"
            " without, folded where a device has more than eight such streams"
        ),
    ] = "split"


class NamesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Name codes [first, first + count)."""

    first: Index = 0
    count: Annotated[int, Meta(ge=1, le=100_000)] = 20_000


class TilesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The cross product of tiles and lane blocks of one level."""

    level: Annotated[int, Meta(ge=0, le=54)]
    tiles: Annotated[List, option('"120-126"')]
    blocks: Annotated[List, option('"3.0,3.16,5.0": track and first lane, a multiple of 16')]
    layout: LayoutName = "split"


class CountersQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Series of values at one level."""

    level: Annotated[int, Meta(ge=0, le=54)]
    tiles: List
    series: List


class MinimapQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Busy share of every track over the whole trace, in this many columns."""

    columns: Annotated[int, Meta(ge=16, le=4096)] = 1024
    layout: LayoutName = "split"


class SliceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One slice."""

    slice: Index
    layout: LayoutName = "split"


class MoveQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """From one slice to a neighbour."""

    slice: Index
    by: Literal["lane", "name", "parent", "child", "flow"]
    direction: Literal["next", "previous"] = "next"
    layout: LayoutName = "split"


class SearchQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Names by text (every word, any case), regular expression, or exactly."""

    text: Words
    mode: Literal["text", "regex", "exact"] = "text"
    columns: Annotated[int, Meta(ge=16, le=4096)] = 1024
    tracks: Annotated[List, option("", "all")] = ""
    layout: LayoutName = "split"


class HitQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The hit before or after an instant (or a slice) in order of time."""

    text: Words
    mode: Literal["text", "regex", "exact"] = "text"
    slice: Annotated[int, Meta(ge=-1, lt=2**31)] = -1
    ts: Instant = 0
    direction: Literal["next", "previous"] = "next"
    tracks: List = ""
    layout: LayoutName = "split"


class RangeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A range of time on some tracks: an area."""

    start_ns: Instant
    end_ns: Instant
    tracks: List = ""
    layout: LayoutName = "split"


class AreaQuery(RangeQuery, frozen=True, forbid_unknown_fields=True):
    """Sums of an area, for so many names."""

    limit: Annotated[int, Meta(ge=1, le=5000)] = 500


class FoldedRangeQuery(RangeQuery, frozen=True, forbid_unknown_fields=True):
    """The call tree of an area as folded stacks."""

    metric: Literal["total", "count"] = "total"


class FlameQuery(FoldedRangeQuery, frozen=True, forbid_unknown_fields=True):
    """The call tree of an area as a flame graph."""

    min_share: Annotated[float, Meta(ge=0, le=0.1)] = 0.0005


class RowsQuery(RangeQuery, frozen=True, forbid_unknown_fields=True):
    """A window of the slices of an area."""

    text: Words = ""
    sort: Literal["ts", "-ts", "dur", "-dur", "self", "-self", "name", "-name"] = "ts"
    offset: Index = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class FlowsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Arrows of one slice."""

    slice: Index
    hops: Annotated[int, Meta(ge=1, le=8)] = 1
    layout: LayoutName = "split"


class BundlesQuery(RangeQuery, frozen=True, forbid_unknown_fields=True):
    """Arrows of a view, bundled where they are close together on the screen."""

    columns: Annotated[int, Meta(ge=16, le=4096)] = 1024
    kinds: List = ""


class ExportQuery(RangeQuery, frozen=True, forbid_unknown_fields=True):
    """A window as a separate trace file."""
