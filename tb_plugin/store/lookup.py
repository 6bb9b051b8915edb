"""Which file somebody means by run, worker and span."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.errors import NotFoundError
from .catalog_types import Catalog, RunInfo, WorkerInfo
from .news import Key


@dataclass(frozen=True, slots=True)
class Entry:
    """One trace that can be asked for; ``digest`` is the key of its content, ``path`` its file."""

    run: str
    worker: str
    span: str
    path: str
    digest: str
    rank: int | None
    key: Key


def pick(
    catalog: Catalog, run: str | None, worker: str | None, span: str | None
) -> tuple[str, str, str]:
    """Names of run, worker and span; of what is not given, newest run, first worker, last span.

    Raises:
        NotFoundError: there is no such name.
    """
    if not catalog.runs:
        raise NotFoundError(*_nothing(catalog))
    runs = sorted(catalog.runs, key=lambda r: r.modified)
    chosen = _one(run, [r.name for r in runs], "run", "the logdir") if run else runs[-1].name
    in_run: RunInfo = next(r for r in runs if r.name == chosen)
    workers = [w.name for w in in_run.workers]
    name = _one(worker, workers, "worker", f"run {chosen}") if worker else workers[0]
    of_worker: WorkerInfo = next(w for w in in_run.workers if w.name == name)
    keys = [s.key for s in of_worker.spans]
    return chosen, name, _one(span, keys, "span", f"{chosen} / {name}") if span else keys[-1]


def _one(wanted: str, names: Sequence[str], what: str, where: str) -> str:
    if wanted in names:
        return wanted
    close = difflib.get_close_matches(wanted, names, 3, 0.5) or list(names[-3:])
    more = f" and {len(names) - len(close)} more" if len(names) > len(close) else ""
    raise NotFoundError(
        f"There is no {what} {wanted} in {where}.", hint=f"There is: {', '.join(close)}{more}."
    )


def _nothing(catalog: Catalog) -> tuple[str]:
    if catalog.scanning:
        return ("The logdir is being looked at for the first time; no trace was found yet.",)
    return (f"There is no trace in {', '.join(catalog.logdirs) or 'the logdir (none was given)'}.",)
