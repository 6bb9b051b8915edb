"""Tools for agents on the recordings below some folders: each answer is JSON of bounded size.

    {"state": "ok", …}                          the answer; "continue" goes on where it was cut
    {"state": "cannot_tell", "why", "record"}   this recording cannot answer; never a 0
    {"state": "error", "kind", "message", "hint"}

No tool writes, runs a command, or leaves the folders. Names come from recordings: they are values
of JSON, and never words of the tool's own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from ...ask.explain import MOST_BYTES, brief, event_of, explain, fitted, ranks_of, sections_of
from ...ask.sources import TABLES, declared, no_table
from ...ask.sql import SqlRequest, advice_among_ranks
from ...ask.worker import SqlWorker
from ...base.errors import (
    KinetoscopeError,
    NotFoundError,
    NotReadyError,
    QueryError,
    UnavailableError,
    nearest,
    not_installed,
)
from ...session.session import FileSession, choose
from ...store.discovery.walk import is_far
from ...views import view_named
from ..diff import opened_pair
from ..entry import as_json
from .explain import changes

LEAST_ANSWER, MOST_ANSWER = 1024, 16384
NAME = 200
"""Most characters of a text of a recording."""
UNTRUSTED = ("name", "path", "place", "function", "worker", "rows", "in_file")
_OPEN = 4


class Toolbox:
    """The tools, over recordings below ``roots`` alone."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = [root if is_far(root) else os.path.realpath(root) for root in roots]
        self._sessions: dict[str, FileSession] = {}
        self._worker = SqlWorker()
        self._lock = threading.RLock()

    def close(self) -> None:
        """End the process that answers SQL."""
        self._worker.close()

    # --- tools ------------------------------------------------------------------------------------

    def recordings(self) -> dict[str, Any]:
        """Runs and workers below the folders; ``recording`` of other tools takes their paths."""
        from ...session.folder import look
        from ...store.discovery.walk import resolve

        found = []
        for root in self._roots:
            if os.path.isfile(root):
                found.append({"path": root, "bytes": os.path.getsize(root)})
                continue
            records, _ = look(resolve(root, None))
            found += [
                {"path": one.found.absolute, "bytes": one.found.identity.bytes}
                for one in records.values()
            ]
        found.sort(key=lambda one: str(one["path"]))
        return {"recordings": found, "folders": self._roots}

    def explain(self, recording: str, section: str, steps: str, max_bytes: int) -> dict[str, Any]:
        """Most answers on a recording, or on a run of several ranks, at once."""
        session = self._opened(recording)
        document = explain(session, steps)
        if section:
            return sections_of(document, section)
        whole = fitted(brief(document), max_bytes - 200, lambda one: as_json(one, indent=-1))
        return {"explain": msgspec.to_builtins(whole)}

    def query(self, recording: str, table: str, columns: str, where: str, order_by: str) -> str:
        """A SELECT of one table, with ids that are there.

        Raises:
            NotFoundError: there is no such table.
            QueryError: it has no such column; says which is near.
        """
        if table not in TABLES:
            raise no_table(table)
        known = {key for key, _ in declared(self._opened(recording).trace(), table)}
        names = [part.strip() for part in columns.split(",") if part.strip()]
        order, _, direction = order_by.strip().partition(" ")
        for name in (*names, *([order] if order else [])):
            if name not in known:
                hint = nearest(name, sorted(known))
                raise QueryError(f"{table} has no column {name[:60]!r}", hint=hint)
        if direction.strip().lower() not in ("", "asc", "desc"):
            raise QueryError("order_by: a column, and asc or desc")
        clauses = (f"WHERE {where}" if where else "", f"ORDER BY {order_by}" if order else "")
        return " ".join(("SELECT", ", ".join(names) or "*", "FROM", table, *clauses))

    def rows(
        self, recording: str, query: str, limit: int, skip: int, max_bytes: int, scope: str
    ) -> dict[str, Any]:
        """Rows of one SELECT."""
        session = self._opened(recording)
        request = SqlRequest(query, limit, max_bytes - 600, skip=skip)
        found = self._worker.ask(session.path, request, advice_among_ranks(session, query))
        more = self._more(skip + len(found.rows), session, scope) if found.more else {}
        return {"columns": found.columns, "rows": found.rows, **more}

    def event(self, recording: str, event: str) -> dict[str, Any]:
        """An event as the file has it, by the id that other answers give."""
        return dict(event_of(self._opened(recording), event))

    def compare(self, base: str, other: str, limit: int) -> dict[str, Any]:
        """Changes from one recording to another, and the verdict against noise."""
        pair = opened_pair(self._inside(base), self._inside(other))
        return {"compare": changes(pair, limit)}

    def ranks(self, recording: str, limit: int, skip: int, scope: str) -> dict[str, Any]:
        """All ranks of a run: the rank that others wait for, and each rank's parts."""
        session = self._opened(recording)
        headline, grid = ranks_of(session)
        if not grid.rows:
            raise UnavailableError(
                "There is one recording only.", hint="name the folder of a run of several ranks"
            )
        rows = grid.rows[skip : skip + limit]
        more = skip + len(rows) < len(grid.rows)
        return {
            "headline": headline,
            "columns": grid.columns,
            "rows": rows,
            "left": len(grid.rows) - skip - len(rows),
            **(self._more(skip + len(rows), session, scope) if more else {}),
        }

    def record_advice(self, recording: str) -> dict[str, Any]:
        """Questions that this recording cannot answer, and the options that record the answers."""
        session = self._opened(recording)
        document = explain(session)
        health = view_named("health")
        said: Any = health.build(session.facts(), health.query())
        return {
            "cannot_tell": document.cannot_tell,
            "snippet": [line.text for line in said.snippet],
            "missing_lines": [line.text.strip() for line in said.snippet if line.added],
        }

    # --- recordings -------------------------------------------------------------------------------

    def _inside(self, path: str) -> str:
        """The path of a recording, below one of the folders.

        Raises:
            NotFoundError: it is outside of them, or not there.
        """
        if not path and len(self._roots) == 1:
            return self._roots[0]
        for root in self._roots:
            if is_far(root):
                if path == root or path.startswith(f"{root.rstrip('/')}/"):
                    return path
                continue
            if "\0" in path:
                break
            found = os.path.realpath(os.path.join(root, path) if os.path.isdir(root) else path)
            if (found == root or found.startswith(root + os.sep)) and os.path.exists(found):
                return found
        raise NotFoundError(
            f"there is no recording {path[:NAME]!r} below the folders of this server",
            hint="the tool recordings lists them",
        )

    def _opened(self, recording: str) -> FileSession:
        path = self._inside(recording)
        with self._lock:
            chosen = choose(path)
            session = self._sessions.pop(path, None)
            if session is None or not session.is_current() or session.path != chosen.path:
                session = chosen.session()
            self._sessions[path] = session
            while len(self._sessions) > _OPEN:
                self._sessions.pop(next(iter(self._sessions)))
        return session

    # --- continuations ----------------------------------------------------------------------------

    def skip_of(self, token: str, recording: str, scope: str) -> int:
        """Number of rows given before; ``scope``: the tool and its arguments.

        Raises:
            QueryError: the token is of another question, or of another file.
        """
        if not token:
            return 0
        number, _, mark = token.partition(".")
        is_number = number.isascii() and number.isdecimal() and len(number) < 12
        if not is_number or mark != _mark(self._opened(recording), scope):
            raise QueryError(
                "this continuation is of another question, or its file has changed",
                hint="ask again from the start",
            )
        return int(number)

    def _more(self, skip: int, session: FileSession, scope: str) -> dict[str, Any]:
        return {"continue": f"{skip}.{_mark(session, scope)}"}


