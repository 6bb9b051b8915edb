"""``kinetoscope check BASE OTHER``: may this change go in? For continuous integration.

| code | meaning |
|---|---|
| 0 | ok: nothing is worse than the budget allows |
| 7 | worse: at least one line of the budget is broken, and that is no noise |
| 8 | cannot tell: nothing is proven to be worse, and something is not proven to be fine |

Any other code is an error of its own (``cli/entry.py``).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import click
import msgspec

from ..analysis.diff.budget import (
    Budget,
    BudgetCase,
    CaseOutcome,
    Checked,
    check_budget,
    hint_for,
    known_keys,
    worst,
)
from ..analysis.diff.changes import changes
from ..analysis.diff.noise import FEWEST_RECORDINGS
from ..analysis.diff.sides import kernel_items, operator_items
from ..analysis.operators.stacks import frame_place
from ..base.errors import NotFoundError, QueryError, nearest, short
from ..base.units import NBSP, plural
from ..handlers.outputs import appearing
from ..session.session import Wanted, choose
from ..views.diff.contract import DiffQuery
from ..views.diff.rows import Pair
from ..views.table import Column, Table
from .diff import BASELINE, bridge_picture, choosing, comparable, opened_pair, wanted_of
from .entry import FORMAT, PATH, as_json, one_line, printable, say, write
from .render import escaped, width_of, wrapped, write_csv

WORSE, CANNOT_TELL = 7, 8
CODES: dict[CaseOutcome, int] = {"ok": 0, "worse": WORSE, "cannot tell": CANNOT_TELL}
KEPT = 5  # recordings of a baseline
MOST_BYTES = 1 << 20


class CheckReport(msgspec.Struct, frozen=True):
    """Output of ``--format json``."""

    outcome: str
    headline: str
    cases: tuple[BudgetCase, ...]


@click.command()
@click.argument("base", metavar="BASE", type=PATH)
@click.argument("other", metavar="OTHER", type=PATH)
@click.option(
    "--budget",
    type=click.Path(path_type=Path),
    help="A JSON file of what a change may cost.  [default: 2 % of the step]",
)
@click.option(
    "--baselines",
    type=click.Path(path_type=Path),
    default=Path("baselines"),
    show_default=True,
    help="The folder of named baselines: BASE may be a name in it.",
)
@click.option(
    "--keep",
    is_flag=True,
    help=f"Adds OTHER to the baseline BASE unless it is worse. {FEWEST_RECORDINGS} recordings and"
    " more tell how far those of one code differ.",
)
@click.option(
    "--last",
    type=click.IntRange(min=FEWEST_RECORDINGS),
    default=KEPT,
    show_default=True,
    help="Recordings that a baseline keeps.",
)
@click.option("--format", "form", **FORMAT)
@click.option("--junit", type=click.Path(path_type=Path), help="Writes a JUnit report, too.")
@click.option(
    "--github",
    is_flag=True,
    help="Sets the outputs `outcome` and `headline` of a step of GitHub Actions, and marks the"
    " lines of code that are worse.",
)
@choosing
@click.option(
    "--equal-clocks",
    is_flag=True,
    help="Judges OTHER as if it had run at the clock of BASE, where their clocks differ.",
)
def check(  # noqa: PLR0913  # the options of the command
    base: str,
    other: str,
    budget: Path | None,
    baselines: Path,
    *,
    keep: bool,
    last: int,
    form: str,
    junit: Path | None,
    github: bool,
    equal_clocks: bool,
    **names: str | int | None,
) -> int:
    """Checks OTHER against BASE and a budget: ok, worse, or cannot tell.

    Exit code 0: ok. 7: worse. 8: cannot tell, and what would settle it.
    """
    allowed = read_budget(budget) if budget else Budget()
    kept = wanted_of(names)
    folder = Path(base)
    if not folder.exists():
        folder = _named(baselines, base)
        if keep and not folder.exists():
            _keep(folder, other, kept, last)
            first = f"There is no baseline {base} yet: {other} is kept as its first recording."
            write(first)
            if github:
                _set_outputs("ok", first)
            return 0
        if not folder.exists():
            known = sorted(one.name for one in baselines.glob("*") if one.is_dir())
            said = nearest(base, known or ["none"], f"baselines in {baselines}: ")
            raise NotFoundError(
                f"there is no recording and no baseline {base}", hint=f"{said}; --keep makes one"
            )
    pair = opened_pair(
        str(folder),
        other,
        budget=allowed.step,
        equal_clocks=equal_clocks,
        **names,
    )
    cases = check_budget(_checked(pair), allowed)
    outcome = worst(cases)
    if form == "json":
        report = CheckReport(outcome, pair.comparison.headline, cases)
        write(as_json(report))
    elif form == "csv":
        write_csv([_table(cases)], sys.stdout)
    else:
        is_markdown = form == "markdown"
        write(
            markdown(outcome, cases) if is_markdown else text(outcome, cases, width_of(sys.stdout))
        )
        if is_markdown:
            answer = pair.answer(DiffQuery(budget=allowed.step, equal_clocks=equal_clocks))
            write("\n".join(["", *bridge_picture(answer)]).replace(NBSP, " "))
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        with appearing(junit) as hidden:
            hidden.write_text(junit_xml(cases), encoding="utf-8")
    if github:
        why = next(one for one in cases if one.outcome == outcome)
        is_step = why is cases[0]
        said = pair.comparison.headline if is_step else f"{why.name}: {why.text}"
        _set_outputs(outcome, said)
        for command in runner_commands(cases, Path(os.environ.get("GITHUB_WORKSPACE") or ".")):
            sys.stderr.write(f"{command}\n")
    if keep and outcome != "worse":
        _keep(folder, other, kept, last)
        say(f"{other} is kept in the baseline {folder}")
    return CODES[outcome]


def _checked(pair: Pair) -> Checked:
    base, other = pair.base.side, pair.other.side
    found = pair.comparison
    clock = found.drift.ratio if found.drift and found.drift.is_other_clock else 1.0
    operators, kernels = (
        [[of(one) for one in side.judged] for side in (base, other)]
        for of in (operator_items, kernel_items)
    )
    return Checked(
        base,
        other,
        found,
        changes(operators[0], operators[1], "self_ns", base.mean_ns),
        changes(kernels[0], kernels[1], "device_self_ns", base.mean_ns, clock),
    )


def read_budget(path: Path) -> Budget:
    """The budget in a file.

    Raises:
        NotFoundError: there is no such file.
        QueryError: it has another form; the message names the line and the key.
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_BYTES).decode()
        document = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except FileNotFoundError:
        hint = 'a JSON file such as {"step": 0.02}'
        raise NotFoundError(f"there is no budget {path}", hint=hint) from None
    except json.JSONDecodeError as error:
        what = f"line {error.lineno}: {error.msg[0].lower()}{error.msg[1:]}"
        raise QueryError(f"{path} is no JSON, {what}", hint="repair it there") from None
    except (ValueError, RecursionError) as error:
        raise QueryError(f"{path} is no budget: {error}", hint="repair it there") from None
    for keys, what, hint in _faults(document):
        place = f", line {_line_of(text, keys)}, {short('.'.join(keys))}" if keys else ""
        raise QueryError(f"{path}{place}: {what}", hint=hint)
    return msgspec.convert(document, Budget)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"{short(twice)} stands in it twice")
    "".join(found).encode()  # half a character, as JSON may write one, is a ValueError
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _faults(document: object) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Faults of a budget document: keys that lead there, problem, remedy."""
    fields = {one.name: one.default for one in msgspec.structs.fields(Budget)}
    if not isinstance(document, dict):
        yield (), "a budget is an object", f"keys are {', '.join(fields)}"
        return
    for field, value in document.items():
        if field not in fields:
            yield (field,), "there is no such key", nearest(field, fields, "keys are ")
        elif field in ("step", "peak_memory"):
            if not _is_growth(value) and (value is not None or field == "step"):
                yield (field,), _NO_GROWTH, _AS_SHARE
        elif not isinstance(value, dict):
            yield (field,), "this is no object", f'write {{"{field}": {{"…": 0.02}}}}'
        else:
            for key, growth in value.items():
                if field != "operators" and key not in known_keys(field):
                    yield (field, key), "there is no such key", hint_for(field, key)
                elif not _is_growth(growth):
                    yield (field, key), _NO_GROWTH, _AS_SHARE


_NO_GROWTH = "this is no number from 0 on"
_AS_SHARE = "write 2 % as 0.02"


def _is_growth(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= sys.float_info.max  # type: ignore[operator]  # a number


def _line_of(text: str, keys: Sequence[str]) -> int:
    """The line in which the last of the keys stands."""
    at = 0
    for key in keys:
        found = re.compile(rf"{re.escape(json.dumps(key))}\s*:").search(text, at)
        at = found.start() if found else at
    return text.count("\n", 0, at) + 1


# --- baselines ------------------------------------------------------------------------------------


def _named(baselines: Path, name: str) -> Path:
    if name in {"", ".", ".."} or "/" in name or os.sep in name or "\0" in name:
        raise NotFoundError(f"there is no file or folder {name}", hint="check the spelling")
    return baselines / name


def _keep(folder: Path, other: str, wanted: Wanted, last: int) -> None:
    """Copy a recording into the folder of a baseline, and let the oldest go.

    Raises:
        KinetoscopeError: nothing can be compared with it.
        OSError: the folder cannot be written.
    """
    if folder.is_file():
        raise QueryError(f"{folder} is one file", hint="--keep needs a baseline that is a folder")
    source = Path(comparable(choose(other, wanted)).path)
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ".pt.trace.json.gz" if source.name.endswith(".gz") else ".pt.trace.json"
    target = folder / f"{BASELINE}.{time.time_ns()}{suffix}"
    with appearing(target) as half:  # half a recording would be a baseline, too
        shutil.copyfile(source, half)
    kept = sorted(folder.glob(f"{BASELINE}.*.pt.trace.json*"))
    for old in kept[:-last]:
        old.unlink()


# --- reports --------------------------------------------------------------------------------------

_SIGNS: dict[CaseOutcome, str] = {"ok": "✓", "worse": "✗", "cannot tell": "?"}


def text(outcome: CaseOutcome, cases: Sequence[BudgetCase], width: int | None = None) -> str:
    """The report for a log, or for a terminal of some width."""
    lines: list[str] = []
    for case in cases:
        said = wrapped(printable(f"{_SIGNS[case.outcome]} {case.name}: {case.text}"), width)
        for line in case.evidence:
            said += _indented(wrapped(printable(line), width and max(width - len(_INDENT), 1)))
        lines += said
    bad = sum(case.outcome != "ok" for case in cases)
    lines.append(f"{outcome}: {plural(len(cases) - bad, 'case')} of {len(cases)} ok")
    return "\n".join(lines).replace(NBSP, " ")


_INDENT = "    "


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"{_INDENT}{line}" for line in lines]


def markdown(outcome: CaseOutcome, cases: Sequence[BudgetCase]) -> str:
    """The report for a pull request."""
    lines = [f"**kinetoscope check: {outcome}**", ""]
    for case in cases:
        lines.append(f"- {_SIGNS[case.outcome]} **{escaped(case.name)}**: {escaped(case.text)}")
        lines += [f"  - {escaped(line)}" for line in case.evidence]
    return "\n".join(lines).replace(NBSP, " ")


def _table(cases: Sequence[BudgetCase]) -> Table:
    columns = [Column(key, key.capitalize()) for key in ("name", "outcome", "text", "evidence")]
    rows = [(one.name, one.outcome, one.text, "; ".join(one.evidence)) for one in cases]
    return Table("Cases", tuple(columns), tuple(rows))


def junit_xml(cases: Sequence[BudgetCase]) -> str:
    """The report that CI systems draw: worse is a failure, cannot tell is skipped."""
    counts = {one: sum(case.outcome == one for case in cases) for one in CODES}
    suite = ET.Element(
        "testsuite",
        name="kinetoscope check",
        tests=str(len(cases)),
        failures=str(counts["worse"]),
        skipped=str(counts["cannot tell"]),
        errors="0",
    )
    for case in cases:
        element = ET.SubElement(
            suite, "testcase", classname="kinetoscope", name=printable(case.name)
        )
        if case.outcome == "ok":
            continue
        kind = "failure" if case.outcome == "worse" else "skipped"
        found = ET.SubElement(element, kind, message=printable(case.text))
        found.text = "\n".join(map(printable, case.evidence))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


# --- GitHub Actions -------------------------------------------------------------------------------

MOST_ANNOTATIONS = 9  # a step shows ten errors, one of which says that the check failed
_ESCAPES = {"%": "%25", ":": "%3A", ",": "%2C"}


def _set_outputs(outcome: CaseOutcome, headline: str) -> None:
    """Set the outputs of this step, which are lines of a file; outside of a step nothing happens.

    Raises:
        OSError: the file cannot be written.
    """
    if path := os.environ.get("GITHUB_OUTPUT"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"outcome={outcome}\nheadline={one_line(headline)}\n")


def runner_commands(cases: Sequence[BudgetCase], workspace: Path) -> list[str]:
    """The runner's commands that mark the lines of code that got slower.

    A frame whose file is not in the workspace has no line to stand at: the summary names it.
    """
    found: dict[tuple[str, int], str] = {}
    for case in cases:
        for text, frame in zip(case.evidence, case.frames, strict=False):
            name, line = frame_place(frame)
            file = _in_workspace(name, workspace) if case.outcome == "worse" and name else ""
            if file:
                found.setdefault((file, line), text)
    return [
        f"::error file={_property(file)},line={line},title=kinetoscope::{_data(text)}"
        for (file, line), text in list(found.items())[:MOST_ANNOTATIONS]
    ]


def _data(text: str) -> str:
    """A text inside a command: it stays one line, and nothing in it is a command."""
    return one_line(text).replace("%", "%25")


def _property(text: str) -> str:
    return "".join(_ESCAPES.get(one, one) for one in one_line(text))


def _in_workspace(name: str, workspace: Path) -> str:
    """The path of a recorded file below the workspace; "" where there is none, or more than one.

    A script's own folder is not in its recorded name: `train.py` may be `samples/train.py`.
    """
    root = workspace.resolve()
    path = root / name  # an absolute name stays what it is
    parts = PurePath(name).parts
    if ".." in parts or (PurePath(name).is_absolute() and not path.is_relative_to(root)):
        return ""
    if path.is_file():
        return path.relative_to(root).as_posix()
    alike = []
    for folder, folders, files in os.walk(root):
        folders[:] = [one for one in folders if one[0] != "." and one != "node_modules"]
        path = Path(folder, parts[-1])
        if parts[-1] in files and path.parts[-len(parts) :] == parts:
            alike.append(path.relative_to(root).as_posix())
    return alike[0] if len(alike) == 1 else ""
