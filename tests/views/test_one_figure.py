"""Figures of one thing are one figure: in the sentence, the table, JSON, CSV, and between views.

``PAIRS`` is the list to extend: a name, and a function from the answers of one recording to the
figures that have to be equal. A figure that a recording does not have is left out by the function.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from kinetoscope import views
from kinetoscope.analysis.steps import scope_of
from kinetoscope.analysis.wording import fraction
from kinetoscope.base.units import duration, share, size
from kinetoscope.cli.render import write_csv
from kinetoscope.session.session import FileSession
from kinetoscope.views.overview.view import advice_on
from kinetoscope.views.shared import with_limit
from tests.conftest import TRACES, requires_traces
from tests.test_advice import plain
from tests.test_verdicts import listed

# One of each kind; all the others are slow together.
QUICK = (
    "dlrm_8rank_v100/worker0_step_12.1694128201545.pt.trace.json.gz",
    "fresh_torch2.13/gpt_full/gpt.1795227686608472692.pt.trace.json.gz",
    "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "torch2.15_cuspy/node0_4242.1795335000000000000.pt.trace.json.gz",
)
RECORDINGS = [
    pytest.param(row.file, marks=() if row.file in QUICK else pytest.mark.slow)
    for row in listed()
    if row.verdict == "open"
]
STEPS = ("", "all", "everything")
ALONE = ("operators", "kernels", "modules", "memory")


class Answers:
    """What the views answer for one recording and one choice of steps; None where they cannot."""

    def __init__(self, session: FileSession, steps: str) -> None:
        self.session, self.steps = session, steps

    def ask(self, stem: str, **query: Any) -> Any:
        view = views.view_named(stem)
        if self.session.unavailable(view):
            return None
        asked = msgspec.convert({"steps": self.steps, **query}, view.query)
        return view.build(self.session.asked(view), with_limit(asked, 1000))

    @cached_property
    def divisor(self) -> int:
        """Steps that sums in sentences are divided by."""
        facts = self.session.facts()
        return scope_of(facts, self.steps).divisor(facts)

    @cached_property
    def overview(self) -> Any:
        return None if self.steps == "everything" else self.ask("overview")

    @cached_property
    def advice(self) -> Any:
        return advice_on(self.session.facts(), self.steps, "", {})

    @cached_property
    def operators(self) -> Any:
        return self.ask("operators")

    @cached_property
    def ops(self) -> Any:
        return self.ask("operators", kinds="op", search="aten")

    @cached_property
    def kernels(self) -> Any:
        return self.ask("kernels")

    @cached_property
    def classes(self) -> Any:
        return self.ask("kernels", group_by="class")

    @cached_property
    def modules(self) -> Any:
        return self.ask("modules")

    @cached_property
    def memory(self) -> Any:
        return self.ask("memory")


def said_share(sentence: str) -> str:
    """The first share that a sentence names."""
    found = re.search(r"(<\s*)?[\d.]+\s*%", sentence)
    return found[0] if found else ""


def _first_operator(of: Answers) -> Iterator[Any]:
    """The operator of the sentence, its bar and its row have one share."""
    answer = of.operators
    if answer is None or not answer.charts or " takes " not in answer.headline:
        return
    part = answer.charts[0].parts[0]
    row = next(one for one in answer.table.rows if one.name == part.name)
    on_device = answer.charts[0].stem == "device_self"
    yield said_share(answer.headline)
    yield share(part.ratio)
    yield share(row.device_self_ratio if on_device else row.self_ratio)


def _shares_without_the_search(of: Answers) -> Iterator[Any]:
    """A share does not depend on the kinds and names that are shown."""
    if of.operators is None or not of.ops.table.rows:
        return
    row = of.ops.table.rows[0]
    same = next((one for one in of.operators.table.rows if one.name == row.name), None)
    if same is not None:
        yield row.self_ratio, row.device_self_ratio
        yield same.self_ratio, same.device_self_ratio


def _kernel_time(of: Answers) -> Iterator[Any]:
    """Kernel time in the sentence, the rows, the classes and both groupings."""
    answer = of.kernels
    if answer is None or not answer.table.rows:
        return
    yield answer.kernel_ns
    yield answer.table.total_ns
    yield sum(row.total_ns for row in answer.table.rows)
    yield sum(part.ns for part in answer.classes)
    yield sum(row.total_ns for row in of.classes.table.rows)


def _kernel_sentence(of: Answers) -> Iterator[Any]:
    answer = of.kernels
    if answer is not None and answer.table.rows:
        yield re.split(" in | and ", answer.detail)[0]
        yield duration(answer.kernel_ns // of.divisor)


def _operator_sentence(of: Answers) -> Iterator[Any]:
    """Time of the first operator, in the sentence and in its row divided by the steps."""
    answer = of.operators
    if answer is None or not answer.charts or " takes " not in answer.headline:
        return
    part = answer.charts[0].parts[0]
    row = next(one for one in answer.table.rows if one.name == part.name)
    on_device = answer.charts[0].stem == "device_self"
    yield re.split(" in | and ", answer.detail)[0]
    yield duration(part.ns // of.divisor)
    yield duration((row.device_self_ns if on_device else row.self_ns) // of.divisor)


def _device_time(of: Answers) -> Iterator[Any]:
    """Device time of operators, of kernels with copies, of modules with what belongs to none."""
    if of.operators is not None and of.operators.device_ns is not None:
        yield of.operators.device_ns
        if of.kernels is not None:
            yield of.kernels.kernel_ns + of.kernels.copies_ns
        if of.modules is not None and of.modules.device is not None:
            yield of.modules.device.total_ns


def _class_share(of: Answers) -> Iterator[Any]:
    answer = of.kernels
    if answer is not None and answer.headline.count("%") == 1:
        yield said_share(answer.headline)
        first = answer.classes[0]
        yield share(first.ratio)
        yield share(next(row.ratio for row in of.classes.table.rows if row.name == first.name))


def _peak(of: Answers) -> Iterator[Any]:
    """The peak of memory in the sentence, the curve, the device's row and its categories."""
    answer = of.memory
    if answer is None or not answer.peak.categories:
        return
    yield answer.peak.bytes
    yield answer.curve.peak_bytes
    yield next(one.peak_bytes for one in answer.devices if one.key == answer.device)
    yield sum(one.bytes for one in answer.peak.categories)


