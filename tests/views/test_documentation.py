"""The pages of docs/ name everything that a reader can meet on screen."""

from __future__ import annotations

import re

import click
import pytest

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
    for path in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md")
}
FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
OVERVIEW = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8")
MEMORY = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
TIMELINE = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
HTTP = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
HEALTH = (ROOT / "docs" / "health.md").read_text(encoding="utf-8")


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


# The options of that page are those of the benchmarks.
@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/benchmarks.md"])
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
    told = {name for text in PAGES.values() for name in pattern.findall(text)}
    # Those of the tests and of the build are in CONTRIBUTING.md.
    assert told - {"KINETOSCOPE_TRACES"} == read
    assert set(pattern.findall(COMMAND_LINE)) == read


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_of_the_docs_are_there(page: str) -> None:
    folder = (ROOT / page).parent
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", PAGES[page]):
        assert "://" in target or (folder / target).exists(), target
