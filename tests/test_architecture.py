"""The layers point one way, files stay small, and a view keeps its name in every layer.

    base ◄─ trace ◄─ analysis ◄─ views ◄─┐
              ▲                          ├─ session ◄─ web ◄─ cli   handlers: nothing of ours
              └───────── store ◄─────────┘

    base ◄─ api ◄─ state ◄─ components ◄─ timeline ◄─ views ◄─ the files beside them

An import against the arrows fails here. So does a line under the heading *debt* once it is paid.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path, PurePosixPath

import pytest

from tests.conftest import ROOT

# What each layer of the Python package may import beside itself.
PYTHON_LAYERS: Mapping[str, frozenset[str]] = {
    "base": frozenset(),
    "handlers": frozenset(),
    "trace": frozenset({"base"}),
    "analysis": frozenset({"base", "trace"}),
    "views": frozenset({"base", "trace", "analysis"}),
    # The store keeps what a function made of a trace; which function, it is told from above.
    # From the handlers they have how an address of another machine is read: both mean one place.
    "store": frozenset({"base", "trace", "handlers"}),
    "session": frozenset({"base", "trace", "analysis", "views", "store", "handlers"}),
    "web": frozenset({"base", "trace", "analysis", "views", "store", "session"}),
    # From the handlers also: a file that is whole or absent, and what killed recordings left.
    "ask": frozenset({"base", "trace", "analysis", "views", "store", "session", "handlers"}),
    "cli": frozenset(
        {"base", "trace", "analysis", "views", "store", "session", "ask", "web", "handlers"}
    ),
}
# The files beside the layers (`__init__.py`, `notebook.py`) are the public face: they may import
# every layer. From there the layers may take one name.
TOP = "the package itself"
TOP_NAMES = frozenset({"__version__"})

# Each layer of the page may import those before it.
PAGE_LAYERS = ("base", "api", "state", "components", "timeline", "views", TOP)

SOURCE_CAP = 600
TEST_CAP = 900

# --- debt: exceptions, each with the reason why it is still there. They may only become fewer. ----

DEBT: Mapping[str, str] = {}
"""Import, as the failing test prints it → why it is still there."""

LONG_FILES: Mapping[str, int] = {}
"""File over the cap → its number of lines now, which may only fall."""

# --------------------------------------------------------------------------------------------------


def test_python_layers_point_one_way() -> None:
    assert python_faults() - DEBT.keys() == set()


def test_page_layers_point_one_way() -> None:
    assert page_faults() - DEBT.keys() == set()


def test_no_modules_of_the_page_import_each_other() -> None:
    assert page_circles() == []


def test_a_circle_is_found_through_other_modules() -> None:
    imports = {"a": ("b",), "b": ("c",), "c": ("b",), "d": ("a", "c"), "e": ()}
    assert circles(imports) == [["b", "c"]]


def test_every_table_of_the_page_has_headings() -> None:
    """A figure means nothing without what stands above it, in a short list as in a long one."""
    without = {
        path.relative_to(ROOT).as_posix()
        for path in page_sources()
        if ".test." not in path.name
        and (text := path.read_text(encoding="utf-8")).count("<table") != text.count("<thead")
    }
    assert without == set()


def test_handlers_import_only_themselves_and_the_standard_library() -> None:
    assert handler_faults() == set()


def test_debt_is_still_owed() -> None:
    paid = DEBT.keys() - python_faults() - page_faults()
    assert paid == set(), "remove these lines from DEBT"


def test_files_stay_small() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in all_sources()
    }
    too_long = {name: lines for name, lines in lengths.items() if lines > cap_of(name)}
    assert too_long.keys() - LONG_FILES.keys() == set(), "split these files"
    assert {name for name in too_long if too_long[name] > LONG_FILES[name]} == set(), "these grew"
    assert LONG_FILES.keys() - too_long.keys() == set(), "paid: remove these from LONG_FILES"


def test_a_view_has_the_same_name_everywhere() -> None:
    stems = view_stems()
    assert stems, "no file in tb_plugin/views defines VIEW"
    places = {
        "page": ROOT / "frontend/src/views/{}/index.tsx",
        "docs": ROOT / "docs/{}.md",
    }
    missing = {
        (stem, place)
        for stem in stems
        for place, pattern in places.items()
        if not Path(str(pattern).format(stem)).is_file()
    }
    assert missing == set()


BORDERS = frozenset(
    {
        "handlers/compiler/record.py",
        "handlers/loops/adapters.py",
        "handlers/loops/recorder.py",
        "handlers/module_ranges.py",
        "handlers/remote_filesystem.py",
        "handlers/trace_handler.py",
        "tb_plugin/cli/doctor.py",
        "tb_plugin/integrations.py",
        "tb_plugin/session/ingest.py",
        "tb_plugin/session/self_check.py",
        "tb_plugin/store/catalog.py",
        "tb_plugin/store/discovery/poller.py",
        "tb_plugin/store/ingest/pool.py",
        "tb_plugin/store/ingest/worker.py",
        "tb_plugin/web/app.py",
    }
)
"""Where whatever went wrong is logged, recorded or shown, and something goes on; once in each."""


def test_every_exception_is_caught_at_borders_alone() -> None:
    """ARCHITECTURE.md names them under "Where errors end"."""
    counts = {
        name: len(
            re.findall(r"^ *except Exception\b", (ROOT / name).read_text("utf-8"), re.MULTILINE)
        )
        for name in python_modules()
    }
    assert {name: count for name, count in counts.items() if count} == dict.fromkeys(BORDERS, 1)


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_pages_for_developers_name_files_that_exist(page: str) -> None:
    """A path in backticks is one of the repository, or one below the import package."""
    paths = re.findall(
        r"`([\w./-]+/[\w.-]+\.(?:py|tsx?|md|toml))`", (ROOT / page).read_text("utf-8")
    )
    assert len(paths) > 10
    places = (ROOT, ROOT / "tb_plugin", ROOT / "tb_plugin/trace", ROOT / "frontend/src")
    assert [path for path in paths if not any((place / path).is_file() for place in places)] == []


# --- the shape of the house -----------------------------------------------------------------------

WIDEST_FOLDER = 12
CRUMB_LINES = 80
FEW_IMPORTERS_RATIO = 0.27
MEDIAN_LINES = 150

WIDE_FOLDERS: Mapping[str, str] = {
    "benchmarks": "a module measures one thing, and `make bench` runs all that are there",
    "tb_plugin/cli": "a module is a command",
    "tb_plugin/web": "a module is a kind of answer, or how one is served",
    "tb_plugin/analysis/advice": "a module is a family of rules, with all that belongs to them",
    "frontend/src/timeline/draw": "what one frame of the canvas is painted from, a kind a module",
}
"""Folder with more modules than allowed → why one question needs them all."""

PRIVATE_WORDS = re.compile(
    r"errand|shelf|lookout|ledger|wisher|backstage|take_?away|\bartist|forgive|\bloose",
    re.IGNORECASE,
)
"""Words that nobody of the field would look for; the glossary has the ones to use."""


MOST_LINES: Mapping[str, int] = {
    "tb_plugin/base": 3040,
    "tb_plugin/trace": 15_690,
    "tb_plugin/analysis": 47_710,  # what clocks hide of a late rank; forked processes
    "tb_plugin/views": 18_340,
    "tb_plugin/store": 6430,
    "tb_plugin/session": 1560,  # answers that are kept
    "tb_plugin/ask": 2980,  # idle time during any rows without a join
    "tb_plugin/web": 3_385,  # a report: steps, ranges, names, captures; the page in a notebook
    "tb_plugin/cli": 5400,  # the picture of a bridge; links to views; a job of GitHub Actions
    "handlers": 4400,
    "benchmarks": 6_050,  # forty questions and their brute force; planted problems, one recorder
    "native/src": 14_500,
    "frontend/src": 52_330,  # the head of a recording above its tracks
}
"""Layer → lines that it may have, just above what it has.