def _peak_sentence(of: Answers) -> Iterator[Any]:
    answer = of.memory
    if answer is not None and "of the peak of" in answer.headline:
        first = answer.peak.categories[0]
        yield said_share(answer.headline), size(answer.peak.bytes) in answer.headline
        yield share(first.ratio), True


def _step_count(of: Answers) -> Iterator[Any]:
    for answer in (of.operators, of.kernels, of.modules):
        if answer is not None:
            yield answer.step_count


def _mean_step(of: Answers) -> Iterator[Any]:
    """The mean step of the ruler, of the summary, of the rows that are chosen, and of advice."""
    answer = of.overview
    if answer is None or not answer.ruler.step_count:
        return
    chosen = [row.dur_ns for row in answer.steps if row.chosen]
    yield answer.ruler.mean_ns
    yield answer.summary[0].mean_ns
    yield sum(chosen) / len(chosen)
    yield of.advice.scope.mean_step_ns


def _parts_of_the_step(of: Answers) -> Iterator[Any]:
    """Each part of the ruler sums up the steps that are chosen."""
    answer = of.overview
    if answer is None or not answer.ruler.step_count:
        return
    rows = [row.partition or row.host or {} for row in answer.steps if row.chosen]
    keys = [one.key for one in answer.ruler.shares if all(key(one.key, row) for row in rows)]
    yield {one.key: round(one.mean_ns * len(rows)) for one in answer.ruler.shares
           if one.key in keys}  # fmt: skip
    yield {key: sum(row[key] for row in rows) for key in keys}


def key(name: str, row: dict[str, Any]) -> bool:
    return row.get(name) is not None


def _cause(of: Answers) -> Iterator[Any]:
    """The share in the first sentence is that of the part on the ruler, or of the finding."""
    answer = of.overview
    if answer is None or "alone takes" in answer.sentence.detail:
        return
    cause = answer.sentence.cause
    shares = {one.key: one.ratio for one in answer.ruler.shares}
    shares |= {one.id: one.gain.ratio for one in answer.findings if one.gain}
    if "although the next work was launched" in answer.sentence.headline:
        return  # several parts together
    if "without a recorded cause" in answer.sentence.headline:  # launched, and not yet begun
        queued = ("before", "unattributed")
        shares[cause] = sum(shares.get(f"idle_{one}_ns", 0) for one in queued)
    if "keeps it busy" in answer.sentence.headline:  # copies are work, too
        shares[cause] = answer.ruler.busy_ns / answer.ruler.mean_ns
    if cause in shares:
        yield True
        yield fraction(shares[cause]) in answer.sentence.headline


def _first_finding(of: Answers) -> Iterator[Any]:
    """A finding in the first sentence is the first finding, and the advice says the same."""
    answer = of.overview
    if answer is None:
        return
    found = [one.id for one in answer.findings]
    if answer.sentence.cause in found:
        yield next(one.id for one in answer.findings if one.gain)
        yield answer.sentence.cause


def _advice(of: Answers) -> Iterator[Any]:
    """Page, terminal and programs get one sentence and one list of findings."""
    answer = of.overview
    if answer is not None:
        yield plain(answer.sentence.headline), [one.id for one in answer.findings]
        yield plain(of.advice.headline), [one.id for one in of.advice.findings]


def _badge(of: Answers) -> Iterator[Any]:
    if of.overview is not None and not of.steps:
        yield len(of.overview.findings) or None
        yield views.view_named("overview").badge(of.session.facts())


