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
from dataclasses import dataclass

import numpy as np

from ...base.arrays import F64, I64
from ...base.units import duration
from .matching import Matches, known_median
from .model import RankDigest

LEAST_INSTANCES = 8
ROUNDS = 20
MAD_TO_SIGMA = 1.4826
BEYOND_DOUBT = 5.0
"""Times its uncertainty an offset must be to be applied on ranks of one host."""
HOST_TOLERANCE_NS = 2_000_000
"""A range of a host back end is stamped by its own thread, which may be late."""
DEVICE_TOLERANCE_NS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Clocks:
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
    """The clocks of a run; O(instances × ranks × rounds)."""
    count = len(digests)
    base = np.array([one.base_ns - digests[0].base_ns for one in digests], np.int64)
    zero = np.zeros(count, np.int64)
    symmetric = np.flatnonzero(matches.symmetric & ((matches.row >= 0).sum(axis=1) > 1))
    if count < 2 or not len(symmetric):
        return Clocks(zero, zero - 1, False, count < 2 or _one_host(digests),
                      "No collective is on all ranks, so clocks cannot be checked."
                      if count > 1 else "One rank has one clock.", base)  # fmt: skip
    on_device = np.array(
        [
            all(digests[m].calls.on_device[row] for m, row in _present(matches, i))
            for i in symmetric.tolist()
        ]
    )
    tolerance = DEVICE_TOLERANCE_NS if on_device.all() else HOST_TOLERANCE_NS
    arrival, release = extents(digests, matches.part(symmetric), base)  # of the symmetric ones
    usable = _usable(digests, matches, symmetric[on_device])
    apart = _violation(arrival, release)
    same_host = _one_host(digests)
    if len(usable) >= LEAST_INSTANCES and _connected(matches, usable, count):
        offset, residual = _fit(release[np.searchsorted(symmetric, usable)])
        spread = np.array([_spread(residual[:, m]) for m in range(count)])
        # An offset is off by the spread of its own ends and by that of the first rank's.
        uncertainty = np.ceil(2 * spread + spread[0] + _resolution(digests)).astype(np.int64)
        doubtful = np.abs(offset) <= BEYOND_DOUBT * np.maximum(uncertainty, 1)
        applied = np.where(same_host & doubtful, 0, offset).astype(np.int64)
        left = _violation(arrival - applied, release - applied)
        widened = np.maximum(uncertainty, left + np.where(applied == 0, np.abs(offset), 0))
        if not applied.any():
            return Clocks(
                applied, widened.astype(np.int64), False, True,
                "The ranks share one host's clock; collectives end together on it.", base,
            )  # fmt: skip
        said = (
            f"Clocks fitted to the ends of {len(usable)} collectives: up to "
            f"{duration(int(np.abs(applied).max()))} apart, known to "
            f"{duration(int(widened.max()))}."
        )
        return Clocks(applied, widened.astype(np.int64), True, True, said, base - applied)
    if apart <= tolerance:
        return _as_recorded(digests, release, apart, base, same_host=same_host)
    why = (
        "ranges of a host back end are no measure of clocks"
        if not on_device.any()
        else f"only {len(usable)} short symmetric collectives are on all ranks, "
        f"{LEAST_INSTANCES} are needed"
    )
    return Clocks(
        zero, zero - 1, False, False,
        f"Clocks disagree by at least {duration(int(apart))}: a rank ends a collective before "
        f"another begins it. They are not corrected: {why}.", base,
    )  # fmt: skip


def _as_recorded(
    digests: Sequence[RankDigest],
    ends: F64,
    apart: int,
    base: I64,
    *,
    same_host: bool,
) -> Clocks:
    """Clocks that are taken as they are, with what the ends of collectives say of them."""
    zero = np.zeros(len(digests), np.int64)
    middle = known_median(ends, 1)
    apart_by = known_median(np.abs(ends - middle), 0)[0]
    spread = np.array([_spread((ends - middle)[:, m]) for m in range(len(digests))])
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


