"""The diff trees that the former plugin prints, kept as tables, and ours in the same form.

    KINETOSCOPE_FORMER_PYTHON=former/bin/python python -m tests.analysis.diff.former_trees

writes the tables anew (``tests/oracle/former_plugin.py`` says how to install it). It knows loader,
optimizer and steps as events of operators alone, as torch 1.9 wrote them: what a newer torch wrote
as annotations is handed to it as operators.
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kinetoscope.analysis.diff.pieces import Anchor, MainThread, Node, matched
from tests.conftest import TRACES
from tests.trace.drawn import Event, kernel, launch, python, x

TABLES = Path(__file__).parent / "former_trees"
_MARKS = re.compile(r"ProfilerStep#|Optimizer\.|enumerate\(Data")
_CATEGORIES = {"cuda_runtime": "Runtime", "kernel": "Kernel"}
Sums = tuple[int, int, int]
"""On the host, on devices, and of each node the one or the other; in ns."""


class TreeRow(NamedTuple):
    """One node of the tree. ``path``: places from the root on, as its address names it."""

    path: str
    name: str  # of an anchor; "" for what lies between
    base: Sums
    other: Sums


# --- the pairs ------------------------------------------------------------------------------------


def _files(pattern: str) -> tuple[Path, Path]:
    first, second = sorted(TRACES.glob(pattern))[:2]
    return first, second


PAIRS: Mapping[str, Callable[[], tuple[Path, Path]]] = {
    "v100_loader": lambda: _files("kineto_tb_samples/*/*.json.gz"),
    "ddp_ranks": lambda: _files("fresh_torch2.13/ddp2_full/*.json.gz"),
    "resnet_spans": lambda: _files("fresh_torch2.13/resnet_w0/*.json"),
}


def drawn_pair() -> tuple[list[Event], list[Event]]:
    """Modules in modules, three levels, with kernels; the experiment has one more, and lacks one.

    step │ loader │ Net ▸ Block_0 ▸ Linear … Block_1 (… Norm) │ ops │ Optimizer.step │
    """
    return list(_training(slower=1, has_norm=False)), list(_training(slower=2, has_norm=True))


def _training(slower: int, *, has_norm: bool) -> Iterator[Event]:
    now, number = 0.0, 0

    def op(name: str, length: int, of_kernel: int = 0) -> Iterator[Event]:
        nonlocal now, number
        number += 1
        yield x(name, now, length, external_id=number)
        if of_kernel:
            args = {"External id": number}
            yield launch(now + 1, 2, number, **args)
            shape = {"grid": [1, 1, 1], "block": [32, 1, 1]}
            yield kernel("gemm", now + 4, of_kernel, correlation=number, **shape, **args)
        now += length + 1

    ids = {"Net": 1, "Block": 2, "Linear": 3, "Norm": 4, "Loss": 5}

    def module(name: str, *inside: Iterator[Event]) -> Iterator[Event]:
        nonlocal now, number
        number += 1
        begin, mine = now, number
        now += 2
        found = [event for part in inside for event in part]
        kind, _, at = name.partition("_")
        parts = {"Python id": mine, "Python parent id": None, "Python module id": int(at or 0)}
        yield python(f"nn.Module: {name}", begin, now + 2 - begin, **parts)
        yield from found
        now += 3
        assert kind in ids

    def block(at: int) -> Iterator[Event]:
        linear = module(f"Linear_{at}", op("aten::mm", 20 * slower, 30), op("aten::add", 5, 4))
        parts = [linear, op("aten::relu", 6, 3)]
        if has_norm and at:
            parts.append(module("Norm_0", op("aten::norm", 7)))
        yield from module(f"Block_{at}", *parts)

    for step in range(3):
        begin = now
        now += 1
        yield from op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 15)
        yield from op("aten::to", 4)
        yield from module("Net_0", block(0), op("aten::dropout", 3), block(1))
        if not has_norm:
            yield from module("Loss_0", op("aten::nll_loss", 4))
        yield from op("aten::mul", 5, 2)
        yield from op("aten::sum", 5)
        yield from op("Optimizer.step#SGD.step", 30)
        yield x(f"ProfilerStep#{step}", begin, now + 2 - begin)
        now += 4


# --- theirs and ours ------------------------------------------------------------------------------


def of_former(tree: Mapping[str, Any], path: str = "0") -> list[TreeRow]:
    """The rows of what its route `/diff` answers, without the root."""
    found: list[TreeRow] = []
    for at, one in enumerate(tree["children"]):
        below = f"{path}-{at}"
        sides = [
            tuple(round(float(one[side][key]) * 1000) for key in _KEYS)
            for side in ("left", "right")
        ]
        names = {one[side]["name"] for side in ("left", "right")}
        name = names.pop() if len(names) == 1 else ""
        is_anchor = name.startswith("nn.Module: ") or _MARKS.match(name)
        found.append(TreeRow(below, name if is_anchor else "", *sides))  # type: ignore[arg-type]
        found += of_former(one, below)
    return found


_KEYS = ("duration", "device_duration", "total_duration")


def of_ours(base: MainThread, other: MainThread) -> list[TreeRow]:
    """The rows of our alignment, where every step stands by itself, as there."""
    return list(_rows(base.top, other.top, "0"))


def _rows(base: Sequence[Node], other: Sequence[Node], path: str) -> Iterator[TreeRow]:
    """What it knows no anchor of (`zero_grad`, two kinds of loaders) lies between others there."""
    groups: list[tuple[list[Node], list[Node]]] = [([], [])]
    for left, right in matched(base, other):
        if _is_known(left, right):
            groups += [(left, right), ([], [])]
        else:
            groups[-1][0].extend(left)
            groups[-1][1].extend(right)
    kept = [one for one in groups if one[0] or one[1]] if len(groups) > 1 else []
    for at, (left, right) in enumerate(kept):
        below = f"{path}-{at}"
        is_anchor = _is_known(left, right)
        first = left[0] if left else right[0]
        name = first.name if is_anchor and isinstance(first, Anchor) else ""
        yield TreeRow(below, name, _sums(left), _sums(right))
        if is_anchor:
            inside = [one[0].inside for one in (left, right) if isinstance(one[0], Anchor)]
            yield from _rows(inside[0], inside[1], below)


def _is_known(left: Sequence[Node], right: Sequence[Node]) -> bool:
    if len(left) != 1 or len(right) != 1:
        return False
    a, b = left[0], right[0]
    is_pair = isinstance(a, Anchor) and isinstance(b, Anchor) and a.name == b.name
    return is_pair and not getattr(a, "name", "").startswith("Optimizer.zero_grad")


def _sums(nodes: Sequence[Node]) -> Sums:
    """Of the main thread alone: the time of autograd on another one was nowhere there."""
    return (
        sum(one.host_ns for one in nodes),
        sum(one.device_ns for one in nodes),
        sum(one.total_ns for one in nodes),
    )


# --- tables ---------------------------------------------------------------------------------------


def stored(name: str) -> list[TreeRow]:
    """What it printed of a pair."""
    lines = (TABLES / f"{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows: list[TreeRow] = []
    for line in lines:
        path, label, *cells = line.split("\t")
        a, b, c, d, e, f = map(int, cells)
        rows.append(TreeRow(path, label, (a, b, c), (d, e, f)))
    return rows


def text_of(rows: Sequence[TreeRow]) -> str:
    """The table as it is kept."""
    sums = ("host", "device", "total")
    heads = [f"{side} {what} ns" for side in ("base", "other") for what in sums]
    lines: list[Sequence[object]] = [("path", "name", *heads)]
    lines += [(one.path, one.name, *one.base, *one.other) for one in rows]
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def readable(path: Path, folder: Path) -> Path:
    """A recording with loader, optimizer and steps as operators, which is how it knows them."""
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    for event in document["traceEvents"]:
        if event.get("cat") == "user_annotation" and _MARKS.match(event["name"]):
            event["cat"] = "cpu_op"
        event["cat"] = _CATEGORIES.get(event.get("cat"), event.get("cat", ""))
    return written(document["traceEvents"], folder / f"{path.parent.name}.{path.stem}.json")


def written(events: Sequence[Event], path: Path) -> Path:
    """A trace of these events, and of nothing else."""
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
    return path


def told(folder: Path) -> Iterator[tuple[str, list[TreeRow]]]:
    """Each pair with what the former plugin, as it is installed, says of it."""
    from tests.oracle.former_plugin import former_diff

    for name, files in PAIRS.items():
        yield name, of_former(former_diff(*(readable(one, folder) for one in files())))
    drawn = [written(one, folder / f"{at}.drawn.json") for at, one in enumerate(drawn_pair())]
    yield "drawn", of_former(former_diff(*(readable(one, folder) for one in drawn)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for pair, rows in told(Path(temporary)):
            (TABLES / f"{pair}.tsv").write_text(text_of(rows), encoding="utf-8")