A feature that needs more raises its layer, and its commit says why; what is cut lowers it again.
"""


def test_layers_do_not_grow_unnoticed() -> None:
    sizes = {layer: lines_of(layer) for layer in MOST_LINES}
    assert {layer: size for layer, size in sizes.items() if size > MOST_LINES[layer]} == {}
    unused = {layer for layer, size in sizes.items() if size < 0.8 * MOST_LINES[layer]}
    assert unused == set(), "lower these: the layers have shrunk"
    layers = {path.parent.name for path in (ROOT / "tb_plugin").glob("*/__init__.py")}
    assert {f"tb_plugin/{name}" for name in layers} <= MOST_LINES.keys()


def lines_of(layer: str) -> int:
    """Lines that people write in the sources below a folder, tests beside them included."""
    sources = ("*.py", "*.rs", "*.ts", "*.tsx")
    paths = {path for ending in sources for path in (ROOT / layer).rglob(ending)}
    return sum(
        len(path.read_text("utf-8").splitlines())
        for path in paths
        if ".gen." not in path.name and "static" not in path.parts
    )


def test_folders_stay_narrow() -> None:
    """A folder answers one question; what needs more than twelve modules is two questions."""
    wide = {name for name, count in modules_by_folder().items() if count > WIDEST_FOLDER}
    assert wide == set(WIDE_FOLDERS)


def test_no_module_is_a_crumb() -> None:
    """A short module that only its neighbour imports belongs into that neighbour."""
    assert {name for name in (*python_modules(), *page_modules()) if is_crumb(name)} == set()


def test_modules_are_deep() -> None:
    """Most modules have several importers, and most have something behind their interface."""
    modules = [name for name in python_modules() if name.startswith("tb_plugin/")]
    lone = [name for name in modules if len(importers()[name]) == 1]
    assert len(lone) <= FEW_IMPORTERS_RATIO * len(modules)
    assert sorted(line_count(name) for name in modules)[len(modules) // 2] >= MEDIAN_LINES


def test_a_public_class_has_a_name_of_its_own() -> None:
    """One thing per word: two classes of one name would be told apart by their imports alone."""
    found: dict[str, set[str]] = {}
    for name in python_modules():
        if not name.startswith("tb_plugin/"):
            continue
        for node in ast.parse((ROOT / name).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, set()).add(name)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_names_are_words_of_the_field() -> None:
    assert {fault for name in python_modules() for fault in private_names(name)} == set()
    assert [name for name in page_modules() if PRIVATE_WORDS.search(name)] == []


def private_names(name: str) -> Iterator[str]:
    """Modules, classes, functions and variables that are named by a private word."""
    if name.startswith("tests/"):
        return
    names = {PurePosixPath(name).stem}
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    yield from (f"{name}: {one}" for one in sorted(names) if PRIVATE_WORDS.search(one))


def is_crumb(name: str) -> bool:
    """Whether a module is short and serves one neighbour; what is loaded later is a file anyway."""
    found = importers()[name]
    if len(found) != 1 or line_count(name) >= CRUMB_LINES or name in loaded_later():
        return False
    return PurePosixPath(min(found)).parent == PurePosixPath(name).parent


@cache
def importers() -> Mapping[str, set[str]]:
    """Module → the modules that import it, both from the root of the repository."""
    found: dict[str, set[str]] = {name: set() for name in (*python_modules(), *page_modules())}
    for name in python_modules():
        if name.startswith("tb_plugin/"):
            for target in python_targets(name):
                if target in found and target != name:
                    found[target].add(name)
    for name in page_modules():
        for target in page_targets(name):
            found[target].add(name)
    return found


def python_targets(name: str) -> Iterator[str]:
    """The modules of the package that a module imports."""
    package = PurePosixPath(name).parts[1:-1]
    source = (ROOT / name).read_text(encoding="utf-8")
    for module, names in imported_modules(source, package):
        if module[:1] == ("",):
            base = PurePosixPath("tb_plugin", *module[1:])
            for one in names:
                inner = f"{base}/{one}.py"
                yield inner if (ROOT / inner).is_file() else f"{base}.py"


def page_targets(name: str) -> Iterator[str]:
    """The modules of the page that a module imports."""
    source = (ROOT / name).read_text(encoding="utf-8")
    for match in IMPORT.finditer(source):
        path = next(group for group in match.groups() if group is not None)
        if path.startswith("."):
            target = resolve(PurePosixPath(name).parent, path).as_posix()
            for ending in ("", ".ts", ".tsx", "/index.ts", "/index.tsx"):
                if f"{target}{ending}" in page_modules():
                    yield f"{target}{ending}"


@cache
def loaded_later() -> frozenset[str]:
    """Modules of the page that are files of their own in the browser: `import()` and workers."""
    found = set()
    for name in page_modules():
        source = (ROOT / name).read_text(encoding="utf-8")
        for match in IMPORT.finditer(source):
            path = match[2] or match[3]
            if path and path.startswith("."):
                target = resolve(PurePosixPath(name).parent, path).as_posix()
                found |= {f"{target}{ending}" for ending in ("", ".ts", ".tsx")}
    return frozenset(found)


@cache
def python_modules() -> tuple[str, ...]:
    """The modules that people write in Python, from the root; packages' own files left out."""
    return tuple(
        name
        for folder in ("tb_plugin", "handlers", "tools", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name not in {"__init__.py", "__main__.py"} and "static" not in path.parts
        for name in (path.relative_to(ROOT).as_posix(),)
    )


@cache
def page_modules() -> tuple[str, ...]:
    """The modules of the page, from the root; tests left out."""
    return tuple(
        path.relative_to(ROOT).as_posix() for path in page_sources() if ".test." not in path.name
    )


def modules_by_folder() -> Counter[str]:
    """Folder → how many modules lie in it."""
    return Counter(
        PurePosixPath(name).parent.as_posix() for name in (*python_modules(), *page_modules())
    )


def line_count(name: str) -> int:
    """Lines of a file."""
    return len((ROOT / name).read_text(encoding="utf-8").splitlines())


# --- Python -------------------------------------------------------------------------------------


def python_faults() -> set[str]:
    """Every import of the package that points the wrong way."""
    return faults_below(
        ROOT / "tb_plugin", "*.py", partial(wrong_python_imports, stems=view_stems())
    )


def wrong_python_imports(
    name: str, source: str, stems: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Imports that the layers forbid, as `file → imported`; `name` is relative to tb_plugin."""
    here = PurePosixPath(name)
    package = here.parts[:-1]
    layer = package[0] if package else TOP
    for module, names in imported_modules(source, package):
        if module[:1] == ("kinetoscope",):
            yield f"{name} → {'.'.join(module)} (imports inside the package are relative)"
        elif module[:1] != ("",):
            continue
        elif any(not allowed(layer, target) for target in targets(module[1:], names)):
            yield f"{name} → {'.'.join(module[1:]) or TOP}"
        elif layer == "views" and (other := other_view(here, module[1:], names, stems)):
            yield f"{name} → views.{other} (a view never imports another view)"


def imported_modules(
    source: str, package: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Each imported module with the names taken from it.

    Modules of our own package begin with an empty part: `from ..web import app` in `trace/x.py` is
    `("", "web")`. Other modules are given as they are written.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield tuple(alias.name.split(".")), ()
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level == 0:
                yield module, names
            else:
                above = package[: len(package) - node.level + 1]
                yield ("", *above, *module), names


def targets(module: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """The layers that an import reaches; `from .. import web` reaches the layer web."""
    if module:
        return (module[0] if module[0] in PYTHON_LAYERS else TOP,)
    return tuple(name if name in PYTHON_LAYERS else TOP for name in names if name not in TOP_NAMES)


def allowed(layer: str, target: str) -> bool:
    """Whether a file of this layer may import from that one."""
    return layer in {TOP, target} or target in PYTHON_LAYERS.get(layer, ())


def other_view(
    here: PurePosixPath, module: tuple[str, ...], names: tuple[str, ...], stems: frozenset[str]
) -> str | None:
    """The other view that a view imports. The registry, `__init__.py`, imports them all."""
    if here.as_posix() == "views/__init__.py" or module[:1] != ("views",):
        return None
    imported = {module[1]} if len(module) > 1 else set(names)
    # A file that no view owns is shared by them, and lies below them all.
    return min((imported & stems) - {owner(here)}, default=None)


def owner(path: PurePosixPath) -> str:
    """The view that a file belongs to: a file below `views`, or a folder of them."""
    return PurePosixPath(path.parts[1]).name.split(".")[0] if len(path.parts) > 1 else ""


def view_stems() -> frozenset[str]:
    """The views: folders and files of tb_plugin/views in which `VIEW` is defined."""
    views = ROOT / "tb_plugin/views"
    return frozenset(
        owner(PurePosixPath(path.relative_to(views.parent)))
        for path in (*views.glob("*.py"), *views.glob("*/view.py"))
        if re.search(r"^VIEW\b.*=", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def handler_faults() -> set[str]:
    """Every import that a training job must not pay for."""
    return faults_below(ROOT / "handlers", "*.py", wrong_handler_imports)


OF_THE_JOB = frozenset({"fsspec", "lightning", "pytorch_lightning", "torch", "transformers"})
"""Packages that are there because the training uses them, or writes to another machine."""


def wrong_handler_imports(name: str, source: str) -> Iterator[str]:
    """Imports that a training job must not pay for; inside functions those of its own."""
    package = PurePosixPath(name).parts[:-1]
    tree = ast.parse(source)
    lazy = {
        id(node)
        for function in ast.walk(tree)
        if is_function(function)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            if node.level > len(package) + 1:
                yield f"{name} → {'.' * node.level}{node.module or ''}"
            continue
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            root = module.split(".")[0]
            if root not in sys.stdlib_module_names and not (
                root in OF_THE_JOB and id(node) in lazy
            ):
                yield f"{name} → {module}"


def is_function(node: ast.AST) -> bool:
    """Whether the node's body runs later than the import of its module."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


# --- the page -----------------------------------------------------------------------------------

IMPORT = re.compile(
    r"""^\s*(?:import|export)\b[^"'`;]*?["']([^"']+)["']"""  # import x from "y", export … from "y"
    r"""|\bimport\(\s*["']([^"']+)["']\s*\)"""  # import("y")
    r"""|new\s+URL\(\s*["']([^"']+)["']\s*,\s*import\.meta\.url""",  # workers
    re.MULTILINE,
)


def page_faults() -> set[str]:
    """Every import of the page that points the wrong way."""
    find = partial(wrong_page_imports, stems=view_stems())
    return faults_below(ROOT / "frontend/src", "*.ts*", find)


def wrong_page_imports(
    name: str, source: str, stems: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Imports that the layers of the page forbid; `name` is relative to frontend/src."""
    here = PurePosixPath(name)
    layer = page_layer(here)
    for match in IMPORT.finditer(source):
        path = next(group for group in match.groups() if group is not None)
        if not path.startswith("."):
            continue
        target = resolve(here.parent, path)
        # Tokens and rules of the look lie below everything, and so does what is outside src.
        if target.parts[:1] in {("styles",), ("..",)}:
            continue
        if PAGE_LAYERS.index(page_layer(target)) > PAGE_LAYERS.index(layer):
            yield f"{name} → {target}"
        elif layer == "views" == page_layer(target) and is_other_page_view(here, target, stems):
            yield f"{name} → {target} (a view never imports another view)"


def page_circles() -> list[list[str]]:
    """Groups of the page's modules that import each other, directly or through others."""
    folder = ROOT / "frontend/src"
    modules = {path.relative_to(folder).with_suffix("").as_posix(): path for path in page_sources()}
    imports: dict[str, tuple[str, ...]] = {}
    for name, path in modules.items():
        found = (
            next(filter(None, m.groups()), "") for m in IMPORT.finditer(path.read_text("utf-8"))
        )
        targets = (resolve(PurePosixPath(name).parent, one) for one in found if one[:1] == ".")
        wanted = ((str(target), f"{target}/index") for target in targets)
        imports[name] = tuple(one for pair in wanted for one in pair if one in modules)
    return circles(imports)


def circles(imports: dict[str, tuple[str, ...]]) -> list[list[str]]:
    """The strongly connected components of more than one node."""
    below = {name: reachable(name, imports) for name in imports}
    found = {
        tuple(sorted(other for other in below[name] if name in below[other]))
        for name in imports
        if name in below[name]
    }
    return sorted(map(list, found))


def reachable(name: str, imports: dict[str, tuple[str, ...]]) -> set[str]:
    """What a module imports, and what that imports."""
    seen: set[str] = set()
    waiting = list(imports[name])
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += imports[one]
    return seen


def page_layer(path: PurePosixPath) -> str:
    """The layer that a file of the page belongs to."""
    return path.parts[0] if len(path.parts) > 1 and path.parts[0] in PAGE_LAYERS else TOP


def resolve(folder: PurePosixPath, path: str) -> PurePosixPath:
    """`../api/client` seen from `views` is `api/client`."""
    return PurePosixPath(os.path.normpath(folder / path.partition("?")[0]))


def is_other_page_view(here: PurePosixPath, target: PurePosixPath, stems: frozenset[str]) -> bool:
    """Whether one view reaches into another; the registry, `index.ts`, reaches into all."""
    return owner(here) != "index" and owner(target) in stems - {owner(here)}


# --- files --------------------------------------------------------------------------------------


def faults_below(folder: Path, pattern: str, find: Callable[[str, str], Iterable[str]]) -> set[str]:
    """What `find` says of all files of a folder, given their relative names and their texts."""
    return {
        fault
        for path in sorted(folder.rglob(pattern))
        for fault in find(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8"))
    }


def page_sources() -> list[Path]:
    """Sources of the page that people write."""
    found = (ROOT / "frontend/src").rglob("*.ts*")
    return sorted(path for path in found if ".gen." not in path.name)


def all_sources() -> Iterator[Path]:
    """Every file in which people write code."""
    yield ROOT / "setup.py"
    for folder in ("tb_plugin", "handlers", "tools", "benchmarks", "samples", "tests"):
        yield from (ROOT / folder).rglob("*.py")
    yield from page_sources()


def cap_of(name: str) -> int:
    """How long a file may be; a test reads top to bottom and may be longer."""
    return TEST_CAP if name.startswith("tests/") or ".test." in name else SOURCE_CAP


# --- the rules themselves can fail ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line", "wrong"),
    [
        ("trace/model.py", "from ..web.static import find", ["trace/model.py → web.static"]),
        ("trace/model.py", "from .. import web", [f"trace/model.py → {TOP}"]),
        ("trace/model.py", "from ..base.errors import TraceFormatError", []),
        ("trace/model.py", "from .raw import RawTrace", []),
        ("trace/era/kineto.py", "from ...store import cache", ["trace/era/kineto.py → store"]),
        ("views/overview.py", "from ..store import catalog", ["views/overview.py → store"]),
        ("web/app.py", "from ..cli import main", ["web/app.py → cli"]),
        ("web/app.py", "from .. import __version__", []),
        ("web/app.py", "from ..notebook import open_trace", ["web/app.py → notebook"]),
        ("notebook.py", "from .store import catalog", []),
        (
            "cli/show.py",
            "from kinetoscope.web import app",
            ["cli/show.py → kinetoscope.web (imports inside the package are relative)"],
        ),
        (
            "base/units.py",
            "def f() -> None:\n    from ..trace import model",
            ["base/units.py → trace"],
        ),
    ],
)
def test_a_python_import_against_the_arrows_is_found(
    name: str, line: str, wrong: list[str]
) -> None:
    assert list(wrong_python_imports(name, line)) == wrong


@pytest.mark.parametrize(
    ("name", "line", "other"),
    [
        ("views/health.py", "from .overview.view import Sentence", "overview"),
        ("views/kernels/rows.py", "from ..overview.legend import rows", "overview"),
        ("views/health.py", "from . import overview", "overview"),
        ("views/overview/view.py", "from .legend import rows", None),
        ("views/overview/view.py", "from . import legend", None),
        ("views/health.py", "from .table import Table", None),
        ("views/shared.py", "from .overview.view import VIEW", "overview"),
        ("views/__init__.py", "from . import overview, health", None),
    ],
)
def test_a_view_that_imports_another_view_is_found(name: str, line: str, other: str | None) -> None:
    wrong = [f"{name} → views.{other} (a view never imports another view)"] if other else []
    assert list(wrong_python_imports(name, line, frozenset({"overview", "health"}))) == wrong


@pytest.mark.parametrize(
    ("name", "line", "wrong"),
    [
        ("base/format.ts", 'import { get } from "../api/client";', ["base/format.ts → api/client"]),
        ("views/x.tsx", 'import { get } from "../api/client";', []),
        ("api/client.ts", 'export * from "../views/index";', ["api/client.ts → views/index"]),
        ("api/client.ts", 'const m = await import("../app");', ["api/client.ts → app"]),
        (
            "state/url.ts",
            'import type {\n  A,\n} from "../components/a";',
            ["state/url.ts → components/a"],
        ),
        ("components/table.tsx", 'import css from "../styles/table.css?inline";', []),
        ("components/table.tsx", 'import "react";', []),
    ],
)
def test_a_page_import_against_the_arrows_is_found(name: str, line: str, wrong: list[str]) -> None:
    assert list(wrong_page_imports(name, line)) == wrong


@pytest.mark.parametrize(
    ("name", "path", "other"),
    [
        ("views/health/index.tsx", "../overview", True),
        ("views/health/rows.tsx", "../overview/rows", True),
        ("views/health/index.tsx", "./rows", False),
        ("views/health/files/table.tsx", "../rows", False),
        ("views/health/index.tsx", "../heading", False),
        ("views/index.ts", "./overview", False),
    ],
)
def test_a_page_view_that_imports_another_view_is_found(name: str, path: str, other: bool) -> None:
    source = f'import {{ X }} from "{path}";'
    assert bool([*wrong_page_imports(name, source, frozenset({"overview", "health"}))]) is other


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("import torch", ["x.py → torch"]),
        ("def f() -> None:\n    import torch.distributed", []),
        ("def f() -> None:\n    import numpy", ["x.py → numpy"]),
        ("from ..base import errors", ["x.py → ..base"]),
        ("from .naming import TraceName", []),
        ("import gzip, json", []),
    ],
)
def test_an_import_that_a_job_would_pay_for_is_found(line: str, wrong: list[str]) -> None:
    assert list(wrong_handler_imports("x.py", line)) == wrong