def extents(digests: Sequence[RankDigest], matches: Matches, shift: I64) -> tuple[F64, F64]:
    """Arrival and release of each collective on each rank, shape (instances, digests); NaN absent.

    Doubles hold these times exactly: they are differences to one instant of the same run.
    """
    shape = matches.row.shape
    arrival, release = np.full(shape, np.nan), np.full(shape, np.nan)
    for m, digest in enumerate(digests):
        here = np.flatnonzero(matches.row[:, m] >= 0)
        rows = matches.row[here, m]
        arrival[here, m] = digest.calls.arrival_ns[rows] + shift[m]
        release[here, m] = digest.calls.release_ns[rows] + shift[m]
    return arrival, release


def _present(matches: Matches, instance: int) -> list[tuple[int, int]]:
    row = matches.row[instance]
    return [(int(m), int(row[m])) for m in np.flatnonzero(row >= 0)]


def _usable(digests: Sequence[RankDigest], matches: Matches, symmetric: I64) -> I64:
    """Without the longer half of the messages, and without the first of each group."""
    if not len(symmetric):
        return symmetric
    size = np.array(
        [
            max(int(digests[m].calls.in_bytes[row]) for m, row in _present(matches, i))
            for i in symmetric.tolist()
        ]
    )
    first = np.zeros(len(symmetric), np.bool_)
    for group in np.unique(matches.group[symmetric]).tolist():
        first[np.argmax(matches.group[symmetric] == group)] = True
    result: I64 = symmetric[~first & (size <= np.median(size))]
    return result


def _connected(matches: Matches, instances: I64, count: int) -> bool:
    """Whether shared collectives lead from every rank to every other."""
    reached = {0}
    present = [frozenset(np.flatnonzero(matches.row[i] >= 0).tolist()) for i in instances.tolist()]
    while True:
        more = {m for one in set(present) if one & reached for m in one} | reached
        if more == reached:
            return len(reached) == count
        reached = more


def _fit(ends: F64) -> tuple[I64, F64]:
    """Offsets with the first rank at 0, and what is left of each end.

    Medians stay where groups of ranks agree among themselves, so they begin from a chain of shared
    collectives, the largest first, that leads from the first rank to all others.
    """
    offset = _chained(ends)
    for _ in range(ROUNDS):
        instant = known_median(ends - offset, 1)
        offset = known_median(ends - instant, 0)[0]
    offset = offset - offset[0]
    instant = known_median(ends - offset, 1)
    return np.rint(offset).astype(np.int64), ends - offset - instant


def _chained(ends: F64) -> F64:
    """A first guess: each rank by the collectives that it shares with ranks already known."""
    offset = np.full(ends.shape[1], np.nan)
    offset[0] = 0.0
    present = ~np.isnan(ends)
    while np.isnan(offset).any():
        known = ~np.isnan(offset)
        shared = (present[:, known].any(axis=1)) & (present[:, ~known].any(axis=1))
        if not shared.any():
            offset[~known] = 0.0
            break
        size = present.sum(axis=1)
        rows = shared & (size == size[shared].max())
        instant = known_median((ends - offset)[rows], 1)
        more = known_median(ends[rows] - instant, 0)[0]
        offset[~known] = more[~known]
    return offset


def _spread(values: F64) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0
    return MAD_TO_SIGMA * float(np.median(np.abs(known - np.median(known))))


def _violation(arrival: F64, release: F64) -> int:
    """How much earlier than another's begin a rank ends the same collective, at most; ≥ 0."""
    with np.errstate(invalid="ignore"):
        over = np.nanmax(arrival, axis=1) - np.nanmin(release, axis=1)
    return max(int(np.nanmax(over)), 0) if len(over) else 0


def _one_host(digests: Sequence[RankDigest]) -> bool:
    hosts = {one.host_name for one in digests}
    return len(hosts) == 1 and "" not in hosts


def _resolution(digests: Sequence[RankDigest]) -> int:
    return max(one.resolution_ns for one in digests)
