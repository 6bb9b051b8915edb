"""One look at all logdirs: which files are there, which have settled, which are traces."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..base.units import plural
from . import discovery, names, settle, sniffing
from .catalog_types import ErrorInfo
from .discovery import Found, Tally, Unreadable
from .logdirs import Logdir
from .messages import info_of
from .news import Key
from .records import Attempt, Record
from .settle import Patience

UNREADABLE_SHOWN = 20
_OF_NO_INTEREST = ("text", "binary", "csv", "empty")  # what a .gz of somebody else's may be
_MAY_LIST = (
    "A logdir is a folder this user may list; a single file is opened with kinetoscope show."
)
_UNFINISHED = (
    "The name is that of a file being written; it is read as soon as it has its final name."
)


@dataclass(slots=True)
class Outcome:
    """What one walk over all logdirs found."""

    found: dict[Key, Found] = field(default_factory=dict)
    problems: list[ErrorInfo] = field(default_factory=list)
    kept: list[Key] = field(
        default_factory=list
    )  # folders that could not be listed: what was below stays
    unreadable: int = 0  # folders
    tally: Tally = field(default_factory=Tally)

    def covers(self, key: Key) -> bool:
        """Whether a file that was not found is really gone."""
        return not any(
            key[0] == number and (not path or key[1].startswith(path + "/"))
            for number, path in self.kept
        )


def walk(logdirs: tuple[Logdir, ...], outcome: Outcome) -> Iterator[tuple[Key, Found]]:
    """Every file worth listing, as it is found; problems and the rest go into ``outcome``."""
    yield from _walk(logdirs, outcome)
    more = outcome.unreadable - UNREADABLE_SHOWN
    if more > 0:
        outcome.problems.append(
            ErrorInfo(
                "folder_unreadable", f"{plural(more, 'more folder')} cannot be read.", _MAY_LIST
            )
        )


def _walk(logdirs: tuple[Logdir, ...], outcome: Outcome) -> Iterator[tuple[Key, Found]]:
    for number, logdir in enumerate(logdirs):
        if logdir.problem is not None:
            outcome.problems.append(logdir.problem)
            continue
        for item in discovery.look(logdir.path, outcome.tally):
            if isinstance(item, Unreadable):
                _note(outcome, number, logdir, item)
            else:
                key = (number, item.path)
                outcome.found[key] = item
                yield key, item


def _note(outcome: Outcome, number: int, logdir: Logdir, item: Unreadable) -> None:
    if not item.missing:
        outcome.kept.append((number, item.path))
    outcome.unreadable += 1
    if outcome.unreadable <= UNREADABLE_SHOWN:
        outcome.problems.append(_problem(logdir, item))


def _problem(logdir: Logdir, item: Unreadable) -> ErrorInfo:
    if item.missing:
        return ErrorInfo(
            "logdir_missing",
            f"{logdir.shown}: there is no such folder.",
            "Check the spelling; a folder that appears later is found by itself.",
        )
    where = f"{logdir.shown}: {item.path}" if item.path else logdir.shown
    return ErrorInfo(
        "folder_unreadable",
        f"{where}: the folder cannot be read: {item.reason}.",
        _MAY_LIST,
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a waiting file."""

    attempt: Attempt
    reason: str = ""
    error: ErrorInfo | None = None
    accepted: bool = False
    listed: bool = True
    as_is: bool = False

    def note_in(self, record: Record) -> None:
        """Notes it in the record of the file."""
        record.attempt, record.error = self.attempt, self.error
        record.accepted, record.listed = self.accepted, self.listed
        record.reason, record.as_is = self.reason, self.as_is


def judge(record: Record, patience: Patience, now: Callable[[], float] = time.monotonic) -> Judged:
    """Whether a waiting file may be read now, and whether it is a trace. Reads a little of it."""
    found = record.found
    if found.unfinished:
        abandoned = settle.is_abandoned(found.identity, time.time())
        return Judged(Attempt.WAITING, settle.ABANDONED if abandoned else _UNFINISHED)
    by_rule = record.name.by_rule
    listed = by_rule or names.is_notable(found.name)
    try:
        complete = _is_complete(record, patience, now())
        if not settle.is_settled(
            record.watch, now(), time.time(), complete=complete, patience=patience
        ):
            reason = settle.why_waiting(record.watch, complete=complete)
            # Named by the rule, it belongs to its run before it can be read.
            return Judged(Attempt.WAITING, reason, accepted=by_rule or record.accepted)
        other = None if by_rule else sniffing.not_a_trace(found.absolute)
        if by_rule and not os.access(found.absolute, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except FileNotFoundError:
        return Judged(Attempt.WAITING, "The file went away a moment ago.", listed=False)
    except OSError as error:
        return Judged(Attempt.LOCKED, error=info_of(error), accepted=by_rule, listed=listed)
    if other is not None:
        listed = listed or other.kind not in _OF_NO_INTEREST
        return Judged(Attempt.REFUSED, error=other, listed=listed)
    return Judged(
        Attempt.LAZY, accepted=True, as_is=settle.is_restless(record.watch, now(), patience)
    )


def needs_bytes(record: Record) -> bool:
    """Whether judging a file means opening it: that is bounded per look."""
    return not record.found.unfinished and not record.name.by_rule


def _is_complete(record: Record, patience: Patience, now: float) -> bool:
    """Looks at the end of the file only where it makes a difference."""
    incomplete = settle.is_settled(
        record.watch, now, time.time(), complete=False, patience=patience
    )
    if incomplete:
        return True
    return settle.looks_complete(record.found.absolute, record.found.identity.bytes)
