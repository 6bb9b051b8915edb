"""One SQL query over the tables of a recording: read-only, and within limits.

A query may come from a text of a trace. It is one SELECT; the database has no files, no network and
no extensions, and its settings are locked. It runs in a process of its own (``worker``).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from ..base.columns import arrow_column, numbers
from ..base.errors import QueryError, nearest
from ..base.intervals import merge, union
from ..base.regex import regex
from ..session.session import Session
from ..views import view_named
from .sources import TABLES, Source, declared

ROWS, BYTES, SECONDS = 200, 16384, 20.0
"""Limits of an answer and of its query, unless others are given."""
MOST_ROWS, MOST_BYTES, MOST_SECONDS = 10_000_000, 1 << 30, 600.0
MEMORY = 4 << 30
"""Bytes of addresses that a query may take beside the columns."""
_DATABASE_MEMORY = "1GB"
_CELL = 4096  # most characters of one value
_BATCH = 256

MACROS: Mapping[str, str] = {
    "ms(ns)": "Milliseconds.",
    "per_step(x)": "x, divided by the number of counted steps.",
    "merged('t')": "Table: the union of the intervals of a table, as start_ns, end_ns, dur_ns.",
    "union_ns('t')": "Length of that union.",
    "overlap('a', 'b')": "Table: instants in the union of both.",
    "minus('a', 'b')": "Table: instants of a that are not in b.",
    "overlap_ns('a', 'b')": "Length of `overlap`.",
    "within('t', 's')": "Table: the rows of t, and inside_ns: how much of each lies in s.",
    "idle_during('t')": "`within('t', 'idle')`.",
    "clip('t', low, high)": "Table: the rows of t between two instants, cut at them.",
    "stack(row)": "Table: an event of host and all around it, the innermost first.",
}
"""Call of a macro → its result. Tables go by name; one of a WITH may be named, too."""
_NEEDS: Mapping[str, str] = {"per_step": "steps", "stack": "host"}
"""Macro → the table that it reads."""

_SWEEP = """
CREATE MACRO {name}(a, b) AS TABLE
WITH edges AS (
    SELECT start_ns AS ts, 1 AS in_a, 0 AS in_b FROM merged(a)
    UNION ALL SELECT end_ns, -1, 0 FROM merged(a)
    UNION ALL SELECT start_ns, 0, 1 FROM merged(b)
    UNION ALL SELECT end_ns, 0, -1 FROM merged(b)
), points AS (
    SELECT ts, sum(in_a) AS in_a, sum(in_b) AS in_b FROM edges GROUP BY ts
), stretches AS (
    SELECT ts AS start_ns, lead(ts) OVER (ORDER BY ts) AS end_ns,
           sum(in_a) OVER (ORDER BY ts) AS in_a, sum(in_b) OVER (ORDER BY ts) AS in_b
    FROM points
)
SELECT start_ns, end_ns, end_ns - start_ns AS dur_ns FROM stretches WHERE in_a > 0 AND {where}
"""
_ALWAYS = (
    "CREATE MACRO ms(ns) AS ns / 1e6",
    """
    CREATE MACRO merged(t) AS TABLE
    WITH o AS (
        SELECT start_ns, end_ns, max(end_ns) OVER (
            ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reach
        FROM query_table(t) WHERE end_ns > start_ns
    ), g AS (
        SELECT start_ns, end_ns, sum(CASE WHEN start_ns <= reach THEN 0 ELSE 1 END) OVER (
            ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
        ) AS part
        FROM o
    )
    SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns, max(end_ns) - min(start_ns) AS dur_ns
    FROM g GROUP BY part
    """,
    "CREATE MACRO union_ns(t) AS (SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM merged(t))",
    """
    CREATE MACRO within(t, s) AS TABLE
    WITH m AS (
        SELECT start_ns, end_ns, sum(dur_ns) OVER (ORDER BY start_ns) - dur_ns AS before_ns
        FROM merged(s)
    )
    SELECT r.*, (
        coalesce(b.before_ns + least(r.end_ns, b.end_ns) - b.start_ns, 0)
        - coalesce(a.before_ns + least(r.start_ns, a.end_ns) - a.start_ns, 0)
    )::BIGINT AS inside_ns
    FROM query_table(t) AS r
    ASOF LEFT JOIN m AS a ON r.start_ns >= a.start_ns
    ASOF LEFT JOIN m AS b ON r.end_ns >= b.start_ns
    """,
    _SWEEP.format(name="minus", where="in_b = 0"),
    _SWEEP.format(name="overlap", where="in_b > 0"),
    "CREATE MACRO overlap_ns(a, b) AS (SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM overlap(a, b))",
    """
    CREATE MACRO clip(t, low, high) AS TABLE
    SELECT * REPLACE (
        greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns,
        least(end_ns, high) - greatest(start_ns, low) AS dur_ns
    )
    FROM query_table(t) WHERE end_ns > low AND start_ns < high
    """,
)
_ON_DEMAND: Mapping[str, str] = {
    "per_step": "CREATE MACRO per_step(total) AS total / (SELECT count(*) FROM steps WHERE chosen)",
    "idle_during": """
    CREATE MACRO idle_during(t) AS TABLE
    SELECT *, (
        coalesce(idle_before(end_ns::BIGINT), 0) - coalesce(idle_before(start_ns::BIGINT), 0)
    )::BIGINT AS inside_ns
    FROM query_table(t)
    """,
    "stack": """
    CREATE MACRO stack(wanted) AS TABLE
    WITH RECURSIVE inner_most AS (SELECT id, start_ns FROM host WHERE id = wanted), around AS (
        SELECT h.* FROM host AS h, inner_most AS e
        WHERE h.id <= e.id AND h.start_ns <= e.start_ns AND h.end_ns >= e.start_ns
    ), up AS (
        SELECT 0 AS level, id, parent, name, kind, start_ns, dur_ns FROM around WHERE id = wanted
        UNION ALL
        SELECT level + 1, h.id, h.parent, h.name, h.kind, h.start_ns, h.dur_ns
        FROM around AS h JOIN up ON h.id = up.parent
    )
    SELECT * FROM up ORDER BY level
    """,
}
"""Macros that are there where a query names them, with the table that they read."""

_SETTINGS: Mapping[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "memory_limit": _DATABASE_MEMORY,
    "threads": 2,
}


class SqlRequest(Struct, frozen=True):
    """A query with the limits of its answer; ``skip`` rows of it were given before."""

    query: str
    limit: int = ROWS
    max_bytes: int = BYTES
    seconds: float = SECONDS
    skip: int = 0


class SqlAnswer(Struct, frozen=True):
    """Rows of a query; ``more``: there are further ones."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


def advice_among_ranks(session: Session, query: str) -> msgspec.Raw | None:
    """The advice for SQL that asks for it, as JSON; None for a file that is opened alone.

    The process of SQL opens one file. Only this session knows the other ranks of its run.
    """
    if not _ADVICE & _words(query):
        return None
    if session.recordings(view_named("overview")).own is None:
        return None
    return msgspec.Raw(msgspec.json.encode(Source(session).advice))


def answer(source: Source, request: SqlRequest) -> SqlAnswer:
    """The rows of a query, within its limits.

    Raises:
        QueryError: it is no single SELECT, it is wrong, or it takes too long or too much.
        UnavailableError: the recording does not have a table that it names; says why.
    """
    import duckdb

    statement = request.query.strip()
    words = _words(statement)
    tables = {name for name in TABLES if name in words}
    tables |= {table for macro, table in _NEEDS.items() if macro in words}
    with duckdb.connect(":memory:", config=dict(_SETTINGS)) as database:
        try:
            _one_select(database, statement)
            for name in sorted(tables):
                _register(database, source, name, statement, words)
            if "idle_during" in words:
                _register_idle_before(database, source)
            for macro in (*_ALWAYS, *(_ON_DEMAND[name] for name in _ON_DEMAND if name in words)):
                database.execute(macro)
            database.execute("SET disabled_filesystems = 'LocalFileSystem'")
            database.execute("SET lock_configuration = true")
            with _bounded(database, request.seconds):
                database.execute(statement)
                return _read(database, request)
        except duckdb.InterruptException:
            raise QueryError(
                f"the query took longer than {request.seconds:g} s",
                hint="ask for less: fewer rows, no join on ranges; see within('t', 's')",
            ) from None
        except (duckdb.Error, MemoryError, RuntimeError) as error:
            raise _told(error, source, tables) from None


def _words(query: str) -> frozenset[str]:
    """The words of a query in lower case: names of tables and macros are among them."""
    return frozenset(word.lower() for word in _WORD.findall(query))


def _one_select(database: Any, text: str) -> None:  # noqa: ANN401
    import duckdb

    found = database.extract_statements(text)
    if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
        raise QueryError("a query is one SELECT", hint="nothing else is run here")


_WORD = regex(r"[A-Za-z_]\w*")
_ADVICE = frozenset({"findings", "evidence"})  # tables that are made of the advice
_COUNT_ALL = regex(r"count\s*\(\s*\*\s*\)", re.IGNORECASE)
_WHOLE_ROWS = frozenset({"describe", "summarize", "columns", "show", "pivot", "unpivot", "natural"})
_OF_MACROS = frozenset(name.partition("(")[0] for name in MACROS)
_TIMES = frozenset({"start_ns", "end_ns", "dur_ns"})


def _register(
    database: Any,  # noqa: ANN401
    source: Source,
    name: str,
    text: str,
    words: Collection[str],
) -> None:
    """Make a table known with the columns that the query may read."""
    from .arrow import arrow_table

    is_whole = "select" not in words or not _WHOLE_ROWS.isdisjoint(words)
    is_whole |= "*" in _COUNT_ALL.sub("", text) or _is_row(name, text)
    is_whole &= name in words  # else a macro reads it
    wanted: set[str] = set(words)
    if not _OF_MACROS.isdisjoint(words):
        wanted |= _TIMES
    if name == "host" and "stack" in words:
        wanted |= {"id", "parent", "name", "kind"}
    if name == "steps" and "per_step" in words:
        wanted.add("chosen")
    database.register(name, arrow_table(source.columns(name), None if is_whole else wanted))


def _register_idle_before(database: Any, source: Source) -> None:  # noqa: ANN401
    """Make ``idle_before(ns)`` known: idle time until an instant, thrice as fast as by a join."""
    idle = merge(*(union(one.pieces.start, one.pieces.end) for _, one in source.idle_by_piece))
    edges = np.stack([idle.start, idle.end], axis=1).ravel()
    spent = np.zeros(len(edges) + 1, np.int64)  # until an instant behind so many edges
    spent[2::2] = np.cumsum(idle.end - idle.start)
    spent[1::2] = spent[:-1:2] - idle.start  # and in idle time, the instant more

    def before(at: Any) -> Any:  # noqa: ANN401  # Arrow's, which the database gives and takes
        instants = numbers(at.combine_chunks())
        behind = np.searchsorted(edges, instants, "right")
        return arrow_column(spent[behind] + (behind & 1) * instants)

    database.create_function("idle_before", before, ["BIGINT"], "BIGINT", type="arrow")


def _is_row(name: str, text: str) -> bool:
    """True if a table is named where a whole row of it may be meant, as in ``SELECT host``."""
    return re.search(rf"\bselect\s+(\w+\s*,\s*)*{name}\b(?!\s*\.)", text, re.IGNORECASE) is not None


@contextmanager
def _bounded(database: Any, seconds: float) -> Iterator[None]:  # noqa: ANN401
    """End a query that takes too long, and refuse it more memory than ``MEMORY``."""
    timer = threading.Timer(seconds, database.interrupt)
    timer.daemon = True
    timer.start()
    try:
        with _memory_bounded():
            yield
    finally:
        timer.cancel()


@contextmanager
def _memory_bounded() -> Iterator[None]:
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):  # no Linux: only the database's own limit holds
        yield
        return
    most = now + MEMORY if hard == resource.RLIM_INFINITY else min(now + MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _read(database: Any, request: SqlRequest) -> SqlAnswer:  # noqa: ANN401
    columns = tuple(column[0] for column in database.description)
    rows: list[tuple[Any, ...]] = []
    size, skipped = len(msgspec.json.encode(columns)), 0
    while batch := database.fetchmany(_BATCH):
        for row in batch:
            if skipped < request.skip:
                skipped += 1
                continue
            plain = tuple(map(_plain, row))
            size += len(msgspec.json.encode(plain)) + 1
            if len(rows) == request.limit or (rows and size > request.max_bytes):
                return SqlAnswer(columns, tuple(rows), more=True)
            if size > request.max_bytes:
                raise QueryError(
                    f"one row has more than {request.max_bytes} bytes",
                    hint="name the columns that you need",
                )
            rows.append(plain)
    return SqlAnswer(columns, tuple(rows), more=False)


def _plain(value: Any) -> Any:  # noqa: ANN401  # of any type of the database
    """A value that JSON has; a long text is cut."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in list(value.items())[:_CELL]}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value[:_CELL]]
    if isinstance(value, float) or hasattr(value, "as_tuple"):  # a decimal
        number = float(value)
        return number if number - number == 0 else None  # NaN and infinity are no figures
    if value is None or isinstance(value, bool | int):
        return value
    text = str(value).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _CELL else text[:_CELL] + "…"


_NO_TABLE = regex(r"Table with name (\S{1,80}) does not exist")
_UNKNOWN = regex(r'(?:column|name) "([^"]{1,80})" not found')


def _told(error: BaseException, source: Source, tables: Collection[str]) -> QueryError:
    """The database's error in one line, with the column or table that may be meant."""
    first = " ".join(str(error).split("\n\n")[0].split())[:300] or type(error).__name__
    if match := _UNKNOWN.search(str(error)):
        word = match[1].rpartition(".")[2]
        known = [key for name in tables for key, _ in declared(source.trace, name)]
        if known:
            return QueryError(first.split(" Candidate")[0], hint=nearest(word, sorted(set(known))))
    if match := _NO_TABLE.search(str(error)):
        return QueryError(match[0], hint=nearest(match[1], list(TABLES), "tables: "))
    return QueryError(first)
