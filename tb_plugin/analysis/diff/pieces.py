"""The aligned pieces of the step: loader, modules, optimizer, and the work between them.

*Anchors* are ranges that say what they are: the DataLoader, an ``nn.Module``, the optimizer. The
anchors of both recordings are matched in their order by kind and name: for each of the base the
next one of the other. What stands between two matched ones becomes one piece.

    base    │ loader │ ops │ zero_grad │ ops │ optimizer │
    other   │ loader │ ops │ zero_grad │ ops │ optimizer │

Equal pieces of all steps are one; inside a piece the same begins anew. This is the alignment of
PyTorch's former TensorBoard plugin, whose tree keeps every step by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from ...base.arrays import I32, I64, B, of_names
from ...base.group_sums import summed
from ...base.regex import regex
from ..call_tree.paths import innermost
from ..operators.groups import in_steps
from ..operators.model import CallKind
from .sides import Side

PieceKind = Literal["step", "loader", "module", "optimizer", "between"]
_KINDS: tuple[PieceKind, ...] = ("step", "loader", "module", "optimizer", "between")
_NONE = -1
_ANCHORS = (
    (0, regex(r"ProfilerStep#\d+|ProfilerStep\*")),
    (1, regex(r"enumerate\(Data(?:Loader|Pipe)\)#")),
    (3, regex(r"Optimizer\.(?:step|zero_grad)")),
)
_BACKWARD = regex(r"autograd::engine::evaluate_function|\w*Backward\d*$")
_MOST, _SOME = 0.9, 0.1  # of the time of some work: all of it is of one kind, or none
_LOADER = regex(r"(enumerate\(Data(?:Loader|Pipe)\)#)_\w+?Iter\b")


class Anchor(Struct, frozen=True):
    """One range of an anchor, with its direct contents in order."""

    name: str
    kind: PieceKind
    host_ns: int
    device_ns: int
    first: int  # segments of time: [first, last)
    last: int
    inside: tuple[Anchor | Between, ...]

    @property
    def total_ns(self) -> int:
        """Its device time, or where it has none its time on the host."""
        return self.device_ns or self.host_ns


class Between(Struct, frozen=True):
    """Operators directly inside a range, between two anchors."""

    segment: int
    host_ns: int
    device_ns: int
    total_ns: int  # of each operator its device time, or where it has none its time on the host
    backward_ns: int = 0  # calls of autograd, of the thread that the main one waits for, too
    waited_host_ns: int = 0  # of these, what that other thread ran
    waited_device_ns: int = 0


Node = Anchor | Between
Groups: TypeAlias = Sequence[Sequence[Node]]
"""Content of each step, or of each call of a piece."""


class PieceSide(Struct, frozen=True):
    """The nodes of one side of a piece."""

    nodes: tuple[Node, ...]

    @property
    def host_ns(self) -> int:
        """Sum over the nodes, on the host."""
        return sum(node.host_ns + _waited(node)[0] for node in self.nodes)

    @property
    def device_ns(self) -> int:
        """Sum over the nodes, of the work that they launched."""
        return sum(node.device_ns + _waited(node)[1] for node in self.nodes)

    @property
    def total_ns(self) -> int:
        """Of each node its device time, or where it has none its time on the host."""
        waited = (_waited(node) for node in self.nodes)
        return sum(node.total_ns for node in self.nodes) + sum(
            device or host for host, device in waited
        )

    @property
    def segments(self) -> frozenset[int]:
        """The segments of time that the nodes cover."""
        found: set[int] = set()
        for node in self.nodes:
            if isinstance(node, Between):
                found.add(node.segment)
            else:
                found.update(range(node.first, node.last))
        return frozenset(found)


class AlignedPiece(Struct, frozen=True):
    """One piece of both recordings."""

    name: str
    other_name: str
    kind: PieceKind
    base: PieceSide
    other: PieceSide

    @property
    def has_inside(self) -> bool:
        """True if there are anchors inside on both sides."""
        return self.kind != "between" and all(
            any(isinstance(one, Anchor) for node in side.nodes for one in _inside(node))
            for side in (self.base, self.other)
        )


def _waited(node: Node) -> tuple[int, int]:
    """Time of the backward pass on another thread, on its host and on devices."""
    return (node.waited_host_ns, node.waited_device_ns) if isinstance(node, Between) else (0, 0)


def _inside(node: Node) -> tuple[Node, ...]:
    return node.inside if isinstance(node, Anchor) else ()


class MainThread(Struct, frozen=True, eq=False, dict=True):
    """The anchors of the main thread of one side."""

    side: Side

    @cached_property
    def thread(self) -> int:
        """The thread of the steps, or the one with most calls."""
        calls = self.side.operators.calls
        if not len(calls):
            return 0
        marks = calls.thread[self._kind == 0]
        return int(np.bincount(marks if len(marks) else calls.thread).argmax())

    @cached_property
    def _kind(self) -> I32:
        """Kind of anchor of each call, −1 for others."""
        operators = self.side.operators
        calls = operators.calls

        def kind_of(name: str) -> int:
            return next((kind for kind, known in _ANCHORS if known.match(name)), _NONE)

        found: I32 = of_names(operators.strings, calls.name, kind_of, np.int32)
        found = np.where(np.isin(calls.kind, (CallKind.OP, CallKind.ANNOTATION)), found, _NONE)
        return np.where(calls.kind == CallKind.MODULE, 2, found).astype(np.int32)

    @cached_property
    def rows(self) -> I64:
        """The calls of this thread in the chosen steps."""
        calls = self.side.operators.calls
        mine = (calls.thread == self.thread) & in_steps(calls.step, self.side.steps)
        return np.flatnonzero(mine).astype(np.int64)

    @cached_property
    def _bounds(self) -> tuple[I64, list[tuple[int, int, int, int]]]:
        """Where segments begin; and of each anchor: row, the anchor around it, first and last."""
        calls = self.side.operators.calls
        anchors = self.rows[self._kind[self.rows] >= 0]
        order = anchors[np.lexsort((-calls.total_ns[anchors], calls.ts[anchors]))]
        bounds: list[int] = [np.iinfo(np.int64).min]
        found: list[list[int]] = []
        open_: list[tuple[int, int]] = []  # end, place in found

        def close(before: int) -> None:
            while open_ and open_[-1][0] <= before:
                end, at = open_.pop()
                bounds.append(end)
                found[at][3] = len(bounds) - 1

        for row in order.tolist():
            start = int(calls.ts[row])
            close(start)
            end = start + int(calls.total_ns[row])
            if open_:
                end = min(end, open_[-1][0])
            found.append([row, open_[-1][1] if open_ else _NONE, len(bounds), 0])
            bounds.append(start)
            open_.append((end, len(found) - 1))
        close(np.iinfo(np.int64).max)
        return np.array(bounds, np.int64), [(a, b, c, d) for a, b, c, d in found]

    @cached_property
    def segment_of(self) -> I32:
        """The segment of each of ``rows``."""
        ts = self.side.operators.calls.ts[self.rows]
        found = np.searchsorted(self._bounds[0], ts, side="right") - 1
        return found.astype(np.int32)

    @cached_property
    def _is_top(self) -> B:
        """Of ``rows``: operators that no other operator contains.

        Ranges that are annotated by hand are looked through: what is in them is counted, as the
        anchors in them are, too.
        """
        is_op = self.side.operators.calls.kind[self.rows] == CallKind.OP
        return np.asarray(is_op & (self._kind[self.rows] < 0) & ~self._is_in_op)

    @cached_property
    def _is_in_op(self) -> B:
        """Of ``rows``: what an operator contains, and no anchor inside of that operator does."""
        operators = self.side.operators
        calls, paths = operators.calls, operators.paths
        plain = np.isin(paths.kind, (CallKind.OP, CallKind.RUNTIME))
        marks = np.array([_marks(operators.strings[code]) for code in paths.name.tolist()], bool)
        own = np.where(
            plain | marks | (paths.kind == CallKind.MODULE), np.arange(len(paths)), _NONE
        )
        around = innermost(own.astype(np.int32), paths.parent)
        above = paths.parent[calls.path[self.rows]]
        box = np.where(above >= 0, around[above], _NONE)
        return np.asarray((box >= 0) & (plain & ~marks)[box])

    def _without_anchors(self, tops: I64, owner: I64) -> tuple[I64, I64]:
        """Times of operators on the host and on devices, without the anchors inside of them.

        Those are nodes of their own: a module that a checkpoint calls, or a wrapper of a model.
        ``owner`` is the anchor around each operator: those of one anchor follow each other.
        """
        calls, anchors = self.side.operators.calls, self._bounds[1]
        host, device = calls.total_ns[tops].copy(), calls.device_total_ns[tops].copy()
        is_inside = np.zeros(len(calls), np.bool_)
        is_inside[self.rows[self._is_in_op]] = True
        inner = [(row, above) for row, above, _, _ in anchors if is_inside[row]]
        if not inner or not len(tops):
            return host, device
        row, above = (np.array(one, np.int64) for one in zip(*inner, strict=True))
        order = np.argsort(calls.ts[tops], kind="stable")
        width = len(tops) + 1
        key = (owner[order] + 1) * width + np.arange(len(tops))
        by_owner = np.argsort(key, kind="stable")
        before = np.searchsorted(calls.ts[tops[order]], calls.ts[row], side="right")
        place = np.searchsorted(key[by_owner], (above + 1) * width + before, side="left") - 1
        around = order[by_owner[np.maximum(place, 0)]]
        ends = calls.ts[tops] + calls.total_ns[tops]
        is_found = (place >= 0) & (owner[around] == above)
        is_found &= ends[around] >= calls.ts[row] + calls.total_ns[row]
        for sums, of in ((host, calls.total_ns), (device, calls.device_total_ns)):
            np.subtract.at(sums, around[is_found], of[row[is_found]])
        return host, device

    @cached_property
    def _of_autograd(self) -> I64:
        """The outermost calls of autograd on the thread that runs the backward pass.

        On accelerators that is another thread, for which the main one waits.
        """
        operators = self.side.operators
        calls = operators.calls
        found = of_names(
            operators.strings, calls.name, lambda name: bool(_BACKWARD.match(name)), np.bool_
        )
        found &= (calls.kind == CallKind.OP) & in_steps(calls.step, self.side.steps)
        if not found.any():
            return np.zeros(0, np.int64)
        thread = int(np.bincount(calls.thread[found]).argmax())
        rows = np.flatnonzero(found & (calls.thread == thread))
        rows = rows[np.lexsort((-calls.total_ns[rows], calls.ts[rows]))]
        ends = np.maximum.accumulate(calls.ts[rows] + calls.total_ns[rows])
        outer = np.append(True, calls.ts[rows[1:]] >= ends[:-1])
        return np.asarray(rows[outer])

    def rows_in(self, segments: frozenset[int]) -> I64:
        """The calls in some segments, those of the backward pass on another thread too."""
        calls, inside = self.side.operators.calls, list(segments)
        found = self.rows[np.isin(self.segment_of, inside)]
        rows = self._of_autograd
        if not len(rows) or int(calls.thread[rows[0]]) == self.thread:
            return found
        there = (calls.thread == calls.thread[rows[0]]) & in_steps(calls.step, self.side.steps)
        rows = np.flatnonzero(there)
        at = np.searchsorted(self._bounds[0], calls.ts[rows], side="right") - 1
        return np.sort(np.concatenate([found, rows[np.isin(at, inside)]]))

    def _backward(self, count: int) -> tuple[I64, I64, I64, I64]:
        """By segment: time of autograd on the host; and on the host, on devices, number elsewhere.

        What runs on the main thread is among its operators already.
        """
        calls, rows = self.side.operators.calls, self._of_autograd
        at = np.searchsorted(self._bounds[0], calls.ts[rows], side="right") - 1
        at = at.astype(np.int32)
        there = calls.thread[rows] != self.thread
        all_ns = summed(calls.total_ns[rows], at, count)
        host = summed(calls.total_ns[rows[there]], at[there], count)
        device = summed(calls.device_total_ns[rows[there]], at[there], count)
        return all_ns, host, device, np.bincount(at[there], minlength=count)

    @cached_property
    def outermost(self) -> tuple[Node, ...]:
        """Nodes that no anchor contains: as a rule the steps."""
        bounds, anchors = self._bounds
        operators = self.side.operators
        calls = operators.calls
        rows, segments = self.rows[self._is_top], self.segment_of[self._is_top]
        count = len(bounds)
        owner = _owners(count, anchors)
        of_host, of_device = self._without_anchors(rows, np.array(owner, np.int64)[segments])
        host, device = (summed(of, segments, count) for of in (of_host, of_device))
        total = summed(np.where(of_device > 0, of_device, of_host), segments, count)
        backward, host_there, device_there, more = self._backward(count)
        number = np.bincount(segments, minlength=count) + more
        inside: list[list[tuple[int, Node]]] = [[] for _ in range(len(anchors) + 1)]
        for segment in np.flatnonzero(number).tolist():
            node = Between(
                segment, int(host[segment]), int(device[segment]), int(total[segment]),
                int(backward[segment]), int(host_there[segment]), int(device_there[segment]),
            )  # fmt: skip
            inside[owner[segment]].append((segment, node))
        for at in range(len(anchors) - 1, -1, -1):
            row, above, first, last = anchors[at]
            nodes = tuple(node for _, node in sorted(inside[at], key=lambda one: one[0]))
            name = operators.strings[int(calls.name[row])]
            kind = _KINDS[int(self._kind[row])]
            anchor = Anchor(
                name, kind, int(calls.total_ns[row]), int(calls.device_total_ns[row]),
                first, last, nodes,
            )  # fmt: skip
            inside[above].append((first, anchor))
        return tuple(node for _, node in sorted(inside[-1], key=lambda one: one[0]))

    @cached_property
    def steps(self) -> tuple[Anchor, ...]:
        """The ranges that mark the chosen steps."""
        return tuple(
            one for one in self.outermost if isinstance(one, Anchor) and one.kind == "step"
        )

    @property
    def groups(self) -> Groups:
        """Direct contents of each chosen step; without steps, of the thread."""
        return [step.inside for step in self.steps] if self.steps else [self.outermost]

    @cached_property
    def top(self) -> tuple[Node, ...]:
        """Direct contents of the chosen steps, all joined; without steps, of the thread."""
        inside = tuple(node for step in self.steps for node in step.inside)
        return inside if self.steps else self.outermost

    def span(self, anchor: Anchor) -> tuple[int, int]:
        """From when to when an anchor lasts, in ns from the start of the trace."""
        bounds = self._bounds[0]
        return int(bounds[anchor.first]), int(bounds[anchor.last])


def _marks(name: str) -> bool:
    return any(known.match(name) for _, known in _ANCHORS)


def _owners(count: int, anchors: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """The innermost anchor of each segment; −1: none."""
    begins = {first: at for at, (_, _, first, _) in enumerate(anchors)}
    owner, now = [], _NONE
    for segment in range(count):
        while now >= 0 and anchors[now][3] <= segment:
            now = anchors[now][1]
        now = begins.get(segment, now)
        owner.append(now)
    return owner


def matched(base: Sequence[Node], other: Sequence[Node]) -> list[tuple[list[Node], list[Node]]]:
    """The nodes of two lists side by side: matched anchors, and the work between them.

    Without a match there is nothing to align, and the answer is empty.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for at, node in enumerate(other):
        if isinstance(node, Anchor):
            places.setdefault(_key(node), []).append(at)
    found: list[tuple[list[Node], list[Node]]] = []
    last_base = last_other = 0
    for at, node in enumerate(base):
        known = places.get(_key(node), []) if isinstance(node, Anchor) else []
        next_ = bisect_left(known, last_other)
        if next_ == len(known):
            continue
        place = known[next_]
        found.append((list(base[last_base:at]), list(other[last_other:place])))
        found.append(([node], [other[place]]))
        last_base, last_other = at + 1, place + 1
    if not found:
        return []
    found.append((list(base[last_base:]), list(other[last_other:])))
    return [(left, right) for left, right in found if left or right]


