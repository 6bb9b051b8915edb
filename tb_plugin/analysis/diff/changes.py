"""What changed, row by row: calls, times, by more calls or by slower ones, and is it real?

A change of time has two causes that sum to it: other calls, each as long as before, and the calls
of now, each longer or shorter: ΔT = Δn · mean of base + n of other · Δ mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import F64
from .matching import Pairing, Relation, paired
from .noise import FEWEST_RECORDINGS, LEAST_EFFECT_NS, LEAST_EFFECT_RATIO, holm, p_values
from .sides import LIGHT, Items, Side, kernel_items, operator_items

Status = Literal[
    "added", "removed", "faster", "slower", "more", "less", "more calls", "fewer calls", "differs",
    "same", "small", "unsure",
]  # fmt: skip
MOST_TESTED = 2_000
LEAST_OWN_RATIO = 0.015  # of the row itself
_EQUAL_WORK = 0.01  # of FLOPs and of bytes
DRIFT_RATIO = 0.02
DISTURBED_RATIO = 0.1
MOSTLY_APART = 0.5  # of the work: no change of the code makes most operators different
FAR_LARGER = 2.0  # times what other speeds of the hosts explain: such a change is the code's
MOST_OF_A_NAME = 0.2  # of all time, where operators are asked about the machine
FEWEST_SIGNATURES = 5


class Figures(Struct, frozen=True):
    """One side of a row, of one metric, per step."""

    calls: float
    ns: float

    @property
    def mean_ns(self) -> float:
        """Per call; 0 where there is none."""
        return self.ns / self.calls if self.calls else 0.0


class RowLight(NamedTuple):
    """Light of one side of a row per step; None where nothing of it has light."""

    ratio: float
    waste_ns: float
    bound: str
    flops: float
    bytes: float


class ItemChange(Struct, frozen=True):
    """One pairing with its figures per step."""

    name: str  # of the base; of the other where it was added
    other_name: str  # where it differs, else ""
    detail: str
    relation: Relation | None
    base: Figures
    other: Figures
    sums: dict[str, tuple[float, float]]  # every metric of both sides, per step
    status: Status
    p: float | None
    are_calls_exact: bool  # the number of calls repeats in every step, on both sides
    drift: float = 1.0  # what the clocks alone explain: other ÷ base
    examples: tuple[str, str] = ("", "")  # where a row is a role: a kernel of each side

    @property
    def change_ns(self) -> float:
        """Per step."""
        return self.other.ns - self.base.ns

    @property
    def by_calls_ns(self) -> float:
        """Part of the change by the number of calls."""
        if not self.base.calls or not self.other.calls:
            return self.change_ns
        return (self.other.calls - self.base.calls) * self.base.mean_ns

    @property
    def by_speed_ns(self) -> float:
        """Part of the change by the length of calls."""
        return self.change_ns - self.by_calls_ns

    @property
    def light(self) -> tuple[RowLight | None, RowLight | None]:
        """Both sides against the data sheets of their devices."""
        base, other = ([self.sums.get(name, (0.0, 0.0))[at] for name in LIGHT] for at in (0, 1))
        return _row_light(*base), _row_light(*other)

    @property
    def work(self) -> str | None:
        """Work of the other beside the base's, by least FLOPs and bytes; None: not known of both.

        Less than 1 % apart is equal.
        """
        base, other = self.light
        if base is None or other is None:
            return None
        pairs = ((base.flops, other.flops), (base.bytes, other.bytes))
        signs = {
            0 if abs(b - a) <= _EQUAL_WORK * max(a, b) else 1 if b > a else -1 for a, b in pairs
        } - {0}
        return {(): "equal", (1,): "more", (-1,): "less"}.get(tuple(signs), "other")

    @property
    def adjusted_ns(self) -> float:
        """The change without the effect of the clocks."""
        return self.other.ns / self.drift - self.base.ns


def _row_light(
    light_ns: float, known_ns: float, compute_ns: float, flops: float, moved: float
) -> RowLight | None:
    if not known_ns:
        return None
    bound = "compute" if compute_ns * 2 > light_ns else "memory"
    return RowLight(light_ns / known_ns, known_ns - light_ns, bound, flops, moved)


def changes(
    base: Sequence[Items],
    other: Sequence[Items],
    metric: str,
    step_ns: float,
    drift: float = 1.0,
) -> tuple[ItemChange, ...]:
    """One row for each pairing, the largest change first.

    ``base``, ``other``: the judged recordings of each side; figures are their mean. Only from three
    a side on a change of time is the code's; else the two recordings differ. ``metric``: a column
    of both; ``step_ns``: length of the base step, for what is too small to claim; of bytes, all of
    the base's are taken instead. ``drift``: ratio of the clocks.
    """
    is_bytes = metric.endswith("bytes")
    first, second = base[0], other[0]
    whole = float(first.sums[metric].sum()) / first.steps if is_bytes else step_ns
    pairings = paired(first, second)
    sides = [
        _keyed(base, [one.base for one in pairings]),
        _keyed(other, [one.other for one in pairings]),
    ]
    totals = [
        {name: _mean_of(side, name) for name in side[0][0].sums if name in first.sums}
        for side in sides
    ]
    change = totals[1][metric] - totals[0][metric]
    order = np.argsort(-np.abs(change), kind="stable")
    tried = order[:MOST_TESTED].tolist()
    p, exact, differs = _tested(sides, tried, metric)
    least = LEAST_EFFECT_RATIO * whole or LEAST_EFFECT_NS
    can_be = np.maximum(totals[0][metric], totals[1][metric])[tried] >= least
    positive = holm(np.where(can_be, p, np.nan))
    are_repeated = min(len(base), len(other)) >= FEWEST_RECORDINGS
    found: list[ItemChange] = []
    for rank, at in enumerate(order.tolist()):
        pairing = pairings[at]
        a, b = (Figures(float(one["calls"][at]), float(one[metric][at])) for one in totals)
        is_tested = rank < len(tried)
        row = ItemChange(
            name=_joined(first.names, pairing.base) or _joined(second.names, pairing.other),
            other_name=_joined(second.names, pairing.other) if pairing.relation else "",
            detail=(first.details[pairing.base[0]] if pairing.base else "")
            or (second.details[pairing.other[0]] if pairing.other else ""),
            relation=pairing.relation,
            base=a,
            other=b,
            sums={
                name: (float(totals[0][name][at]), float(totals[1][name][at]))
                for name in totals[0]
                if name in totals[1]
            },
            status="small",
            p=None if not is_tested or np.isnan(p[rank]) else float(p[rank]),
            are_calls_exact=bool(is_tested and exact[rank]),
            drift=drift,
            examples=(_example(first, pairing.base), _example(second, pairing.other)),
        )
        status = _status(
            row,
            pairing,
            least,
            is_real=None if row.p is None else bool(positive[rank]),
            has_other_calls=bool(is_tested and differs[rank]),
            are_repeated=are_repeated,
        )
        if is_bytes and status in _OF_BYTES:
            status = _OF_BYTES[status]
        found.append(replace(row, status=status))
    return tuple(found)


_OF_BYTES: Mapping[str, Status] = {"slower": "more", "faster": "less"}


def _example(items: Items, keys: Sequence[int]) -> str:
    return items.examples[keys[0]] if items.examples and keys else ""


def _joined(names: Sequence[str], keys: Sequence[int]) -> str:
    return " + ".join(names[key] for key in keys)


Keyed: TypeAlias = Sequence[tuple[Items, Sequence[Sequence[int]]]]
"""Each recording of a side with its keys of every pairing."""


def _keyed(side: Sequence[Items], keys: Sequence[Sequence[int]]) -> Keyed:
    """The recordings of a side; in repeats, keys of the same names are meant."""
    first = side[0]

    def of(repeat: Items) -> Sequence[Sequence[int]]:
        pairs = zip(first.names, first.details, strict=True)
        place = [repeat.index.get(pair, -1) for pair in pairs]
        return [[place[key] for key in one if place[key] >= 0] for one in keys]

    return [(first, keys), *((repeat, of(repeat)) for repeat in side[1:])]


def _mean_of(side: Keyed, name: str) -> F64:
    """A column per step by pairing, the mean of the recordings."""
    each = [
        np.array([sum(items.sums[name][key].item() for key in one) for one in keys]) / items.steps
        for items, keys in side
    ]
    return np.asarray(np.mean(each, axis=0), np.float64)


def _tested(
    sides: Sequence[Keyed], tried: Sequence[int], metric: str
) -> tuple[F64, list[bool], list[bool]]:
    """For each pairing: p that both are equal; do its calls repeat exactly; do they differ?"""
    times, calls = (
        [
            [_series(items, [keys[at] for at in tried], name) for items, keys in side]
            for side in sides
        ]
        for name in (metric, "calls")
    )
    every = [np.concatenate(side, axis=1) for side in calls]
    exact = (np.ptp(every[0], axis=1) == 0) & (np.ptp(every[1], axis=1) == 0)
    differs = exact & (every[0][:, 0] != every[1][:, 0])
    return p_values(*times), exact.tolist(), differs.tolist()


def _series(items: Items, pairings: Sequence[Sequence[int]], column: str) -> F64:
    flat = sorted({key for one in pairings for key in one})
    found = np.zeros((len(pairings), items.steps))
    if not flat:
        return found
    rows = items.series(column, flat)
    place = {key: at for at, key in enumerate(flat)}
    for at, one in enumerate(pairings):
        for key in one:
            found[at] += rows[place[key]]
    return found


def _status(  # noqa: PLR0911  # one line a verdict
    row: ItemChange,
    pairing: Pairing,
    least: float,
    *,
    is_real: bool | None,
    has_other_calls: bool,
    are_repeated: bool,
) -> Status:
    """The verdict on one row; ``is_real``: None where no test applies."""
    # Modules of replayed graphs have device time, and no calls.
    base, other = (bool(one.calls or one.ns) for one in (row.base, row.other))
    if not pairing.base or (other and not base):
        return "added"
    if not pairing.other or (base and not other):
        return "removed"
    change = row.change_ns
    if not change and row.base.calls == row.other.calls:
        return "same"
    by_calls = abs(row.by_calls_ns) >= abs(row.by_speed_ns)
    if by_calls and (has_other_calls or (is_real and are_repeated)):
        return "more calls" if row.other.calls > row.base.calls else "fewer calls"
    if abs(change) < least:
        return "small"
    # What remains without the difference of the clocks has to point the same way.
    is_sure = is_real and abs(change) >= LEAST_OWN_RATIO * row.base.ns
    if not is_sure or row.adjusted_ns * change <= 0:
        return "unsure"
    if not are_repeated:
        return "differs"
    return "slower" if change > 0 else "faster"


# --- clocks ---------------------------------------------------------------------------------------


class Drift(Struct, frozen=True):
    """Time of all equal work, other ÷ base, and the number of its kinds.

    ``apart`` is the share of the host's work whose ratio is more than 10 % from 1, either way.
    Per step, ``work_ns`` is the equal work of the base, ``change_ns`` how much longer it took in
    the other, and ``moved_ns`` the same with each difference counted as positive.
    """

    ratio: float
    signatures: int
    of_device: bool = True  # False: of the operators on the host
    apart: float = 0.0
    work_ns: float = 0.0
    change_ns: float = 0.0
    moved_ns: float = 0.0

    @property
    def is_other_clock(self) -> bool:
        """True if the devices, or hosts, ran at speeds that differ by more than 2 %."""
        return abs(self.ratio - 1) > DRIFT_RATIO

    @property
    def is_disturbed(self) -> bool:
        """True if other work shared a host: too far apart to be made up for by a factor.

        A host that is interrupted makes some calls much longer and leaves others as they were, so
        that most of the work differs, but not by one factor.
        """
        return not self.of_device and (
            abs(self.ratio - 1) > DISTURBED_RATIO or self.apart > MOSTLY_APART
        )

    def explains(self, change_ns: float, step_ns: float) -> bool:
        """True if a load of the host like that of the equal work may have made such a change.

        What the equal work changed is not the code's doing, and the rest of a step, whose length
        is ``step_ns``, may have been moved by the same share.
        """
        return abs(change_ns - self.change_ns) <= self._rest_ns(step_ns)

    def is_small_beside(self, change_ns: float, step_ns: float) -> bool:
        """True if a change is far larger than all that other speeds of the hosts can have made."""
        far = FAR_LARGER * self._rest_ns(step_ns)
        return abs(change_ns) > self.most_ns(step_ns) and abs(change_ns - self.change_ns) > far

    def most_ns(self, step_ns: float) -> float:
        """The most of a change that such a load of the host explains."""
        return abs(self.change_ns) + self._rest_ns(step_ns)

    def _rest_ns(self, step_ns: float) -> float:
        rest = max(step_ns - self.work_ns, 0.0)
        return rest * self.moved_ns / max(self.work_ns, 1.0)


def drift(base: Side, other: Side) -> Drift | None:
    """The common factor of what should take equally long; None: there is too little of it.

    With a device its kernels of equal name, grid and block; without one the operators of equal name
    and shapes. The median of the ratios of mean durations, weighted by the time of the base. Where
    the ratios of the middle half do not all lie on the same side of 1, it is not common to all:
    then it is 1.
    """
    has_device = all(side.selection.device is not None for side in (base, other))
    metric = "device_self_ns" if has_device else "self_ns"
    a, b = (
        kernel_items(side, "launch") if has_device else operator_items(side, "shape")
        for side in (base, other)
    )
    pairs = [(at, b.index[pair]) for pair, at in a.index.items() if pair in b.index]
    kind = "is_kernel" if has_device else "is_op"
    pairs = [(x, y) for x, y in pairs if a.sums[kind][x] and a.sums[metric][x]]
    if len(pairs) < FEWEST_SIGNATURES:
        return None
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    weight = a.sums[metric][left].astype(np.float64)
    ratio = (b.sums[metric][right] / b.sums["calls"][right]) / (weight / a.sums["calls"][left])
    low, middle, high = (_weighted_quantile(ratio, weight, share) for share in (0.25, 0.5, 0.75))
    plain = np.percentile(ratio, [25, 50, 75])
    agrees = (low > 1 and plain[0] > 1) or (high < 1 and plain[2] < 1)
    names = [a.names[key] for key in left.tolist()]
    apart = 0.0 if has_device else _share_apart(names, ratio, weight)
    steps = [max(len(side.selection.steps), 1) for side in (base, other)]
    change = b.sums[metric][right] / steps[1] - weight / steps[0]
    return Drift(
        middle if agrees else 1.0,
        len(pairs),
        of_device=has_device,
        apart=apart,
        work_ns=float(weight.sum() / steps[0]),
        change_ns=float(change.sum()),
        moved_ns=float(np.abs(change).sum()),
    )


def _share_apart(names: Sequence[str], ratio: F64, weight: F64) -> float:
    """Share of the work whose ratio is more than 10 % from 1.

    An operator that the code made slower is one name, which counts for a fifth at most: so it takes
    several of them.
    """
    code = {name: at for at, name in enumerate(dict.fromkeys(names))}
    of_name = np.array([code[name] for name in names])
    by_name = np.bincount(of_name, weight)
    counted = np.minimum(by_name, MOST_OF_A_NAME * by_name.sum())
    part = weight * (counted / np.maximum(by_name, 1))[of_name]
    is_apart = np.maximum(ratio, 1 / np.maximum(ratio, 1e-9)) > 1 + DISTURBED_RATIO
    return float(part[is_apart].sum() / max(part.sum(), 1e-9))


def _weighted_quantile(values: F64, weights: F64, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    at = int(np.searchsorted(reached, share * reached[-1]))
    return float(values[order[min(at, len(values) - 1)]])
