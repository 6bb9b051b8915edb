"""Which planted faults do the tests of analysis and views notice?

    make mutants                                   60 faults in analysis/ and views/
    make mutants PATHS="tb_plugin/analysis/idle"   in one folder
    python tools/measure/mutants.py --sample 200 --seed 7 PATHS

A fault is one comparison, operator or number changed in memory (``plant``): no file is touched.
What cannot matter is left alone: annotations, options of a class, ``strict=``, −1 for "none". First
``reach`` runs the tests once (minutes) and keeps in ``build/reach.json`` which of them run a line;
``--again`` does that anew. Then each fault meets the tests that run its line, those beside its
module first; tests that never end notice it, too. Exit status 1 if fewer than ``--at-least`` of
the faults were noticed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PATHS = ("tb_plugin/analysis", "tb_plugin/views")
TESTS = ROOT / "tests"
VIEWED = ("analysis", "views")
"""Two layers whose tests are run together: a view shows what the analysis of its noun finds."""
NOTICED, MISSED, TIMED_OUT = "noticed", "missed", "timeout"
FIGURES = (
    "tests/test_figures.py",
    "tests/views/test_drawn_answers.py",
    "tests/views/test_drawn_ops.py",
)
REACH = ROOT / "build/reach.json"
_SECONDS = 300
_ENOUGH = 20.0
"""Seconds of tests after which a fault is missed."""
_MOST_FILES = 4
"""Test files beside a module that are run for what no test function reaches."""
_SMALL = 16
"""Up to here a number is changed to the next one; a larger bound is doubled."""
_FORMAL = frozenset({"strict", "frozen", "slots", "kw_only", "eq", "order", "repr", "compare"})
"""Options of classes and of ``zip`` without effect on a figure."""
_PIECES = re.compile(r"^_?(CHUNK|FIRST_LOOK|MOST_KEPT|PIECE_BYTES|STORED_FROM|TABLE_CELLS)$")
"""Names of numbers that say how much is done at a time, or from where on another way is faster.

Answers are the same: tests set such a number to one or two, and compare.
"""
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_WORDS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_WORDS |= {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


class Mutant(NamedTuple):
    """One fault: the text ``was`` at byte ``start`` of a file replaced by ``text``."""

    path: str
    line: int
    start: int
    was: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.was} → {self.text}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant a sample of faults one by one; print what happened to each, and the share noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", default=PATHS)
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="run all tests to see what they reach")
    parser.add_argument("--at-least", type=float, default=0.0, metavar="SHARE")
    given = parser.parse_args(arguments)
    mutants = sample(given.paths, given.sample, given.seed)
    if given.again or not REACH.exists():
        REACH.parent.mkdir(exist_ok=True)
        every = [*(f"tests/{one}" for one in VIEWED), FIGURES[0]]
        pytest_of(every, "-p", "reach", seconds=3600, KINETOSCOPE_REACH=str(REACH))
    reach = json.loads(REACH.read_text("utf-8"))
    outcomes: dict[Mutant, tuple[str, str]] = {}
    for number, mutant in enumerate(mutants, 1):
        begun = time.monotonic()
        outcomes[mutant] = outcome_of(mutant, tests_of(mutant, reach))
        seconds = time.monotonic() - begun
        print(f"{number:3} {outcomes[mutant][0]:8} {seconds:4.0f} s  {mutant}", flush=True)
    broken = failing_anyway([test for _, test in outcomes.values() if test])
    for test in broken:
        print(f"{test} fails without a fault, too: what it noticed does not count")
    noticed = sum(kind != MISSED and test not in broken for kind, test in outcomes.values())
    share = noticed / max(1, len(mutants))
    print(f"{noticed} of {len(mutants)} faults noticed: {share:.0%}")
    return int(share < given.at_least)


def sample(paths: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Faults drawn at random from all that can be planted below the paths."""
    files = sorted(
        {
            one
            for path in paths
            for one in ((ROOT / path).rglob("*.py") if (ROOT / path).is_dir() else [ROOT / path])
        }
    )
    found = [mutant for path in files for mutant in mutants_of(path)]
    return random.Random(seed).sample(found, min(count, len(found)))  # noqa: S311  no secret