def _key(anchor: Anchor) -> tuple[str, str]:
    """Key by which anchors are matched."""
    return anchor.kind, plain_anchor(anchor.name)


def _is_same(left: Node, right: Node) -> bool:
    if not isinstance(left, Anchor) or not isinstance(right, Anchor):
        return False
    return _key(left) == _key(right)


def plain_anchor(name: str) -> str:
    """A name without the kind of the loader's iterator: with and without workers is one."""
    return _LOADER.sub(r"\1", name)


def pieces(base: Groups, other: Groups) -> tuple[AlignedPiece, ...]:
    """The pieces of two sides, equal ones of all steps as one, in the order of time.

    Each step is aligned with one of the other side. Where one side has more steps, those are
    aligned with the first ones of the other again, of which nothing is counted twice.
    """
    found: dict[tuple[str, str], tuple[list[Node], list[Node]]] = {}
    is_any = False
    for at in range(max(len(base), len(other)) if base and other else 0):
        own = base[at % len(base)], other[at % len(other)]
        pairs = matched(*own)
        is_any |= bool(pairs)
        before = ""
        for left, right in pairs or [(list(own[0]), list(own[1]))]:
            first = next((node for node in (*left, *right)), None)
            if first is None:
                continue
            if len(left) == 1 and len(right) == 1 and _is_same(left[0], right[0]):
                assert isinstance(first, Anchor)
                before = plain_anchor(first.name)
                key = first.kind, before
            else:
                key = "between", before
            sides = found.setdefault(key, ([], []))
            sides[0].extend(left if at < len(base) else ())
            sides[1].extend(right if at < len(other) else ())
    if not is_any:
        return ()
    phases = _phases(
        {key[1]: sides for key, sides in found.items() if key[0] == "between"},
        has_modules=any(key[0] == "module" for key in found),
    )
    return tuple(_piece(*key, phases.get(key[1], ""), *sides) for key, sides in found.items())


