"""Do the clocks of the ranks agree, and by how much may they be off?

A symmetric collective ends on all members at about the same instant, so its ends tell how far
clocks are apart: offsets o and instants c are fitted so that Σ |end − o − c| is least, by
alternating medians. That is done only with kernels of devices, only with short messages and from
eight instances on: gloo's ranges end up to milliseconds apart by themselves. Ranks of one host
share a clock, and keep it unless the fit says otherwise beyond doubt.

No rank may end a symmetric collective before another has begun it. Where that happens, the clocks
are apart by at least so much; if they cannot be fitted they are *refused*, and nothing is said that
compares instants of different ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ...base.arrays import F64, I64
from ...base.units import duration, plural
from ..steps import sigma_of
from .matching import Matches, medians, on_one_host
from .model import RankDigest

LEAST_INSTANCES = 8
ROUNDS = 20
BEYOND_DOUBT = 5.0
"""Times its uncertainty an offset must be to be applied on ranks of one host."""
HOST_TOLERANCE_NS = 2_000_000
"""A range of a host back end is stamped by its own thread, which may be late."""
DEVICE_TOLERANCE_NS = 20_000


class Clocks(Struct, frozen=True, eq=False):
    """Clocks of the ranks; corrected time = time + base − first base − offset."""

    offset_ns: I64  # per digest; 0 where nothing is applied
    uncertainty_ns: I64  # per digest; −1 unknown
    fitted: bool
    comparable: bool  # instants of different ranks may be compared
    reason: str  # a sentence: how it was decided
    shift_ns: I64  # to be added to the times of each digest: base − first base − offset

    def at(self, member: int, times: I64) -> I64:
        """Times of one digest on the common clock."""
        result: I64 = times + self.shift_ns[member]
        return result


def fit_clocks(digests: Sequence[RankDigest], matches: Matches) -> Clocks:
    """The clocks of a run; O(calls × rounds)."""
    count = len(digests)
    base = np.array([one.base_ns - digests[0].base_ns for one in digests], np.int64)
    zero = np.zeros(count, np.int64)
    symmetric = np.flatnonzero(matches.symmetric & (matches.count > 1))
    if count < 2 or not len(symmetric):
        return Clocks(zero, zero - 1, False, count < 2 or on_one_host(digests),
                      "No collective is on all ranks, so clocks cannot be checked."
                      if count > 1 else "One rank has one clock.", base)  # fmt: skip
    shared = matches.some(symmetric)
    on_device = shared.least(shared.calls(digests, "on_device")) == 1
    tolerance = DEVICE_TOLERANCE_NS if on_device.all() else HOST_TOLERANCE_NS
    arrival, release = extents(digests, shared, base)
    usable = _usable(digests, shared, np.flatnonzero(on_device))
    apart = _violation(shared, arrival, release)
    same_host = on_one_host(digests)
    chosen = shared.some(usable)
    if len(usable) >= LEAST_INSTANCES and _connected(chosen, count):
        ends = extents(digests, chosen, base)[1].astype(np.float64)
        offset, residual = _fit(chosen, ends)
        spread = np.array([_spread(residual[chosen.entries_of(m)]) for m in range(count)])
        # An offset is off by the spread of its own ends and by that of the first rank's.
        uncertainty = np.ceil(2 * spread + spread[0] + _resolution(digests)).astype(np.int64)
        doubtful = np.abs(offset) <= BEYOND_DOUBT * np.maximum(uncertainty, 1)
        applied = np.where(same_host & doubtful, 0, offset).astype(np.int64)
        moved = applied[shared.member]
        left = _violation(shared, arrival - moved, release - moved)
        widened = np.maximum(uncertainty, left + np.where(applied == 0, np.abs(offset), 0))
        if not applied.any():
            return Clocks(
                applied, widened.astype(np.int64), False, True,
                "The ranks share one host's clock; collectives end together on it.", base,
            )  # fmt: skip
        said = (
            f"Clocks fitted to the ends of {len(usable)} collectives: up to "
            f"{duration(int(np.ptp(applied)))} apart, known to "
            f"{duration(int(widened.max()))}."
        )
        return Clocks(applied, widened.astype(np.int64), True, True, said, base - applied)
    if apart <= tolerance:
        return _as_recorded(digests, shared, release, apart, base, same_host=same_host)
    why = (
        "ranges of a host back end are no measure of clocks"
        if not on_device.any()
        else f"{_how_many(len(usable))} on all ranks, {LEAST_INSTANCES} are needed"
    )
    return Clocks(
        zero, zero - 1, False, False,
        f"Clocks disagree by at least {duration(int(apart))}: a rank ends a collective before "
        f"another begins it. They are not corrected: {why}.", base,
    )  # fmt: skip


def _how_many(usable: int) -> str:
    if not usable:
        return "no short symmetric collective is"
    are = "is" if usable == 1 else "are"
    return f"only {plural(usable, 'short symmetric collective')} {are}"


def _as_recorded(
    digests: Sequence[RankDigest],
    matches: Matches,
    release: I64,
    apart: int,
    base: I64,
    *,
    same_host: bool,
) -> Clocks:
    """Unchanged clocks, with the differences between the ends of collectives."""
    zero = np.zeros(len(digests), np.int64)
    ends, of = release.astype(np.float64), matches.collective
    from_middle = ends - medians(ends, of, len(matches))[of]
    apart_by = medians(np.abs(from_middle), matches.member, len(digests))
    spread = np.array([_spread(from_middle[matches.entries_of(m)]) for m in range(len(digests))])
    # A clock is off the first rank's by as much as both are off the middle of the ends.
    off = np.nan_to_num(apart_by)
    uncertainty = np.maximum(off + off[0], apart) + 2 * spread + spread[0] + _resolution(digests)
    # Ends of one host differ because ranks do, not because its clock does.
    known = np.minimum(uncertainty, 20_000) if same_host else uncertainty
    return Clocks(
        zero,
        np.ceil(known).astype(np.int64),
        False,
        True,
        "The ranks share one host's clock."
        if same_host
        else "Clocks are taken as recorded: no rank ends a collective before another begins it.",
        base,
    )


def extents(digests: Sequence[RankDigest], matches: Matches, shift: I64) -> tuple[I64, I64]:
    """Arrival and release of each entry of the collectives, on the common clock."""
    moved = shift[matches.member]
    return (
        matches.calls(digests, "arrival_ns") + moved,
        matches.calls(digests, "release_ns") + moved,
    )


def _usable(digests: Sequence[RankDigest], matches: Matches, rows: I64) -> I64:
    """Without the longer half of the messages, and without the first of each group."""
    if not len(rows):
        return rows
    size = matches.most(matches.calls(digests, "in_bytes"))[rows]
    first = np.zeros(len(rows), np.bool_)
    first[np.unique(matches.group[rows], return_index=True)[1]] = True
    result: I64 = rows[~first & (size <= np.median(size))]
    return result


def _connected(matches: Matches, count: int) -> bool:
    """True if shared collectives lead from every rank to every other."""
    reached = {0}
    present = {
        frozenset(matches.member[matches.entries(row)].tolist()) for row in range(len(matches))
    }
    while True:
        more = {m for one in present if one & reached for m in one} | reached
        if more == reached:
            return len(reached) == count
        reached = more


def _fit(matches: Matches, ends: F64) -> tuple[I64, F64]:
    """Offsets with the first rank at 0, and the residual of each end.

    Medians stay where groups of ranks agree among themselves, so they begin from a chain of shared
    collectives, the largest first, that leads from the first rank to all others.
    """
    of, member, count = matches.collective, matches.member, len(matches.unmatched)
    offset = _chained(matches, ends)
    for _ in range(ROUNDS):
        instant = medians(ends - offset[member], of, len(matches))
        offset = medians(ends - instant[of], member, count)
    offset = offset - offset[0]
    own = ends - offset[member]
    return np.rint(offset).astype(np.int64), own - medians(own, of, len(matches))[of]


def _chained(matches: Matches, ends: F64) -> F64:
    """A first guess: each rank by the collectives that it shares with ranks already known."""
    of, member, size = matches.collective, matches.member, matches.count
    count = len(matches.unmatched)
    offset = np.full(count, np.nan)
    offset[0] = 0.0
    while np.isnan(offset).any():
        known = ~np.isnan(offset)
        there = known[member].astype(np.int64)
        shared = (matches.most(there) == 1) & (matches.least(there) == 0)
        if not shared.any():
            offset[~known] = 0.0
            break
        here = (shared & (size == size[shared].max()))[of]
        instant = medians(np.where(here, ends - offset[member], np.nan), of, len(matches))
        more = medians(np.where(here, ends - instant[of], np.nan), member, count)
        offset[~known] = more[~known]
    return offset


def _spread(values: F64) -> float:
    known = values[~np.isnan(values)]
    return sigma_of(known) if len(known) else 0.0


def _violation(matches: Matches, arrival: I64, release: I64) -> int:
    """Most time by which a rank ends a collective before another begins it; ≥ 0."""
    over = matches.most(arrival) - matches.least(release)
    return max(int(over.max(initial=0)), 0)


def _resolution(digests: Sequence[RankDigest]) -> int:
    return max(one.resolution_ns for one in digests)