def outcome_of(mutant: Mutant, tests: Sequence[str]) -> tuple[str, str]:
    """Run tests with the fault planted; the outcome, and the failing test."""
    if not tests:
        return MISSED, ""
    fault = "\t".join((str(ROOT / mutant.path), str(mutant.start), mutant.was, mutant.text))
    try:
        run = pytest_of(tests, "-p", "plant", "-x", KINETOSCOPE_MUTANT=fault)
    except subprocess.TimeoutExpired:
        return TIMED_OUT, ""
    failed = failures(run.stdout)
    if run.returncode < 0:  # ended by a signal, as where a library aborts
        return NOTICED, ""
    if run.returncode not in (0, 1) and not failed:
        raise RuntimeError(f"pytest ended with {run.returncode}: {run.stdout}{run.stderr}")
    return (NOTICED, failed[0]) if failed else (MISSED, "")


def failing_anyway(tests: Sequence[str]) -> set[str]:
    """Those of the tests that fail without a fault."""
    return set(failures(pytest_of([*dict.fromkeys(tests)]).stdout)) if tests else set()


def pytest_of(
    tests: Sequence[str], *options: str, seconds: float = _SECONDS, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run tests in a process of their own, with the plugins of this folder."""
    places = (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-m", "not slow", "--tb=no", *options, *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), **environment},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def failures(output: str) -> list[str]:
    """The tests that failed, by their names on the command line of pytest."""
    return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", output, re.MULTILINE)


def tests_of(mutant: Mutant, reach: dict[str, Any]) -> list[str]:
    """Test functions that run the line of a fault, those beside its module first, then the fast.

    A line of a module's top level counts for all lines that mention the name it binds.
    """
    names = [*reach["seconds"]]
    lines = {int(line): tests for line, tests in reach["lines"].get(mutant.path, {}).items()}
    found = set(lines.get(max((one for one in lines if one <= mutant.line), default=0), ()))
    if not found and (name := _bound(mutant)):
        word = re.compile(rf"\b{name}\b")
        for path, reached in reach["lines"].items():
            source = (ROOT / path).read_text("utf-8").splitlines()
            for line, tests in reached.items():
                if word.search(source[int(line) - 1]):
                    found.update(tests)
    if not found:  # it runs while its module is imported
        return [*tests_beside(mutant.path)[:_MOST_FILES], *FIGURES]
    beside = {file: rank for rank, file in enumerate(tests_beside(mutant.path))}
    seconds: dict[str, float] = reach["seconds"]
    chosen: list[str] = []
    total = 0.0
    for test in sorted(
        {names[one] for one in found},
        key=lambda one: (beside.get(one.partition("::")[0], 1 << 20), seconds.get(one, 0.0)),
    ):
        total += seconds.get(test, 0.0)
        # What all views answer takes little time: it is never left out.
        if not chosen or total <= _ENOUGH or test.startswith(FIGURES):
            chosen.append(test)
    return chosen


def _bound(mutant: Mutant) -> str:
    """The name that the statement around a fault binds at the top level of its module or class."""
    tree = ast.parse((ROOT / mutant.path).read_bytes())
    inner = [node for top in tree.body if isinstance(top, ast.ClassDef) for node in top.body]
    for node in [*tree.body, *inner]:
        if isinstance(node, ast.Assign | ast.AnnAssign) and (
            node.lineno <= mutant.line <= (node.end_lineno or 0)
        ):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            return target.id if isinstance(target, ast.Name) else ""
    return ""


def tests_beside(path: str) -> list[str]:
    """Test files that import a module, then those of its folder and of its noun's view."""
    module = Path(path)
    dotted = ".".join(("kinetoscope", *module.with_suffix("").parts[1:]))
    package, _, name = dotted.rpartition(".")
    imports = (f"{dotted} import", f"import {dotted}", f"{package} import {name}")
    layer, noun = dotted.split(".")[1:3]
    folder = TESTS / Path(*module.parts[1:-1])
    while not folder.is_dir():
        folder = folder.parent
    layers = [TESTS / one for one in (VIEWED if layer in VIEWED else (layer,))]
    every = sorted(TESTS.rglob("test_*.py"), key=lambda test: layers[0] not in test.parents)
    found = [
        test for test in every if any(text in test.read_text(encoding="utf-8") for text in imports)
    ]
    found += sorted(folder.glob("test_*.py")) if not found or folder not in layers else []
    for one in layers:
        found += [*one.glob(f"test_{noun}.py"), *sorted(one.glob(f"{noun}/test_*.py"))]
    if layer == "views":
        found.append(TESTS / "views/test_headings.py")
    return [test.relative_to(ROOT).as_posix() for test in dict.fromkeys(found)]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All faults that can be planted in a file, one at a time."""
    data = path.read_bytes()
    lines = [0]
    for line in data.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    name = path.relative_to(ROOT).as_posix()

    def between(left: ast.expr, right: ast.expr, was: str, text: str) -> Iterator[Mutant]:
        start = lines[(left.end_lineno or 1) - 1] + (left.end_col_offset or 0)
        at = data.find(was.encode(), start, lines[right.lineno - 1] + right.col_offset)
        if at >= 0:
            line = data.count(b"\n", 0, at) + 1
            yield Mutant(name, line, at, was, text)

    for node in _code(ast.parse(data)):
        if isinstance(node, ast.Compare):
            left = node.left
            for comparison, right in zip(node.ops, node.comparators, strict=True):
                kind = type(comparison)
                yield from between(left, right, _WORDS[kind], _COMPARISONS[kind])
                left = right
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            yield from between(node.left, node.right, *_OPERATORS[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, *words)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            start = lines[node.lineno - 1] + node.col_offset
            end = lines[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
            was = data[start:end].decode()
            yield Mutant(name, node.lineno, start, was, _other(node.value))


def _other(value: object) -> str:
    """Another value: the opposite, the next integer or twice a large one, or well above."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1 if value <= _SMALL else 2 * value)
    return f"({value} * 1.8 + 0.01)"


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one that run and can matter."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and not _is_formal(node, child):
                yield child
                inner = _code(child)
                if _is_guard(node, child):
                    inner = (one for one in inner if not isinstance(one, ast.Constant))
                yield from inner


def _is_formal(parent: ast.AST, node: ast.AST) -> bool:
    """True for options of a class, ``__all__``, unions of types, sizes of pieces, −1 for "none"."""
    if isinstance(node, ast.keyword):
        return isinstance(parent, ast.ClassDef) or node.arg in _FORMAL
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return not isinstance(parent, ast.Subscript | ast.Slice) and ast.unparse(node) == "-1"
    if isinstance(node, ast.Assign):
        name = ast.unparse(node.targets[0])
        return name == "__all__" or bool(_PIECES.match(name)) or _is_type(node.value)
    return False


def _is_guard(parent: ast.AST, node: ast.AST) -> bool:
    """True for ``max(…, 1)`` as a divisor, and for ``max(…, 0)`` as a place in an array."""
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div | ast.FloorDiv):
        is_guarded = node is parent.right
    else:
        is_guarded = isinstance(parent, ast.Subscript) and node is parent.slice
    return is_guarded and name in ("max", "np.maximum")


def _is_type(node: ast.AST) -> bool:
    """True for ``int | None``, ``tuple[str, int]`` and the like."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_type(node.left) and _is_type(node.right)
    if isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node) == "None" or (
        (isinstance(node, ast.Name) and (node.id[:1].isupper() != node.id.isupper()))
        or ast.unparse(node) in ("int", "str", "float", "bool", "tuple", "dict", "list")
    )


if __name__ == "__main__":
    sys.exit(main())