def _loader(of: Answers) -> Iterator[Any]:
    """The DataLoader's share in its finding and in the summary."""
    answer = of.overview
    found = [one for one in answer.findings if one.id == "IN1"] if answer is not None else []
    if found:
        yield found[0].evidence[0].value
        yield next(one.ratio for one in answer.summary if one.key == "dataloader_ns")


def _communication(of: Answers) -> Iterator[Any]:
    """Communication in its finding, in the summary, and on the ruler with what an op hides."""
    answer = of.overview
    if answer is None or not answer.ruler.step_count:
        return
    row = next((one for one in answer.summary if one.key == "communication_ns"), None)
    for finding in answer.findings:
        if finding.id == "CO1" and row is not None:
            yield finding.evidence[0].value
            yield row.ratio
    if row is not None and answer.device_row is None:
        part = next(one for one in answer.ruler.shares if one.key == row.key)
        assert part.label != row.label or part.mean_ns == row.mean_ns, "names tell them apart"


def _other_part(of: Answers) -> Iterator[Any]:
    """The largest part beside kernels, in the second sentence and on the ruler."""
    answer = of.overview
    said = answer and re.search(r"largest other part is (.+), (.+?%)", answer.sentence.beyond)
    if said:
        names = {"exposed copies": "Exposed copy", "exposed communication": "Exposed communication"}
        idle = re.sub(r"idle time \((.+)\)", r"Idle: \1", said[1])
        label = names.get(said[1], idle.capitalize() if idle == "memset" else idle)
        yield said[2]
        yield next(share(one.ratio) for one in answer.ruler.shares if one.label == label)


def _idle(of: Answers) -> Iterator[Any]:
    """Idle time of the ruler, and the sum of its causes."""
    answer = of.overview
    if answer is not None and answer.ruler.idle_ns is not None and answer.ruler.step_count:
        yield round(answer.ruler.idle_ns)
        yield round(sum(one.mean_ns for one in answer.ruler.shares if one.ghost))


class Pair(NamedTuple):
    """Figures of one thing."""

    name: str
    figures: Callable[[Answers], Iterator[Any]]


PAIRS = (
    Pair("mean step: ruler, summary, steps, advice", _mean_step),
    Pair("parts of the step: ruler, steps", _parts_of_the_step),
    Pair("share of the cause: sentence, ruler or finding", _cause),
    Pair("finding of the sentence: the first one", _first_finding),
    Pair("sentence and findings: Overview, advice", _advice),
    Pair("number of findings: tab, list", _badge),
    Pair("share of the DataLoader: finding, summary", _loader),
    Pair("communication: finding, summary; ruler", _communication),
    Pair("idle time: ruler, causes", _idle),
    Pair("largest other part: sentence, ruler", _other_part),
    Pair("share of the first operator: sentence, bar, row", _first_operator),
    Pair("share of an operator: with and without a search", _shares_without_the_search),
    Pair("kernel time: total, rows, classes", _kernel_time),
    Pair("kernel time: sentence", _kernel_sentence),
    Pair("first operator's time: sentence", _operator_sentence),
    Pair("device time: Operator, Kernel, Module", _device_time),
    Pair("share of the first class: sentence, part, row", _class_share),
    Pair("peak of memory: sentence, curve, device, categories", _peak),
    Pair("share of the peak: sentence, category", _peak_sentence),
    Pair("number of steps: Operator, Kernel, Module", _step_count),
)


@pytest.fixture(name="session", scope="module", params=RECORDINGS)
def opened(request: pytest.FixtureRequest) -> FileSession:
    path = Path(TRACES, request.param)
    if not path.exists():
        pytest.skip(f"the recording is not there: {request.param}")
    return FileSession(str(path))


@requires_traces
@pytest.mark.parametrize("steps", STEPS)
def test_figures_of_one_thing_are_one(session: FileSession, steps: str) -> None:
    answers = Answers(session, steps)
    for pair in PAIRS:
        figures = [*pair.figures(answers)]
        assert figures[1:] == figures[:-1], f"{pair.name}: {figures}"


@requires_traces
@pytest.mark.parametrize("stem", ALONE)
def test_json_and_csv_hold_the_figures_of_the_rows(session: FileSession, stem: str) -> None:
    answer = Answers(session, "").ask(stem)
    if answer is None or (stem == "memory" and "blocks" in answer.missing):
        pytest.skip("this recording cannot fill the view")
    table = views.view_named(stem).tables(answer)[0]
    out = io.StringIO()
    write_csv([table], out)
    read = [*csv.DictReader(io.StringIO(out.getvalue()))]
    told = msgspec.json.decode(msgspec.json.encode(answer))
    rows = told["statistics" if stem == "memory" else "table"]["rows"]
    assert len(read) == len(rows) == len(table.rows)
    for one, row in zip(read, rows, strict=True):
        for key in {column.key for column in table.columns if column.is_numeric} & one.keys():
            wanted = row[key]
            assert one[key] == ("" if wanted is None else str(wanted)), (stem, key)
