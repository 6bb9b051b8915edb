"""The folders to look at: the user's logdirs as absolute local paths, and every file below them.

TensorBoard hands over ``--logdir`` exactly as typed (``./runs``, ``~/runs/``), and an empty one
when ``--logdir_spec`` was used. Paths are made absolute at once: the working directory may change.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...base.units import plural
from ..contract import ErrorInfo
from .walk import FoundFile, Key, PassedOver, Unreadable, look, shown

_SCHEME = re.compile(r"[a-zA-Z][0-9a-zA-Z.+-]*://")
# pathlib makes one slash of two.
_REMOTE = re.compile(
    r"(?:[a-zA-Z][0-9a-zA-Z.+-]*://|(?:s3a?|gs|gcs|azu?r?e?|abfss?|hdfs|https?|ftp):/)"
)


@dataclass(frozen=True, slots=True)
class Logdir:
    """One folder to look at.

    ``path`` is absolute, "" when the place cannot be read at all: then ``problem`` says why. A
    folder that does not exist (yet) has a path: it is tried again at every look.
    """

    shown: str  # as typed
    path: str
    name: str  # the start of the names of its runs; "" for a lone folder without a given name
    problem: ErrorInfo | None = None


def resolve(logdir: str | Sequence[str] | None, logdir_spec: str | None) -> tuple[Logdir, ...]:
    """The folders of ``--logdir`` and ``--logdir_spec``; none without either.

    A ``logdir`` that is text is one path, whatever characters it has; several come as a sequence.
    ``logdir_spec`` is ``name:path,path2`` as TensorBoard reads it. With more than one folder, each
    gets a name, so that equal runs of two folders stay apart.
    """
    typed = [logdir] if isinstance(logdir, str) else list(logdir or ())
    pairs = [("", text) for text in typed] + [_named(s) for s in (logdir_spec or "").split(",")]
    found: dict[str, Logdir] = {}
    for name, text in pairs:
        if text.strip():
            one = _one(name.strip(), text.strip())
            found.setdefault(one.path or one.shown, one)
    return _with_names(tuple(found.values()))


def _named(specification: str) -> tuple[str, str]:
    """``name:path`` in two parts; a scheme, an absolute path and a Windows drive are no names."""
    text = specification.strip()
    is_name = (
        ":" in text
        and not _SCHEME.match(text)
        and not text.startswith("/")
        and not os.path.splitdrive(text)[0]
    )
    name, _, path = text.partition(":") if is_name else ("", "", text)
    return name, path


def _one(name: str, text: str) -> Logdir:
    text = without_file_scheme(text)
    problem = remote_problem(text)
    if problem is not None:
        return Logdir(shown=text, path="", name=name, problem=problem)
    path = os.path.abspath(os.path.expanduser(text))
    return Logdir(shown=shown(text), path=path, name=shown(name))


def without_file_scheme(text: str) -> str:
    """``file:///log`` is ``/log``."""
    return text[len("file://") :] if text.lower().startswith("file://") else text


def remote_problem(path: str) -> ErrorInfo | None:
    """Why a path of another machine cannot be read; None for a path of this machine."""
    text = path.strip()
    if os.path.exists(path) or text.lower().startswith("file:/") or not _REMOTE.match(text):
        return None
    return ErrorInfo(
        kind="remote_logdir",
        message=f"{text}: remote folders are not supported yet",
        hint="Copy the traces to a local folder and name that folder instead.",
    )


def _with_names(logdirs: tuple[Logdir, ...]) -> tuple[Logdir, ...]:
    """Unique names: the shortest distinct ends of the paths. A single folder needs none."""
    if len(logdirs) <= 1:
        return logdirs
    depth = 1
    names = [_label(one, depth) for one in logdirs]
    while max(Counter(names).values()) > 1 and depth < 32:
        depth += 1
        names = [_label(one, depth) for one in logdirs]
    if max(Counter(names).values()) > 1:  # one name given twice
        names = [
            f"{name} ({one.path or one.shown})" for name, one in zip(names, logdirs, strict=False)
        ]
    return tuple(replace(one, name=name) for name, one in zip(names, logdirs, strict=False))


def _label(one: Logdir, depth: int) -> str:
    parts = (one.path or one.shown).replace(os.sep, "/").rstrip("/").split("/")
    return one.name or "/".join(parts[-depth:]) or "/"


UNREADABLE_SHOWN = 20
_MAY_LIST = (
    "A logdir is a folder this user may list; a single file is opened with kinetoscope show."
)


@dataclass(slots=True)
class Outcome:
    """Findings of one walk over all logdirs."""

    found: dict[Key, FoundFile] = field(default_factory=dict)
    problems: list[ErrorInfo] = field(default_factory=list)
    kept: list[Key] = field(
        default_factory=list
    )  # folders that could not be listed: what was below stays
    unreadable: int = 0  # folders
    tally: PassedOver = field(default_factory=PassedOver)

    def covers(self, key: Key) -> bool:
        """True if a file that was not found is really gone."""
        return not any(
            key[0] == number and (not path or key[1].startswith(path + "/"))
            for number, path in self.kept
        )


def walk(logdirs: tuple[Logdir, ...], outcome: Outcome) -> Iterator[tuple[Key, FoundFile]]:
    """Every file worth listing, as it is found; problems and the rest go into ``outcome``."""
    yield from _walk(logdirs, outcome)
    more = outcome.unreadable - UNREADABLE_SHOWN
    if more > 0:
        outcome.problems.append(
            ErrorInfo(
                "folder_unreadable", f"{plural(more, 'more folder')} cannot be read.", _MAY_LIST
            )
        )


def _walk(logdirs: tuple[Logdir, ...], outcome: Outcome) -> Iterator[tuple[Key, FoundFile]]:
    for number, logdir in enumerate(logdirs):
        if logdir.problem is not None:
            outcome.problems.append(logdir.problem)
            continue
        for item in look(logdir.path, outcome.tally):
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
