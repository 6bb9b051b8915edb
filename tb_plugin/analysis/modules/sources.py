"""Which modules does a recording name, and when did each run?

A recording names modules in one of several ways, in this order of what they tell:

* Python frames, ``nn.Module: Conv2d_0``: the tree is how they lie in each other;
* ranges around the forward of each module, ``[module]Conv2d: layer1.0.conv1`` of our own handler or
  ``[pl][module]…`` of Lightning: the tree is that of the dotted names;
* ``Module Hierarchy`` strings on the ops of TorchScript: a call lasts from the first op that names
  the module to the last before another;
* ranges of FSDP around what it does for each module that it shards;
* annotations on the kernels of a graph: names without calls.

Where frames and ranges are both recorded, the tree is the one with more calls; frames take the
names of the ranges directly in them. A compiled function is a place of the tree, too: below the
module that called it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct, field

from ...base.arrays import I8, I32, I64, B, equal, is_any, of_names
from ...base.regex import regex
from ...trace.model import HostKind, Trace
from ..call_tree.paths import call_paths, innermost
from ..compile.build import region_places
from .model import COMPILED, NONE, ModuleTree, Phase
from .sharded import is_backward, outermost_of_calls, sharded_calls, sharded_name, sharded_rows

SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "frames": "Python frames of `nn.Module` calls",
        "ranges": "ranges that the trace handler opened",
        "lightning": "ranges that Lightning opened",
        "hierarchy": "the module paths of TorchScript ops",
        "sharded": "the ranges of FSDP around each module that it shards",
        "graph": "annotations on the kernels of graphs",
    }
)
"""Where the names of modules come from."""
MOST_LEVELS = 64
MODULE_PREFIX = "nn.Module: "
_RANGE = regex(
    r"^(?P<mark>\[module\]|\[pl\]\[module\])(?P<type>[^:]*)(?:: ?(?P<name>.*))?$", re.DOTALL
)
_BEGINNINGS = ("[module]", "[pl][module]")
_PART = regex(r"(?:^|\.)(?P<name>[^.()]+)\((?P<type>[^()]*)\)::")
_NUMBER = regex(r"_\d+$")
_NODE = "autograd::engine::evaluate_function: "
_MARKS = {"ranges": 1, "lightning": 2}


@lru_cache(maxsize=65536)
def range_name(name: str) -> tuple[str, str, str] | None:
    """(mark, type, dotted name) of a range around a module; None for other names.

    >>> range_name("[pl][module]torch.nn.modules.conv.Conv2d: model.conv1")
    ('[pl][module]', 'Conv2d', 'model.conv1')
    """
    match = _RANGE.match(name)
    if match is None:
        return None
    return match["mark"], match["type"].rpartition(".")[2].strip(), (match["name"] or "").strip()


@lru_cache(maxsize=65536)
def hierarchy_parts(text: str) -> tuple[tuple[str, str], ...]:
    """(name, type) of the modules around an op of TorchScript, the outermost first.

    >>> hierarchy_parts("TOP(Net)::forward.fc(Linear)::forward.SELF(Linear)::reset.")
    (('TOP', 'Net'), ('fc', 'Linear'))
    """
    parts = [(one["name"], one["type"].rpartition(".")[2]) for one in _PART.finditer(text)]
    named = [part for part in parts if part[0] != "SELF"]
    return tuple(named[:MOST_LEVELS]) if named and named[0][1] else ()


def source_of(trace: Trace) -> str:
    """Where the names of modules come from, a key of ``SOURCES``; "" = there are none."""
    host = trace.host
    frames = int(np.count_nonzero(equal(host.kind, HostKind.MODULE)))
    marks = range_marks(trace)
    ranges, lightning = (int(np.count_nonzero(marks == mark)) for mark in (1, 2))
    named = "ranges" if ranges >= lightning else "lightning"
    if max(ranges, lightning) > frames:
        return named
    if frames:
        return "frames"
    if "module_hierarchy" in host.args and (_paths_of_ops(trace) >= 0).any():
        return "hierarchy"
    if len(sharded_rows(trace)):
        return "sharded"
    return "graph" if "module_fqn" in trace.device.args else ""


def range_marks(trace: Trace) -> I8:
    """By host row: 1 = a range of our handler around a module, 2 = one of Lightning, 0 = none."""
    host = trace.host

    def mark(name: str) -> int:
        found = range_name(name) if name.startswith(_BEGINNINGS) else None
        return 0 if found is None else 1 + (found[0] != "[module]")

    if not any(name.startswith(_BEGINNINGS) for name in trace.strings):
        return np.zeros(len(host), np.int8)
    found = of_names(trace.strings, host.name, mark, np.int8)
    # Until torch 2.0 ranges were ops.
    return np.where(is_any(host.kind, (HostKind.ANNOTATION, HostKind.OP)), found, 0)


def module_rows(trace: Trace) -> B:
    """True for host rows that are a call of a module: frames, and where there are none, ranges."""
    frames = equal(trace.host.kind, HostKind.MODULE)
    return frames if frames.any() else np.asarray(range_marks(trace) > 0)


def _paths_of_ops(trace: Trace) -> I32:
    """Of each host row: the code of the text that names the modules around it; −1."""
    result = np.full(len(trace.host), NONE, np.int32)
    sparse = trace.host.args.get("module_hierarchy")
    if sparse is not None:
        known = of_names(
            trace.strings,
            sparse.value.astype(np.int32),
            lambda text: bool(hierarchy_parts(text)),
            np.bool_,
        )
        result[sparse.row[known]] = sparse.value[known]
    return result


def _backward_boundary(trace: Trace) -> B:
    """True for ops that autograd ran: their contents belong to the backward pass."""
    host = trace.host
    found = host.forward >= 0
    found |= of_names(trace.strings, host.name, lambda name: name.startswith(_NODE), np.bool_)
    return np.asarray(found & (host.kind == HostKind.OP))


class _Forest(Struct):
    """A tree under construction: modules by parent and label."""

    parent: list[int] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    qualified: list[str | None] = field(default_factory=list)
    below: dict[tuple[int, str], int] = field(default_factory=dict)

    def add(self, parent: int, label: str, type_: str, qualified: str | None = None) -> int:
        """The module with this label below another one, made where there is none."""
        found = self.below.get((parent, label))
        if found is None:
            found = self.below[parent, label] = len(self.parent)
            self.parent.append(parent)
            self.label.append(label)
            self.type.append(type_)
            self.qualified.append(qualified)
        return found

    def add_dotted(self, types: Mapping[str, str]) -> dict[str, int]:
        """Modules by dotted name, each below the one with the longest beginning of its name."""
        place = {name: row for row, name in enumerate(self.qualified) if name is not None}
        for name in types:
            missing = []
            outer: str | None = name
            while outer is not None and outer not in place:
                missing.append(outer)
                outer = next(
                    (one for one in _beginnings(outer) if one in place or one in types), None
                )
            for one in reversed(missing):
                label = one[len(outer) + 1 :] if outer else one or types[one] or "(root)"
                above = NONE if outer is None else place[outer]
                place[one] = self.add(above, label, types[one], one)
                outer = one
        return place

    def around(self, module: int) -> Iterator[int]:
        """A module and all around it, the innermost first."""
        while module >= 0:
            yield module
            module = self.parent[module]


def _beginnings(name: str) -> Iterator[str]:
    """The names around a dotted name, the longest first, "" last; of the first levels only."""
    parts = name.split(".")
    for size in range(min(len(parts), MOST_LEVELS) - 1, -1, -1):
        if name:
            yield ".".join(parts[:size])


class FoundCalls(Struct, frozen=True, eq=False):
    """One entry per call of a module, in the order of the host table; outer ones first."""

    host: I32  # the row that it is, or begins with
    module: I32
    end: I64
    above: I32  # the call around it; −1


class FoundModules(Struct, frozen=True, eq=False):
    """The modules, their calls, and to which of them each host row belongs."""

    strings: tuple[str, ...]
    tree: ModuleTree
    source: str
    calls: FoundCalls
    call_of: I32  # of each host row: the innermost call around it; −1
    in_backward: B  # of each host row: autograd ran it, or what is around it
    module_of: I32  # of each host row; −1
    phase_of: I8  # of each host row: Phase
    by_annotation: I32  # of each device row: the module that its annotation names; −1


def find_modules(trace: Trace) -> FoundModules:
    """The modules of a trace and the rows of each; empty where it names none."""
    found = _FOUND.get(trace)
    if found is None:
        found = _FOUND[trace] = _Finder(trace).found()
    return found


_FOUND: WeakKeyDictionary[Trace, FoundModules] = WeakKeyDictionary()
"""Kept as long as the trace: costs of modules and the work of calls both begin with it."""


class _Finder:
    """Goes through the host rows; each step fills columns for the next."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.host, self.strings = trace, trace.host, trace.strings
        self.source = source_of(trace)
        self.forest = _Forest()
        count = len(trace.host)
        self.index = np.arange(count, dtype=np.int32)
        self.boundary = _backward_boundary(trace)
        place, labels = region_places(trace)
        self.is_region = (place >= 0) & (self.source in ("frames", *_MARKS))
        self.name = np.where(self.is_region, len(self.strings) + place, self.host.name)
        self.strings = (*self.strings, *labels)
        self.compiled = frozenset(labels)
        self.in_backward_of = self._inside(self.boundary)
        self.module = np.full(count, NONE, np.int32)  # of rows that begin work of a module
        self.call = np.full(count, NONE, np.int32)  # of rows that begin a call, or go on with it
        self.is_backward = np.zeros(count, bool)  # of rows that are known to be of that phase

    def found(self) -> FoundModules:
        by_name = self.source in ("ranges", "lightning")
        if self.source == "sharded":
            calls = self._sharded()
        else:
            is_call = self._dotted_ranges() if by_name else self._frames()
            calls = self._ranges_as_calls(is_call)
            paths = _paths_of_ops(self.trace)
            if (paths >= 0).any():
                calls = self._runs_of_ops(paths, is_call, calls)
        annotated = self._annotated_kernels()
        module_of, phase_of = self._of_rows()
        tree, strings, place, is_kept = _as_tree(self.forest, self.strings)
        calls, number = _placed(calls, place, is_kept)
        return FoundModules(
            strings=strings,
            tree=tree,
            source=self.source,
            calls=calls,
            call_of=number[innermost(self.call, self.host.parent)],
            in_backward=np.asarray((self.in_backward_of >= 0) | self.boundary),
            module_of=place[module_of],
            phase_of=phase_of,
            by_annotation=place[annotated],
        )

    def _around(self, mask: B) -> I32:
        """Of each row: the innermost marked row that is it or around it; −1."""
        return innermost(np.where(mask, self.index, np.int32(NONE)), self.host.parent)

    def _inside(self, mask: B) -> I32:
        """Of each row: the innermost marked row around it; −1."""
        return np.append(self._around(mask), np.int32(NONE))[self.host.parent]

    # --- frames ---------------------------------------------------------------------------------

    def _frames(self) -> B:
        """The tree of frames: in the forward pass by how they lie, then those called again."""
        frame = np.asarray((self.host.kind == HostKind.MODULE) | self.is_region)
        again = frame & (self.in_backward_of >= 0)
        first = frame & ~again
        if first.any():
            parent, label, path = call_paths(first, self.name.astype(np.int32), self.host.parent)
            module = np.empty(len(parent) + 1, np.int32)
            module[-1] = NONE
            for row, (up, name) in enumerate(zip(parent.tolist(), label.tolist(), strict=True)):
                text = self.strings[name].removeprefix(MODULE_PREFIX)
                module[row] = self.forest.add(int(module[up]), text, self._type(text))
            self.module[first] = module[path[first]]
        if again.any():
            self._called_again(again)
        self._take_names(frame)
        return frame

    def _called_again(self, again: B) -> None:
        """Modules that the backward pass called: they are those of the forward pass.

        The outermost is found from the module whose backward runs: one around it, one inside it,
        else the first of that name.
        """
        forest = self.forest
        known: dict[str, list[int]] = {}
        for module, label in enumerate(forest.label):
            known.setdefault(label, []).append(module)
        above = self._inside(again | self.boundary)
        hints: dict[int, int] = {}
        for row in np.flatnonzero(again).tolist():
            label = self.strings[int(self.name[row])].removeprefix(MODULE_PREFIX)
            up = int(above[row])
            if again[up]:
                outer = int(self.module[up])
            else:
                if up not in hints:
                    hints[up] = self._left_by(up)
                found = self._instance(label, hints[up], known.get(label, []))
                if found >= 0:
                    self.module[row] = found
                    continue
                outer = NONE
            self.module[row] = forest.add(outer, label, self._type(label))

    def _type(self, label: str) -> str:
        return COMPILED if label in self.compiled else _NUMBER.sub("", label)

    def _left_by(self, row: int) -> int:
        """The module whose forward op left this op to autograd; −1."""
        for _ in range(MOST_LEVELS):
            row = int(self.host.forward[row])
            while row >= 0 and self.module[row] < 0 and not self.boundary[row]:
                row = int(self.host.parent[row])
            if row < 0 or self.module[row] >= 0:
                break
        return int(self.module[row]) if row >= 0 else NONE

    def _instance(self, label: str, hint: int, known: list[int]) -> int:
        """Which of the modules with a label is meant; −1."""
        forest = self.forest
        outer = (one for one in forest.around(hint) if forest.label[one] == label)
        inner = (one for one in known if hint >= 0 and hint in forest.around(one))
        return next(outer, next(inner, known[0] if known else NONE))

    def _take_names(self, frame: B) -> None:
        """Give frames the names of the ranges directly in them."""
        rows = np.flatnonzero(range_marks(self.trace) == 1)
        inside = self._inside(frame)[rows]
        for row, up in zip(rows.tolist(), inside.tolist(), strict=True):
            named = range_name(self.strings[int(self.host.name[row])])
            module = int(self.module[up]) if up >= 0 else NONE
            if named is None or module < 0 or self.forest.qualified[module] is not None:
                continue
            if named[1] == self.forest.type[module]:
                self.forest.qualified[module] = named[2]
        rows = sharded_rows(self.trace)
        for row, up in zip(rows.tolist(), self._inside(frame)[rows].tolist(), strict=True):
            what, name = sharded_name(self.strings[int(self.host.name[row])]) or ("", "")
            module = int(self.module[up]) if up >= 0 else NONE
            if what == "pre_forward" and module >= 0 and self.forest.qualified[module] is None:
                self.forest.qualified[module] = name

    # --- ranges with dotted names ---------------------------------------------------------------

    def _dotted_ranges(self) -> B:
        called = np.asarray(range_marks(self.trace) == _MARKS[self.source])
        rows = np.flatnonzero(called)
        in_time = self.host.name[rows[np.argsort(self.host.ts[rows], kind="stable")]]
        named = {
            code: found
            for code in dict.fromkeys(in_time.tolist())
            if (found := range_name(self.strings[code])) is not None
        }
        types: dict[str, str] = {}
        for _, type_, name in named.values():
            types.setdefault(name, type_)
        place = self.forest.add_dotted(types)
        module = np.full(len(self.strings), NONE, np.int32)
        for code, (_, _, name) in named.items():
            module[code] = place[name]
        self.module[rows] = module[self.host.name[rows]]
        around = self._inside(called | self.is_region)
        for row in np.flatnonzero(self.is_region).tolist():  # outer ones come first
            above = int(self.module[around[row]]) if around[row] >= 0 else NONE
            self.module[row] = self.forest.add(above, self.strings[int(self.name[row])], COMPILED)
        return np.asarray(called | self.is_region)

    def _ranges_as_calls(self, is_call: B) -> FoundCalls:
        """Calls that are one row each."""
        rows = np.flatnonzero(is_call).astype(np.int32)
        self.call[rows] = np.arange(len(rows), dtype=np.int32)
        above = np.append(self.call, np.int32(NONE))[self._inside(is_call)[rows]]
        return FoundCalls(rows, self.module[rows], self.host.ts[rows] + self.host.dur[rows], above)

    # --- ranges of FSDP ---------------------------------------------------------------------------

    def _sharded(self) -> FoundCalls:
        """Modules by their names in FSDP's ranges, and calls from the first range to the last."""
        host, rows = self.host, sharded_rows(self.trace)
        in_time = rows[np.argsort(host.ts[rows], kind="stable")]
        names = {
            code: (sharded_name(self.strings[code]) or ("", ""))[1]
            for code in dict.fromkeys(host.name[in_time].tolist())
        }
        place = self.forest.add_dotted(dict.fromkeys(names.values(), ""))
        module = np.full(len(self.strings), NONE, np.int32)
        module[list(names)] = [place[name] for name in names.values()]
        found = sharded_calls(self.trace, rows)
        self.call = found.call_of
        begins = outermost_of_calls(found.call_of, host.parent) & ~self.boundary
        self.module[begins] = module[host.name[found.host[found.call_of[begins]]]]
        self.module[rows] = module[host.name[rows]]
        backward = of_names(self.strings, host.name[rows], is_backward, np.bool_)
        self.is_backward[rows[backward]] = True
        self.is_backward = self._around(self.is_backward) >= 0
        return FoundCalls(found.host, module[host.name[found.host]], found.end, found.above)

    # --- ops that name the modules around them ----------------------------------------------------

    def _runs_of_ops(self, paths: I32, is_call: B, frames: FoundCalls) -> FoundCalls:
        """Calls of modules that only ops name: from the first op of each to the last in a row."""
        host = self.host
        frame_of = self._around(is_call)
        call_of_row = {row: at for at, row in enumerate(frames.host.tolist())}
        made: list[list[int]] = []  # host row, module, end, call around it
        open_: list[int] = []  # of those
        last = (NONE, NONE)
        count = len(frames.host)
        for row in np.flatnonzero(paths >= 0).tolist():
            frame = int(frame_of[row])
            base = int(self.module[frame]) if frame >= 0 else NONE
            parts = hierarchy_parts(self.strings[int(paths[row])])
            path = self._path(base, parts)
            self.module[row] = path[-1] if path else base
            now = (int(host.thread[row]), frame)
            root = open_[0] if open_ else NONE
            if now != last or (
                len(parts) == 1
                and root >= 0
                and made[root][2] <= int(host.ts[row])
                and host.name[row] == host.name[made[root][0]]
            ):
                open_, last = [], now
            kept = 0
            while kept < min(len(open_), len(path)) and made[open_[kept]][1] == path[kept]:
                kept += 1
            del open_[kept:]
            for module in path[kept:]:
                outer = count + open_[-1] if open_ else call_of_row.get(frame, NONE)
                open_.append(len(made))
                made.append([row, module, 0, outer])
            end = int(host.ts[row] + host.dur[row])
            for at in open_:
                made[at][2] = max(made[at][2], end)
            if open_:
                self.call[row] = count + open_[-1]
        more = np.array(made, np.int64).reshape(-1, 4)
        both = FoundCalls(
            np.concatenate([frames.host, more[:, 0].astype(np.int32)]),
            np.concatenate([frames.module, more[:, 1].astype(np.int32)]),
            np.concatenate([frames.end, more[:, 2]]),
            np.concatenate([frames.above, more[:, 3].astype(np.int32)]),
        )
        order = np.argsort(both.host, kind="stable")
        number = np.full(len(order) + 1, NONE, np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        self.call = number[self.call]
        return FoundCalls(
            both.host[order], both.module[order], both.end[order], number[both.above[order]]
        )

    def _path(self, base: int, parts: Sequence[tuple[str, str]]) -> list[int]:
        """The modules of a path, the outermost first; a frame around it is the first part."""
        forest, path, above, name = self.forest, [], base, ""
        if base < 0:
            above = forest.add(NONE, parts[0][1], parts[0][1], "")
            path = [above]
        elif forest.type[base].endswith("ScriptModule"):
            forest.type[base] = parts[0][1]
        for label, type_ in parts[1:]:
            name = f"{name}.{label}" if name else label
            above = forest.add(above, label, type_, name)
            path.append(above)
        return path

    # --- kernels that name their module -----------------------------------------------------------

    def _annotated_kernels(self) -> I32:
        result = np.full(len(self.trace.device), NONE, np.int32)
        sparse = self.trace.device.args.get("module_fqn")
        if sparse is not None:
            codes = list(dict.fromkeys(sparse.value.tolist()))
            place = self.forest.add_dotted({self.strings[code]: "" for code in codes})
            module = np.full(len(self.strings), NONE, np.int32)
            module[codes] = [place[self.strings[code]] for code in codes]
            result[sparse.row] = module[sparse.value]
        return result

    # --- every row --------------------------------------------------------------------------------

    def _of_rows(self) -> tuple[I32, I8]:
        """Module and phase of each row, by the innermost row that begins work of a module.

        An op of autograd begins work of the module of its forward op.
        """
        host = self.host
        phase = np.where(self.in_backward_of >= 0, Phase.RECOMPUTE, Phase.FORWARD).astype(np.int8)
        begins = (self.module >= 0) | self.boundary
        marker = self._around(begins)
        module = self.module.copy()
        asks = np.flatnonzero(self.boundary & (self.module < 0))
        phase[asks] = Phase.BACKWARD
        phase[self.is_backward] = Phase.BACKWARD
        at = asks.copy()
        for _ in range(MOST_LEVELS):
            # From an op of autograd to its forward op, to what that is part of.
            forward = host.forward[at]
            going = forward >= 0
            asks, at = asks[going], marker[forward[going]]
            going = at >= 0
            asks, at = asks[going], at[going]
            done = module[at] >= 0
            module[asks[done]] = module[at[done]]
            asks, at = asks[~done], at[~done]
            if not len(asks):
                break
        around = np.append(module, np.int32(NONE))
        phases = np.append(phase, np.int8(Phase.FORWARD))
        return around[marker], phases[marker]


def _as_tree(forest: _Forest, strings: Sequence[str]) -> tuple[ModuleTree, tuple[str, ...], I32, B]:
    """The tree, its texts, what each module of the forest became, and which of them it holds.

    The last entry is for −1.

    What lies deeper than ``MOST_LEVELS`` belongs to what is around it there.
    """
    texts, codes = list(strings), {}

    def code(text: str | None) -> int:
        if text is None:
            return NONE
        if text not in codes:
            codes[text] = len(texts)
            texts.append(text)
        return codes[text]

    depth: list[int] = []
    place: list[int] = []
    kept: list[int] = []
    # Parents come before their children, except that a name may be known before what is around it.
    for module, up in enumerate(forest.parent):
        depth.append(depth[up] + 1 if up >= 0 else 0)
        if depth[-1] < MOST_LEVELS:
            place.append(len(kept))
            kept.append(module)
        else:
            place.append(place[up])
    place.append(NONE)
    tree = ModuleTree(
        parent=np.array([place[forest.parent[one]] for one in kept], np.int32),
        name=np.array([code(forest.label[one]) for one in kept], np.int32),
        type=np.array([code(forest.type[one] or None) for one in kept], np.int32),
        qualified=np.array([code(forest.qualified[one]) for one in kept], np.int32),
    )
    is_kept = np.zeros(len(place), bool)
    is_kept[kept] = True
    return tree, tuple(texts), np.array(place, np.int32), is_kept


def _placed(calls: FoundCalls, place: I32, is_kept: B) -> tuple[FoundCalls, I32]:
    """The calls of the modules that the tree holds, and what became of each call.

    Those below others have lost none around. A call of a deeper module is the one around it that
    is kept; the last entry is for −1.
    """
    rows = np.flatnonzero(is_kept[calls.module])
    number = np.full(len(calls.host) + 1, NONE, np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    for row in np.flatnonzero(~is_kept[calls.module]).tolist():  # outer ones come first
        number[row] = number[calls.above[row]]
    kept = FoundCalls(
        calls.host[rows], place[calls.module[rows]], calls.end[rows], number[calls.above[rows]]
    )
    return kept, number
