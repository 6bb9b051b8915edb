"""Light, waste and utilization of the chosen steps, by op, kernel, module or kind.

* light of a call = max(least FLOPs ÷ peak, bytes ÷ bandwidth); of a row Σ
* waste = measured − light; share = light ÷ measured, over what has a figure
* a kind whose Σ measured is below its Σ light has no figure: "faster than the model allows"
* of the step: light of a piece is the share of its kind · the time that the kernel owns. So
  light + waste + no figure = compute time, in whole nanoseconds; waste takes the rounding
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I8, I32, I64, B, Mask, distinct_values, of_names, ranked
from ...base.group_sums import first_largest, group_sums
from ..facts import Facts
from ..modules.model import Phase
from ..serving.model import KeyReads, PhaseUse
from .attribution import light_of
from .model import NONE, REASONS, Reason, SpeedColumns

_LEAST_FIGURE = 0.8  # share of the compute time with a figure, below which MFU is a lower bound
_LEAST_KNOWN = 0.5  # … and below which MFU and MBU of a phase say nothing
_ATTENTION = "attention"


class SpeedTotals(Struct, frozen=True):
    """The compute time of the chosen steps on the device; the three sum to it exactly."""

    light_ns: int
    waste_ns: int
    no_figure_ns: int


class Utilization(Struct, frozen=True):
    """Model FLOPs, without what ran again, and FLOPs of all that ran; ratios None where unknown."""

    model_flops: float
    flops: float
    mfu_ratio: float | None
    hfu_ratio: float | None
    at_least: bool  # too little of the time has a figure


def lit_device(facts: Facts, device: int | None = None) -> int | None:
    """The device, or the only one that was used, if it has a data sheet and shapes are recorded."""
    used = [row for row, one in enumerate(facts.devices) if one.used]
    row = used[0] if device is None and len(used) == 1 else device
    if row is None or not facts.devices[row].has_peak or "shapes" in facts.unavailable:
        return None
    return row


def has_light(facts: Facts, device: int | None = None) -> bool:
    """True if the device has a data sheet, or the CPU was measured, and shapes are recorded."""
    on_host = facts.recording.cpu_peak and "shapes" not in facts.unavailable
    return on_host or lit_device(facts, device) is not None


def phase_use(
    columns: SpeedColumns, steps: Sequence[int], device: int | None, time_ns: int
) -> PhaseUse:
    """MFU and MBU of the iterations of one phase.

    Args:
        columns: of ``views.origins.speed_of``, which knows replayed graphs and lengths of requests.
        steps: indexes of the steps that are these iterations (``IterationFacts.step``).
        device: row of the devices; None: no device was recorded.
        time_ns: Σ of their periods; of their spans where a period is not known.
    """
    chosen = SpeedSelection(columns, tuple(steps), device)
    use = chosen.utilization(time_ns)
    if chosen.figure_ratio < _LEAST_KNOWN:
        return PhaseUse(None, None, chosen.figure_ratio, at_least=True, reads=chosen.key_reads())
    mbu = chosen.mbu_ratio(time_ns)
    return PhaseUse(
        use.mfu_ratio,
        mbu,
        chosen.figure_ratio,
        use.at_least,
        None if mbu is None else chosen.weights_ratio,
        chosen.key_reads(),
    )


class SpeedSelection(Struct, frozen=True, dict=True):
    """The figures of some steps (by index) on one device; None: on the host."""

    columns: SpeedColumns
    steps: tuple[int, ...]
    device: int | None

    # --- what is chosen ---------------------------------------------------------------------------

    @cached_property
    def calls(self) -> NDArray[np.intp]:
        """The calls of the chosen steps."""
        calls = self.columns.calls
        device = NONE if self.device is None else self.device
        return np.flatnonzero(np.isin(calls.step, self.steps) & (calls.device == device))

    @cached_property
    def pieces(self) -> NDArray[np.intp]:
        """The pieces in the windows of the chosen steps."""
        pieces, columns = self.columns.pieces, self.columns
        if self.device is None or not len(pieces):
            return np.empty(0, np.intp)
        device = columns.calls.device[columns.work.call[pieces.work]]
        return np.flatnonzero(np.isin(pieces.step, self.steps) & (device == self.device))

    @cached_property
    def reason(self) -> I8:
        """Why each kind has no light in these steps."""
        calls, kinds = self.columns.calls, self.columns.kinds
        seen = np.zeros(len(calls), np.bool_)
        seen[self.calls] = True
        seen[self.columns.work.call[self.columns.pieces.work[self.pieces]]] = True
        kind = calls.kind[seen]
        sums = group_sums(kind, calls.measured_ns[seen], len(kinds))
        light = light_of(kinds) * sums.count
        reason: I8 = kinds.reason.copy()
        reason[(reason == Reason.KNOWN) & (sums.total < light)] = Reason.FASTER
        return reason

    @cached_property
    def share(self) -> F64:
        """Light ÷ measured of each kind; NaN where it has none."""
        calls, kinds = self.columns.calls, self.columns.kinds
        kind = calls.kind[self.calls]
        sums = group_sums(kind, calls.measured_ns[self.calls], len(kinds))
        light = light_of(kinds) * sums.count
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(sums.total > 0, light / sums.total, 0.0)
        share[self.reason != Reason.KNOWN] = np.nan
        return np.minimum(share, 1.0)

    # --- the step ---------------------------------------------------------------------------------

    @cached_property
    def _owned(self) -> tuple[I32, I64]:
        """Kinds and the time that each owns; on a measured CPU each op has its own."""
        columns, pieces = self.columns, self.columns.pieces
        if columns.host_peak is not None:
            return columns.calls.kind[self.calls], columns.calls.measured_ns[self.calls]
        return (
            columns.calls.kind[columns.work.call[pieces.work[self.pieces]]],
            pieces.ns[self.pieces],
        )

    @cached_property
    def totals(self) -> SpeedTotals:
        """The compute time, divided."""
        kind, ns = self._owned
        known = self.reason[kind] == Reason.KNOWN
        light = round(float((self.share[kind[known]] * ns[known]).sum()))
        modelled = int(ns[known].sum())
        light = min(light, modelled)
        return SpeedTotals(light, modelled - light, int(ns[~known].sum()))

    @cached_property
    def reasons(self) -> tuple[tuple[Reason, int], ...]:
        """The time of the steps without a figure by reason, the longest first."""
        kind, ns = self._owned
        sums = group_sums(self.reason[kind].astype(np.int32), ns, len(Reason))
        found = [(one, int(sums.total[one])) for one in REASONS if sums.total[one]]
        return tuple(sorted(found, key=lambda pair: -pair[1]))

    def utilization(self, length_ns: int) -> Utilization:
        """Model FLOPs ÷ (length · peak), and the same of all that ran."""
        flops = np.nan_to_num(self.columns.kinds.flops[self.columns.calls.kind[self.calls]])
        of_model, ideal = self.model_flops(self.calls), self.flop_ns(self.calls)
        mfu = hfu = None
        if length_ns and (ideal > 0).any():
            mfu, hfu = (float((ideal * one).sum()) / length_ns for one in (of_model, flops))
            mfu, hfu = (one if one <= 1 else None for one in (mfu, hfu))
        return Utilization(
            float(of_model.sum()), float(flops.sum()), mfu, hfu, self.figure_ratio < _LEAST_FIGURE
        )

    def model_flops(self, call: NDArray[np.integer]) -> F64:
        """FLOPs of some calls without recomputation; 0 where unknown, as is all without places."""
        calls, kinds, places = self.columns.calls, self.columns.kinds, self.columns.places
        if places is None:
            return np.zeros(len(call))
        # Five products run in attention's backward pass, and four are of the model.
        again = np.where(self._is_attention & self._is_backward, 0.8, 1.0)
        flops: F64 = np.nan_to_num(kinds.flops * again)[calls.kind[call]]
        return np.where(places.phase[calls.place[call]] == Phase.RECOMPUTE, 0.0, flops)

    def flop_ns(self, call: NDArray[np.integer]) -> F64:
        """The least time of one FLOP of some calls; 0 where unknown."""
        kinds = self.columns.kinds
        with np.errstate(divide="ignore", invalid="ignore"):
            ideal = np.where(kinds.least > 0, kinds.compute_ns / kinds.least, 0.0)
        found: F64 = np.nan_to_num(ideal)[self.columns.calls.kind[call]]
        return found

    @cached_property
    def figure_ratio(self) -> float:
        """The part of the compute time with a figure."""
        totals = self.totals
        known = totals.light_ns + totals.waste_ns
        compute = known + totals.no_figure_ns
        return known / compute if compute else 0.0

    def mbu_ratio(self, length_ns: int) -> float | None:
        """Bytes of weights and of cached keys and values ÷ (length · bandwidth)."""
        if self._bandwidth is None or not length_ns:
            return None
        weights = self.columns.kinds.weights[self.columns.calls.kind[self.calls]]
        found = float(np.nansum(weights)) / (self._bandwidth * length_ns)
        return found if 0 < found <= 1 else None

    @cached_property
    def _bandwidth(self) -> float | None:
        """Bytes per ns; None without a data sheet."""
        peak = self.columns.peak(self.device)
        return None if peak is None else peak.bandwidth_gb_s

    def _kinds_named(self, holds: Callable[[str], bool]) -> Mask:
        kinds, strings = self.columns.kinds, self.columns.strings
        found: Mask = of_names(strings, np.maximum(kinds.op, 0), holds, np.bool_)
        return found & (kinds.op >= 0)

    @cached_property
    def _is_attention(self) -> Mask:
        """Mask of the kinds that are attention, which read keys and values."""
        return self._kinds_named(lambda name: _ATTENTION in name)

    @cached_property
    def _is_backward(self) -> Mask:
        return self._kinds_named(lambda name: name.endswith("backward"))

    @property
    def weights_ratio(self) -> float | None:
        """Weights in the bytes of ``mbu_ratio``; None where keys and values are not known."""
        kind = self.columns.calls.kind[self.calls]
        keys = kind[self._is_attention[kind]]
        read = self.columns.kinds.weights
        if not len(keys) or np.isnan(read[keys]).any():
            return None
        whole = float(np.nansum(read[kind]))
        return 1 - float(read[keys].sum()) / whole if whole else None

    def key_reads(self) -> KeyReads | None:
        """The longest kernel of attention, if the keys and values that it reads are known."""
        calls, kinds = self.columns.calls, self.columns.kinds
        mine = self.calls[self._is_attention[calls.kind[self.calls]]]
        kernel = kinds.kernel[calls.kind[mine]]
        known = mine[kernel >= 0]
        if not len(known) or self._bandwidth is None:
            return None
        names, row = np.unique(kernel[kernel >= 0], return_inverse=True)
        sums = group_sums(row.astype(np.int32), calls.measured_ns[known], len(names))
        top = int(sums.total.argmax())
        read = float(kinds.weights[calls.kind[known[row == top]]].sum())
        spent = int(sums.total[top])
        if np.isnan(read) or not read or not spent:
            return None
        return KeyReads(
            self.columns.strings[int(names[top])], spent, read / spent / self._bandwidth
        )

    # --- rows -------------------------------------------------------------------------------------

    def by(self, group: str) -> SpeedGroups:
        """The rows of a grouping: "op", "kernel", "module", "kind"; "work": each kernel alone."""
        columns, calls = self.columns, self.columns.calls
        if group in ("kernel", "work") and not columns.on_host:
            chosen = np.zeros(len(calls), np.bool_)
            chosen[self.calls] = True
            work = np.flatnonzero(chosen[columns.work.call])
            launched, dur = columns.work.call[work], columns.work.dur_ns[work]
            rows = work if group == "work" else columns.work.name[work]
            return _grouped(self, group, rows, launched, dur)
        call: NDArray[np.integer] = self.calls
        kind = calls.kind[call]
        key: NDArray[np.integer] = kind if group == "kind" else columns.kinds.op[kind]
        if group == "module":
            if (places := columns.places) is None:
                raise TypeError("the calls have no modules")
            at, key = _with_parents(places.parent, places.module[calls.place[call]])
            call = call[at]
        measured = calls.measured_ns[call]
        return _grouped(self, group, key, call, measured)


class SpeedGroups(Struct, frozen=True, dict=True):
    """One entry per row; sums over the calls of the row, NaN where nothing is known."""

    selection: SpeedSelection
    group: str
    key: I64
    kind: I32  # of its longest part
    kinds: I64  # how many kinds are in it
    calls: I64
    measured_ns: I64
    flops: F64
    least_flops: F64
    read_bytes: F64
    written_bytes: F64
    light_ns: F64
    known_ns: I64  # measured of what has light
    counted_ns: I64  # measured of what has FLOPs and bytes
    known_flops: F64  # least FLOPs …
    known_bytes: F64  # … and bytes of what has light
    unit: I32  # code of the fastest unit that computed it, −1
    compute_bound_ns: F64  # light of what is bound by FLOPs
    model_ns: F64  # least time of FLOPs without what was computed again; 0: none are known
    reason: I8  # of most of the time without light; KNOWN: all has light

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def waste_ns(self) -> F64:
        """Measured time − light, of work with a model."""
        return self.known_ns - self.light_ns

    @cached_property
    def light_ratio(self) -> F64:
        """Light ÷ measured time, of work with a model."""
        return _divided(self.light_ns, self.known_ns)

    @cached_property
    def figure_ratio(self) -> F64:
        """The part of the time that has light."""
        return _divided(self.known_ns.astype(np.float64), self.measured_ns)

    @cached_property
    def bound(self) -> tuple[str | None, ...]:
        """The larger need of time of each row; None where it has no light."""
        pairs = zip(self.compute_bound_ns.tolist(), self.light_ns.tolist(), strict=True)
        return tuple(
            None if np.isnan(light) else "compute" if compute * 2 > light else "memory"
            for compute, light in pairs
        )

    def order(self, column: str, *, ascending: bool) -> NDArray[np.intp]:
        """Rows by a column; those without a value last."""
        value = np.asarray(getattr(self, column), np.float64)
        value = np.where(np.isnan(value), np.inf, value if ascending else -value)
        return np.lexsort((-self.measured_ns, value))


def _divided(above: F64, below: NDArray[np.integer]) -> F64:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)


def _with_parents(
    parent: I32, module: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.integer]]:
    """Each call once for its module and once for each module around it: (call, module)."""
    at, own = np.flatnonzero(module >= 0), module[module >= 0]
    places, owners = [at], [own]
    while len(own):
        own = parent[own]
        at, own = at[own >= 0], own[own >= 0]
        places.append(at)
        owners.append(own)
    return np.concatenate(places), np.concatenate(owners)


def _grouped(
    chosen: SpeedSelection, group: str, key: NDArray[np.integer], call: NDArray[np.integer], ns: I64
) -> SpeedGroups:
    """Sums by key of parts of calls: ``ns`` is the time of each part."""
    columns, calls = chosen.columns, chosen.columns.calls
    kinds = columns.kinds
    keys, row = ranked(key)
    size = len(keys)
    kind = calls.kind[call]
    # A call divides its figures among its parts by their time.
    part = np.ones(len(call))
    whole = calls.measured_ns[call]
    np.divide(ns, whole, out=part, where=whole > 0)
    known = chosen.reason[kind] == Reason.KNOWN
    counted = ~np.isnan(kinds.flops[kind])
    light = np.nan_to_num(chosen.share[kind]) * ns

    def total(values: F64, mask: B) -> F64:
        found: F64 = np.bincount(row[mask], values[mask], size).astype(np.float64)
        found[np.bincount(row[mask], minlength=size) == 0] = np.nan
        return found

    def worked(column: F64) -> F64:
        return total(column[kind] * part, counted)

    reasons = np.zeros(size, np.int8)
    spent = np.zeros((len(Reason), size), np.int64)
    for one in REASONS:
        mask = chosen.reason[kind] == one
        spent[one] = group_sums(row[mask], ns[mask], size).total
        spent[one][np.bincount(row[mask], minlength=size) > 0] += 1
    has = spent.max(axis=0) > 0
    reasons[has] = spent.argmax(axis=0)[has]
    longest = first_largest(row, ns, size)
    unit = np.full(size, NONE, np.int32)
    computed = np.flatnonzero(known & (kinds.unit[kind] >= 0))
    computed = computed[np.argsort(kinds.peak[kind[computed]], kind="stable")]
    unit[row[computed]] = kinds.unit[kind[computed]]  # the last one, the fastest, stays
    sums = group_sums(row, ns, size)
    compute = kinds.compute_ns[kind] >= kinds.memory_ns[kind]
    pairs = distinct_values(row.astype(np.int64) * max(len(kinds), 1) + kind)
    return SpeedGroups(
        selection=chosen,
        group=group,
        key=keys.astype(np.int64),
        kind=kind[longest].astype(np.int32),
        kinds=np.bincount(pairs // max(len(kinds), 1), minlength=size).astype(np.int64),
        calls=sums.count,
        measured_ns=sums.total,
        flops=worked(kinds.flops),
        least_flops=worked(kinds.least),
        read_bytes=worked(kinds.read),
        written_bytes=worked(kinds.written),
        light_ns=total(light, known),
        known_ns=group_sums(row[known], ns[known], size).total,
        counted_ns=group_sums(row[counted], ns[counted], size).total,
        known_flops=total((kinds.least[kind] * part), known),
        unit=unit,
        known_bytes=total((kinds.read + kinds.written)[kind] * part, known),
        compute_bound_ns=np.bincount(row[known], (light * compute)[known], size).astype(np.float64),
        model_ns=np.bincount(
            row, chosen.model_flops(call) * chosen.flop_ns(call) * part, size
        ).astype(np.float64),
        reason=reasons,
    )