def _phases(
    between: Mapping[str, tuple[list[Node], list[Node]]], *, has_modules: bool
) -> dict[str, str]:
    """Kind of the work between anchors, by the anchor before it: forward, backward, or unknown.

    Work is backward by its calls of autograd. Of the rest of a training, the most before the
    optimizer's step is forward; among modules these are, and it is not said.
    """
    host: dict[str, int] = {}
    backward: dict[str, int] = {}
    for before, sides in between.items():
        nodes = [node for side in sides for node in side if isinstance(node, Between)]
        host[before] = sum(node.host_ns + node.waited_host_ns for node in nodes)
        backward[before] = sum(node.backward_ns for node in nodes)
    found = {
        before: "backward" if ns >= _MOST * host[before] else "forward and backward"
        for before, ns in backward.items()
        if ns > _SOME * host[before]
    }
    rest = [one for one in host if one not in found and not one.startswith("Optimizer.step")]
    if "backward" in found.values() and rest and not has_modules:
        found[max(rest, key=lambda one: host[one])] = "forward"
    return found


def _piece(kind: str, before: str, phase: str, left: list[Node], right: list[Node]) -> AlignedPiece:
    names = [next((n.name for n in side if isinstance(n, Anchor)), "") for side in (left, right)]
    if kind == "between":
        names = [phase or (f"after {shown(before)}" if before else "at the start"), ""]
    return AlignedPiece(
        name=shown(names[0]) if kind != "between" else names[0],
        other_name="" if names[0] == names[1] or kind == "between" else shown(names[1]),
        kind=next(one for one in _KINDS if one == kind),
        base=PieceSide(tuple(left)),
        other=PieceSide(tuple(right)),
    )


