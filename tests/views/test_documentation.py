"""The pages of docs/ name everything that a reader can meet on screen."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import kinetoscope
from kinetoscope.analysis.advice import RULES, Rule
from kinetoscope.analysis.recording import QUESTIONS
from kinetoscope.cli.entry import main
from kinetoscope.trace.health.notes import CATALOG
from kinetoscope.views.legend import BREAKDOWN, GAUGES, HOST, PARTITION, LegendEntry
from kinetoscope.views.memory.rows import LABELS
from kinetoscope.views.timeline import view as timeline
from kinetoscope.views.timeline.common import KINDS
from kinetoscope.views.view import Part as ViewPart
from tests.conftest import ROOT

COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "samples/README.md")),
    )
}
FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
OVERVIEW = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8")
MEMORY = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
TIMELINE = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
HTTP = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
HEALTH = (ROOT / "docs" / "health.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", [*PARTITION, *HOST, *BREAKDOWN], ids=lambda part: part.key)
def test_every_part_of_a_step_is_defined(part: LegendEntry) -> None:
    assert f"| {part.label} |" in OVERVIEW


@pytest.mark.parametrize("label", [label for label, _ in GAUGES.values()])
def test_every_figure_of_a_device_has_its_formula(label: str) -> None:
    assert f"| {label} |" in OVERVIEW


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_is_listed(rule: Rule) -> None:
    assert f"| {rule.id} |" in FINDINGS


@pytest.mark.parametrize("kind", CATALOG)
def test_every_note_is_listed(kind: str) -> None:
    assert f"| `{kind}` |" in HEALTH


@pytest.mark.parametrize("question", [question for question, _ in QUESTIONS])
def test_every_question_is_listed(question: str) -> None:
    assert f"| {question} |" in HEALTH


@pytest.mark.parametrize("label", LABELS.values())
def test_every_category_of_memory_has_its_rules(label: str) -> None:
    assert f"| {label} |" in MEMORY


@pytest.mark.parametrize("label", [label for _, label in KINDS.values()])
def test_every_kind_of_slice_is_defined(label: str) -> None:
    assert f"| {label} |" in TIMELINE


@pytest.mark.parametrize("part", timeline.VIEW.parts, ids=lambda part: part.stem)
def test_every_part_of_the_trace_view_is_listed_with_its_parameters(part: ViewPart) -> None:
    (row,) = [line for line in HTTP.splitlines() if line.startswith(f"| `{part.stem}` |")]
    for name in part.query.__struct_fields__:
        assert f"`{name}`" in row


# --- the command line -----------------------------------------------------------------------------


def _options(command: click.Command) -> set[str]:
    named = (name for one in command.params for name in (*one.opts, *one.secondary_opts))
    return {name for name in named if name.startswith("--")}


def _every_command() -> dict[str, click.Command]:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    show = found["show"]
    assert isinstance(show, click.Group)
    found |= {
        f"show {name}": show.get_command(context, name) for name in show.list_commands(context)
    }
    return {name: command for name, command in found.items() if command is not None}


FOREIGN = {"--logdir_spec", "--help", "--profiler-config"}
"""TensorBoard's, the one that click adds, and vLLM's."""


def _lines_of_code(text: str) -> list[str]:
    """What stands in blocks of code and between backticks."""
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [line for block in blocks for line in block.splitlines()] + spans


# The options of these pages are those of benchmarks, tools and samples.
OF_OTHERS = {"docs/benchmarks.md", "CONTRIBUTING.md", "samples/README.md"}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in OF_OTHERS])
def test_every_command_and_option_of_the_docs_is_there(page: str) -> None:
    commands = _every_command()
    known = {option for command in commands.values() for option in _options(command)} | FOREIGN
    for line in _lines_of_code(PAGES[page]):
        words = line.partition(" #")[0].split()
        if words[:1] == ["kinetoscope"] or line.startswith("--"):
            assert set(re.findall(r"(?<![\w-])--[a-z][\w-]+", " ".join(words))) <= known, line
        if words[:1] != ["kinetoscope"] or len(words) < 2 or words[1].isupper():
            continue
        name = words[1]
        if name == "show" and len(words) > 2 and not words[2].isupper():
            name = f"show {words[2].replace('-', '_')}"
        assert name in commands, line
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert given <= _options(commands[name]) | {"--help"} or name == "show", line


@pytest.mark.parametrize("name", ["serve", "demo", "doctor"])
def test_every_option_of_a_command_is_documented(name: str) -> None:
    assert [o for o in _options(_every_command()[name]) if o not in COMMAND_LINE] == []


def test_options_common_to_all_views_are_documented() -> None:
    common = set.intersection(*(_options(c) for n, c in _every_command().items() if "show " in n))
    assert [option for option in common if option not in COMMAND_LINE] == []


def test_every_environment_variable_is_documented_and_read() -> None:
    pattern = re.compile(r"(?<!_)KINETOSCOPE_[A-Z_]+")  # with _ before it is click's own
    sources = [*(ROOT / "tb_plugin").rglob("*.py"), *(ROOT / "handlers").rglob("*.py")]
    read = {name for path in sources for name in pattern.findall(path.read_text("utf-8"))}
    # Those of the tests and of the build are in CONTRIBUTING.md.
    pages = [text for page, text in PAGES.items() if page != "CONTRIBUTING.md"]
    told = {name for text in pages for name in pattern.findall(text)}
    assert told - {"KINETOSCOPE_TRACES"} == read
    assert set(pattern.findall(COMMAND_LINE)) == read


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_of_the_docs_are_there(page: str) -> None:
    folder = (ROOT / page).parent
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", PAGES[page]):
        assert "://" in target or (folder / target).exists(), target


# --- what else a page names -----------------------------------------------------------------------


def _sources() -> str:
    """The texts of the programs, without the ends of their lines and of strings there."""
    folders = ("frontend/src", "tb_plugin", "handlers", "vscode/src")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    kept = [path for path in files if path.suffix in {".py", ".ts", ".tsx"}]
    texts = [path.read_text("utf-8") for path in (*kept, ROOT / "vscode/package.json")]
    return re.sub(r"\s+", " ", re.sub(r'"\s+f?"', "", "\n".join(texts)))


SOURCES = _sources()
NO_LABELS = {
    "Allocations per step": "the begin of a sentence",
    "Latency-bound": "the begin of a sentence",
    "Without a category": "the begin of a sentence",
    "Which launch": "the head of a list",
    "Est. Achieved Occupancy": "the former plugin's",
    "Est. SM Efficiency": "the former plugin's",
    "How much must fit": "the head of a list",
    "Which capture in it": "the head of a list",
    "Branches (29, 35)": "an example of a name of a track",
    "Compare the … that are read": "a number stands in it",
    "Frames open in …": "the name of an editor stands in it",
    "Kinetoscope: Show or hide time per line": "category and title of a command in VS Code",
    "No device was available to this torch, 2.13.0+cu130.": "a version stands in it",
    "Python: your code": "what is chosen stands in it",
    "Stream 24 (captured 20)": "an example of a name of a track",
}
"""What a page sets in italics, and no source holds as it stands → why."""


def _labels(text: str) -> set[str]:
    """What is in italics and begins with a capital, but for questions and what code is part of."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    found = re.findall(r"(?<![*\w])\*([A-Z][^*\n`?]+)\*(?![*\w])", text)
    return {part.strip() for one in found for part in one.split(" → ")}


def test_every_label_of_the_docs_is_there() -> None:
    shown = [text for page, text in PAGES.items() if page not in OF_OTHERS]
    named = {label for text in shown for label in _labels(text)}
    missing = {label for label in named if label.rstrip(".:,") not in SOURCES}
    assert missing == NO_LABELS.keys()


@pytest.mark.parametrize("page", PAGES)
def test_every_file_of_the_repository_that_the_docs_name_is_there(page: str) -> None:
    named = re.findall(
        r"`((?:action|benchmarks|docs|frontend|handlers|native|samples|tb_plugin|tests|tools|vscode)"
        r"/[\w./-]*)`",
        PAGES[page],
    )
    made = ("tb_plugin/static", "tb_plugin/native", "native/target", "samples/traces/")
    assert [x for x in named if not x.startswith(made) and not (ROOT / x).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_module_and_target_that_the_docs_run_is_there(page: str) -> None:
    for line in _lines_of_code(PAGES[page]):
        for name in re.findall(r"python -m ((?:benchmarks|kinetoscope|tests|tools)[\w.]*)", line):
            where = re.sub(r"^kinetoscope", "tb_plugin", name).replace(
                "tb_plugin.handlers", "handlers"
            )
            path = ROOT / where.replace(".", "/")
            assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), line
        for target in re.findall(r"^make ((?:\.venv/\.)?[a-z][\w-]*)", line):
            made = target.replace(".venv", "$(VENV)")
            assert re.search(rf"^{re.escape(made)}:", MAKEFILE, re.MULTILINE), line


def _documented_tables() -> dict[str, list[str]]:
    rows = re.findall(r'^\| `"(\w+)"` \| (.+) \|$', PAGES["docs/library.md"], re.MULTILINE)
    return {view: re.sub(r" ?\([^)]*\)", "", titles).split("; ") for view, titles in rows}


def test_every_table_of_the_library_is_one_of_a_view() -> None:
    """Titles begin with a capital; *the mean step in parts* has another one in each recording."""
    documented, sources = _documented_tables(), SOURCES.replace("{noun}", "Step")
    assert documented
    titles = [title for of_view in documented.values() for title in of_view if title[0].isupper()]
    assert [title for title in titles if f'"{title}"' not in sources] == []


def test_every_table_of_a_sample_is_in_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path))
    trace = kinetoscope.open(ROOT / "samples/traces/train_cpu")
    for view, documented in _documented_tables().items():
        if view != "kernels":  # it has no device
            given = {title for title in trace.tables(view) if " on the main thread" not in title}
            assert given <= set(documented)
