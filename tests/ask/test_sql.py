"""SQL: figures equal numpy's, and no query does more than read within its limits."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kinetoscope import notebook
from kinetoscope.ask import sql
from kinetoscope.ask.arrow import arrow_array
from kinetoscope.ask.sources import TABLES, Source, declared
from kinetoscope.ask.sql import SqlRequest
from kinetoscope.ask.tables import HOST, TextColumn
from kinetoscope.ask.text import plain_table
from kinetoscope.ask.worker import SqlWorker
from kinetoscope.base.errors import KinetoscopeError, QueryError, UnavailableError
from kinetoscope.base.intervals import intersect, subtract, union
from kinetoscope.session.session import FileSession, TraceSession, choose
from tests.cli.runs import run
from tests.conftest import ROOT
from tests.drawing import draw, draw_at, memory

duckdb = pytest.importorskip("duckdb", reason="SQL needs DuckDB: pip install duckdb")

PICTURE = """
    step   |11111111112222222222|
    frame  |aaaaaaaa   aaaaaa   |
    op     | xx yyy     yy zz   |
    call   | k   l      m  n    |
    gpu    |  kk  l      mm  n  |
    copy   |                    |
    """


def source(picture: str = PICTURE) -> Source:
    return Source(TraceSession(draw(picture, events=[memory(3, 512, 512)])))


def rows(query: str, of: Source | None = None) -> list[tuple[object, ...]]:
    return list(sql.answer(of or source(), SqlRequest(query, 10_000, 1 << 24)).rows)


def test_every_table_can_be_asked_for_and_is_in_the_dictionary() -> None:
    of = source()
    listed = rows("SELECT table_name, column_name FROM dictionary", of)
    for name in TABLES:
        try:
            columns = [column.key for column in of.columns(name)]
        except UnavailableError:
            assert name == "modules"  # none was recorded
            continue
        assert len(rows(f"FROM {name} SELECT *", of)) >= 0
        known = [column for table, column in listed if table == name]
        assert [key for key in columns if key not in known] == []
        assert [key for key, _ in declared(of.trace, name)] == known


def test_figures_are_those_of_numpy() -> None:
    of = source()
    device = of.trace.device
    assert rows("SELECT sum(dur_ns) FROM device", of) == [(int(device.dur.sum()),)]
    assert rows("SELECT name, dur_ns FROM device WHERE start_ns = 6000", of) == [("kernel_l", 1000)]
    assert rows("SELECT per_step(sum(dur_ns)) FROM device", of) == [(3000.0,)]
    assert rows("SELECT h.name FROM device d JOIN host h ON h.id = d.launch LIMIT 1", of) == [
        ("cudaLaunchKernel",)
    ]
    assert rows("SELECT DISTINCT function FROM host WHERE name = 'aten::y'", of) == [
        ("train.py(1): a",)
    ]


def test_idle_time_of_an_event_is_that_of_the_macro() -> None:
    of = source()
    found = rows("SELECT w.id, h.idle_ns, w.inside_ns FROM idle_during('host') w JOIN host h"
                 " USING (id)", of)  # fmt: skip
    assert sum(row[1] for row in found) > 0  # type: ignore[misc]
    assert [row for row in found if row[1] != row[2]] == []


def test_idle_time_of_any_rows_is_that_of_the_join() -> None:
    """Before all idle time and behind it, at the edges of it, and where an instant is unknown."""
    of = source()
    asked = (
        "WITH t AS (SELECT range AS id, 250 * range - 1000 - range % 3 AS start_ns,"
        " start_ns + 250 * (range % 9) AS end_ns FROM range(200)"
        " UNION ALL SELECT -1, NULL, 1000000) SELECT id, inside_ns FROM {}('t'{}) ORDER BY id"
    )
    found = rows(asked.format("idle_during", ""), of)
    assert found == rows(asked.format("within", ", 'idle'"), of)
    assert found[0][1] == rows("SELECT union_ns('idle')", of)[0][0]
    assert len({row[1] for row in found}) > 5


def test_causes_of_idle_time_sum_to_it() -> None:
    of = source()
    assert rows(
        "SELECT i.id FROM idle i JOIN idle_causes c ON c.idle = i.id"
        " GROUP BY i.id, i.dur_ns HAVING sum(c.idle_ns) <> i.dur_ns",
        of,
    ) == []  # fmt: skip
    (total,) = rows("SELECT sum(dur_ns) FROM idle", of)
    assert total == rows("SELECT sum(idle_ns) FROM steps", of)[0]


SETS = (
    "WITH a AS (SELECT range AS id, (hash(range) % 1000)::BIGINT AS start_ns, start_ns +"
    " (hash(range + 7) % 20)::BIGINT AS end_ns, end_ns - start_ns AS dur_ns FROM range(60)),"
    " b AS (SELECT range AS id, (hash(range + 99) % 1000)::BIGINT AS start_ns, start_ns +"
    " (hash(range + 5) % 30)::BIGINT AS end_ns, end_ns - start_ns AS dur_ns FROM range(40)) "
)


def test_blocks_tell_what_is_never_freed_and_what_holds_the_peak() -> None:
    events = [memory(at, size, total) for at, size, total in ((1, 512, 512), (4, 1024, 1536))]
    events += [memory(9, -1024, 512), memory(13, 256, 768)]
    for event, address in zip(events, (4096, 8192, 8192, 12288), strict=True):
        event["args"]["Addr"] = address
    of = Source(TraceSession(draw(PICTURE, events=events)))
    assert rows("SELECT sum(bytes) FROM blocks WHERE life_end_ns IS NULL", of) == [(768,)]
    assert rows(
        "WITH p AS (SELECT start_ns FROM memory ORDER BY total_allocated_bytes DESC LIMIT 1)"
        " SELECT sum(bytes) FROM blocks, p WHERE coalesce(life_start_ns, 0) <= p.start_ns"
        " AND (life_end_ns IS NULL OR life_end_ns > p.start_ns)",
        of,
    ) == [(1536,)]  # fmt: skip
    assert rows("SELECT DISTINCT line FROM blocks WHERE bytes = 1024", of) == [("train.py(1): a",)]


def test_macros_are_those_of_intervals() -> None:
    of = source()

    def edges(name: str) -> tuple[np.ndarray, np.ndarray]:
        _, start, end, *_ = zip(*rows(SETS + "FROM " + name, of), strict=True)
        return np.array(start, np.int64), np.array(end, np.int64)

    a, b = edges("a"), edges("b")
    one, other = union(*a), union(*b)
    both, rest = intersect(one, other), subtract(one, other)
    assert 0 < both.total_ns < one.total_ns

    def figure(text: str) -> object:
        return rows(f"{SETS} SELECT {text}", of)[0][0]

    assert figure("union_ns('a')") == one.total_ns
    assert figure("overlap_ns('a', 'b')") == both.total_ns
    assert figure("sum(dur_ns) FROM minus('a', 'b')") == rest.total_ns
    assert figure("sum(dur_ns) FROM overlap('a', 'b')") == both.total_ns
    assert figure("count(*) FROM merged('a')") == len(one)
    inside = {
        at: intersect(union(a[0][at : at + 1], a[1][at : at + 1]), other).total_ns
        for at in range(len(a[0]))
    }
    found = rows(SETS + "FROM within('a', 'b') SELECT start_ns, end_ns, inside_ns", of)
    wanted = sorted((int(a[0][at]), int(a[1][at]), ns) for at, ns in inside.items())
    assert sorted(found) == wanted
    clipped = intersect(one, union(np.array([300]), np.array([700])))
    text = SETS + ", c AS (FROM clip('a', 300, 700)) SELECT union_ns('c')"
    assert rows(text, of)[0][0] == clipped.total_ns


def test_the_stack_of_an_event() -> None:
    of = source()
    row = rows("SELECT id FROM host WHERE kind = 'runtime' LIMIT 1", of)[0][0]
    names = [name for (name,) in rows("FROM stack(" + str(row) + ") SELECT name", of)]
    assert names[-1] == "ProfilerStep#1"
    assert names[0] == "cudaLaunchKernel"


def test_columns_are_not_copied() -> None:
    trace = draw(PICTURE)
    for key in ("dur_ns", "self_ns", "start_ns"):
        column = next(one for one in HOST.columns if one.key == key).of(trace)
        assert arrow_array(column).buffers()[1].address == column.ctypes.data  # type: ignore[union-attr]
    names = TextColumn(trace.host.name, trace.strings)
    assert arrow_array(names).indices.buffers()[1].address == names.codes.ctypes.data


def test_pandas_is_not_imported(tmp_path: Path) -> None:
    """It takes longer than any query."""
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    code = (
        "import sys; from kinetoscope.ask.sql import SqlRequest, answer;"
        "from kinetoscope.ask.sources import Source;"
        "from kinetoscope.session.session import FileSession;"
        "told = answer(Source(FileSession(sys.argv[1])), SqlRequest('FROM dictionary, steps'));"
        "sys.exit('pandas' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, check=False)
    assert ended.returncode == 0


def test_rows_and_bytes_are_bounded_and_go_on() -> None:
    of = source()
    whole = rows("SELECT range AS n FROM range(1000)", of)
    first = sql.answer(of, SqlRequest("SELECT range AS n FROM range(1000)", 300, 1 << 20))
    assert (len(first.rows), first.more) == (300, True)
    rest = sql.answer(of, SqlRequest("SELECT range AS n FROM range(1000)", 700, 1 << 20, skip=300))
    assert [*first.rows, *rest.rows] == whole
    assert not rest.more
    small = sql.answer(of, SqlRequest("SELECT repeat('x', 50) FROM range(1000)", 1000, 1024))
    assert small.more
    assert len(small.rows) == 18
    with pytest.raises(QueryError, match="one row has more than 100 bytes"):
        sql.answer(of, SqlRequest("SELECT repeat('x', 200)", 1000, 100))


def test_an_unknown_column_or_table_is_answered_with_the_nearest() -> None:
    with pytest.raises(QueryError) as column:
        rows("SELECT self_time_ns FROM host")
    assert column.value.hint == "did you mean self_ns?"
    with pytest.raises(QueryError) as table:
        rows("SELECT 1 FROM kernel")
    assert (table.value.text, table.value.hint) == (
        "Table with name kernel does not exist", "did you mean kernels?",
    )  # fmt: skip
    with pytest.raises(QueryError) as none:
        rows("SELECT 1 FROM xyz")
    assert none.value.hint.startswith("tables: host, device, ")


# --- hostile queries ------------------------------------------------------------------------------


def listed(section: str) -> list[str]:
    """The lines of a section of the file beside."""
    text = (Path(__file__).parent / "hostile.txt").read_text("utf-8")
    return re.split(r"^\[.*\]\n", text.split(f"[{section}]\n")[1], flags=re.MULTILINE)[
        0
    ].splitlines()


def hostile(place: str) -> Iterator[str]:
    """At least a thousand queries that would write, read, reach out, or never end."""
    shaped = [one.replace("{}", x) for one in listed("shapes") for x in listed("expressions")]
    pieces = [*listed("statements"), *shaped, "", ";"]
    yield from (text.replace("{p}", place) for text in pieces)
    draws = random.Random(7)
    for _ in range(600):
        first, second = draws.sample(pieces, 2)
        joint = draws.choice(
            ("; ", " UNION ", " -- \n", "/* */;", " ", "\0", " ' ", "; SELECT 1 AS ")
        )
        yield f"{first}{joint}{second}".format(p=place)


def test_a_thousand_hostile_queries_are_refused_or_bounded(tmp_path: Path) -> None:
    """Nothing is written, no text of a file comes back, and the next query works."""
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\nhidden_text,2\n")
    of = source()
    before = sorted(tmp_path.rglob("*"))
    cwd = sorted(os.listdir())
    queries = list(hostile(str(secret)))
    assert len(queries) >= 1000
    answered = 0
    told: object
    for query in queries:
        try:
            told = sql.answer(of, SqlRequest(query, 50, 4096, seconds=2))
            answered += 1
        except KinetoscopeError as error:
            told = error
        assert "hidden_text" not in repr(told)
    assert answered < len(queries) // 4
    assert sorted(tmp_path.rglob("*")) == before
    assert sorted(os.listdir()) == cwd
    assert secret.read_text().startswith("a,b")
    assert rows("SELECT count(*) FROM device", of) == [(4,)]


@pytest.mark.parametrize("query", listed("large"))
def test_a_query_that_takes_too_much_ends_with_its_process(tmp_path: Path, query: str) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    worker = SqlWorker()
    begun = time.monotonic()
    with contextlib.suppress(QueryError):
        assert len(repr(worker.ask(str(path), SqlRequest(query, 5, 4096, seconds=1)))) < 8192
    assert time.monotonic() - begun < 60
    assert worker.ask(str(path), SqlRequest("SELECT count(*) FROM device")).rows == ((4,),)
    worker.close()


# --- where it is asked ----------------------------------------------------------------------------


def test_the_command_answers_in_every_format(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    query = "SELECT name, dur_ns FROM device ORDER BY dur_ns DESC, start_ns LIMIT 1"
    shown = {form: run("sql", path, query, "--format", form).stdout for form in ("json", "csv")}
    assert (
        shown["json"] == '{"columns":["name","dur_ns"],"rows":[["kernel_k",2000]],"more":false}\n'
    )
    assert shown["csv"].splitlines() == ["name,dur_ns", "kernel_k,2000"]
    assert run("sql", path, query).stdout.splitlines() == ["name|dur_ns", "kernel_k|2000"]
    more = run("sql", path, "FROM device", "--limit", 1)
    assert "--skip 1" in more.stderr
    assert run("sql", path, "DROP TABLE host").exit_code == 2


def test_text_names_empty_columns_once_and_cuts_names_of_templates() -> None:
    name = "void f<" + "int, " * 30 + "float>(int)"
    rows = [(name, None, 1.5), ("plain " * 20, None, None)]
    *lines, nulls, cut = plain_table(
        ["name", "x", "y"], rows, is_aligned=False, has_full_names=False
    )
    assert lines[0] == "name|y"
    assert re.fullmatch(r"void f<int, .*….*float>\(int\)\|1\.5", lines[1])
    assert lines[2] == f"{'plain ' * 20}|–"
    assert nulls == "NULL in every row: x"
    assert "--full-names" in cut
    whole = [*plain_table(["name"], [(name,)], is_aligned=True, has_full_names=True)]
    assert whole == ["name", name]
    assert [*plain_table(["a"], [(None,)], is_aligned=False, has_full_names=False)] == ["a", "–"]


def test_every_rank_of_a_run_is_asked() -> None:
    folder = ROOT / "samples/traces/train_ddp_cpu"
    query = "SELECT count(*) AS n, max(end_ns) AS e FROM host"
    told = json.loads(run("sql", folder, query, "--ranks", "--format", "json").stdout)
    assert told["columns"] == ["rank", "n", "e"]
    alone = []
    for worker in ("rank0", "rank1"):
        one = run("sql", folder, query, "--worker", worker, "--format", "json").stdout
        alone += json.loads(one)["rows"]
    assert told["rows"] == [[0, *alone[0]], [1, *alone[1]]]
    some = json.loads(
        run(
            "sql", folder, "SELECT id FROM host", "--ranks", "--limit", 3, "--format", "json"
        ).stdout
    )
    assert (some["rows"], some["more"]) == ([[0, 0], [0, 1], [0, 2]], True)
    (file, _) = sorted(folder.glob("*.pt.trace.json.gz"))
    assert "folder of the run" in run("sql", file, query, "--ranks").stderr
    assert run("sql", folder, query, "--ranks", "--skip", 1).exit_code == 2


def test_tables_are_listed_on_one_line_each() -> None:
    path = next((ROOT / "samples/traces/train_cpu").glob("*.pt.trace.json.gz"))
    told = rows("FROM tables", Source(choose(str(path)).session()))
    listed = {str(name): str(columns) for name, columns in told}
    assert listed.keys() == TABLES.keys()
    assert listed["functions"] == "name, step, inclusive_ns, exclusive_ns, calls, idle_ns"
    assert "total_ns," in listed["operators"]
    assert "per_step" not in listed["operators"]


def test_the_library_gives_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    frame = notebook.open_trace(path).sql("SELECT launch, name FROM device ORDER BY start_ns")
    assert list(frame["name"]) == ["kernel_k", "kernel_l", "kernel_m", "kernel_n"]
    assert frame["launch"].dtype == np.int64


def test_without_duckdb_the_extra_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    hidden = "import sys; sys.modules['duckdb'] = None; "
    code = (
        f"{hidden}from kinetoscope.ask import worker; worker._BOOT = worker._BOOT.replace("
        f"'from kinetoscope', {hidden!r} + 'from kinetoscope');"
        "from kinetoscope.cli import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "sql", str(path), "SELECT 1"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 1
    assert (
        "SQL needs DuckDB, which is not installed (pip install 'kinetoscope[sql]')" in ended.stderr
    )


def test_a_session_of_a_file_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    of = Source(FileSession(str(path)))
    assert rows("SELECT count(*) FROM host WHERE kind = 'op'", of) == [(4,)]
    assert len(list(itertools.islice(iter(rows("FROM functions", of)), 5))) == 2