def shown(name: str) -> str:
    """The name of an anchor without what every one of its kind begins with."""
    name = name.removeprefix("nn.Module: ")
    name = re.sub(r"^enumerate\((Data(?:Loader|Pipe))\)#.*", r"\1", name)
    name = re.sub(r"^Optimizer\.step#(.*?)(?:\.step)?$", r"optimizer (\1)", name)
    return re.sub(r"^Optimizer\.zero_grad#(.*?)(?:\.zero_grad)?$", r"\1.zero_grad", name)


class StepPhase(Struct, frozen=True):
    """A range in a step where two timelines can begin together; ns from the start of the trace."""

    name: str
    kind: PieceKind
    start: int
    end: int


MOST_PHASES = 40  # of a step: of more modules than that none is looked for in a list


def phases(thread: MainThread, within: Sequence[Node]) -> tuple[StepPhase, ...]:
    """The anchors directly in a step, each name once, in the order of time."""
    found: dict[str, StepPhase] = {}
    for node in within:
        if isinstance(node, Anchor) and len(found) < MOST_PHASES:
            name = shown(plain_anchor(node.name))
            found.setdefault(name, StepPhase(name, node.kind, *thread.span(node)))
    return tuple(found.values())


def _groups(piece: AlignedPiece) -> tuple[Groups, Groups]:
    """Contents of each call of a piece; work between pieces has no calls to align."""
    each = [[_inside(node) for node in side.nodes] for side in (piece.base, piece.other)]
    if piece.kind == "between":
        each = [[tuple(node for inside in side for node in inside)] for side in each]
    return each[0], each[1]


def pieces_at(
    base: MainThread, other: MainThread, path: Sequence[int]
) -> tuple[tuple[AlignedPiece, ...], tuple[AlignedPiece, ...]]:
    """The pieces below a path of places, and the pieces that lead there.

    Raises:
        IndexError: there is no such piece.
    """
    found = pieces(base.groups, other.groups)
    trail: list[AlignedPiece] = []
    for place in path:
        if not 0 <= place < len(found):
            raise IndexError(place)
        piece = found[place]
        trail.append(piece)
        found = pieces(*_groups(piece))
    return found, tuple(trail)