def _mark(session: FileSession, scope: str) -> str:
    text = f"{session.identity} {scope}"
    return blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


# --- answers --------------------------------------------------------------------------------------


def answered(make: Callable[[], Mapping[str, Any]], max_bytes: int = MOST_BYTES) -> str:
    """An answer, or why there is none, as JSON of at most so many bytes."""
    told: dict[str, Any]
    try:
        told = {"state": "ok", **make(), "untrusted": UNTRUSTED}
    except UnavailableError as error:
        told = {"state": "cannot_tell", "why": error.message, "record": error.hint}
    except NotReadyError as error:
        told = {"state": "reading", "why": error.message}
    except ModuleNotFoundError as error:
        told = _error(not_installed(error))
    except KinetoscopeError as error:
        told = _error(error)
    except OSError as error:
        told = {"state": "error", "kind": "error", "message": str(error), "hint": ""}
    return _within(told, max_bytes)


def _error(error: KinetoscopeError) -> dict[str, Any]:
    return {"state": "error", "kind": error.kind, "message": error.text, "hint": error.hint}


def _within(told: Mapping[str, Any], max_bytes: int) -> str:
    """The answer with its longest texts and lists cut until it fits."""
    for length, count in ((1200, 10_000), (NAME, 400), (NAME, 100), (100, 40), (60, 15), (40, 5)):
        text = as_json(_cut(msgspec.to_builtins(told), length, count), indent=-1)
        if len(text.encode("utf-8", "replace")) <= max_bytes:
            return text
    return as_json({"state": "error", "kind": "too_long", "message": "the answer is too long",
                    "hint": "ask for less: fewer columns, one section"}, indent=-1)  # fmt: skip


def _cut(value: Any, length: int, count: int) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return value if len(value) <= length else value[: length - 1] + "…"
    if isinstance(value, Mapping):
        return {key: _cut(one, length, count) for key, one in value.items()}
    if isinstance(value, list | tuple):
        kept = [_cut(one, length, count) for one in value[:count]]
        return kept if len(value) <= count else [*kept, f"… {len(value) - count} more"]
    return value
