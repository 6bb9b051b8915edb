"""Which rank never entered which collective? Logs of a hanging job, by group and number.

A collective with a number ends when every rank of its group has entered it, so the first one that
some rank entered and did not leave tells who is missed there. A rank that is missed may itself wait
in another group; who is missed *and waits nowhere* is where to look. Where all that are missed wait
for each other, the ranks call collectives in different orders.

Only what a log says counts: a rank without a log, or with a part of one, is unknown, not absent;
and the Inspector writes down what ended, so of its logs nobody can say what was entered.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from ...base.regex import regex
from ...base.units import listing, plural
from ...trace.pickles.flight_recorder import COMPLETED, UNKNOWN, CollectiveLog, global_ranks

StuckKind = Literal["never_entered", "different", "inside", "not_completed", "message"]

PROBLEMS: Mapping[StuckKind, str] = {
    "never_entered": "not entered by all",
    "different": "called differently",
    "inside": "entered by all with a log, did not end",
    "not_completed": "not ended by all",
    "message": "the other end does not answer",
}

SIZED = frozenset(("all_reduce", "broadcast", "reduce", "all_reduce_coalesced", "allreduce"))
"""Operations whose sizes must agree on all ranks; of the others they may differ."""


class Entered(Struct, frozen=True):
    """One rank in one group.

    Attributes:
        entered, completed: number of the last collective; ``UNKNOWN`` = none, or not told.
        pending: rows of the log that were entered and have not ended, oldest first.
        number: sequence → row of the log.
        lost: a collective that the recorder counted as entered and not as ended, and of which the
            log has no entry; ``UNKNOWN`` = none.
    """

    rank: int
    log: CollectiveLog
    entered: int
    completed: int
    pending: tuple[int, ...]
    number: Mapping[int, int]
    lost: int


class LogGroup(Struct, frozen=True):
    """A process group over all logs.

    Attributes:
        label: its description, else its name.
        ranks: of the group, if a log tells, else those whose logs name it.
        is_guessed: no log tells the ranks.
        members: what each log says, by rank.
    """

    label: str
    ranks: tuple[int, ...]
    is_guessed: bool
    members: tuple[Entered, ...]

    @property
    def silent(self) -> tuple[int, ...]:
        """Ranks of the group without a log."""
        return tuple(sorted(set(self.ranks) - {one.rank for one in self.members}))


class Stuck(Struct, frozen=True):
    """A collective that did not end.

    Attributes:
        sequence: its number in the group.
        operation: as most ranks call it.
        missed: ranks with a log that did not enter it; of ``different`` those that called another
            operation or size; of ``not_completed`` those that did not end it.
        unknown: ranks of the group without a log.
        waiting: ranks that entered it, and did not end it.
        elsewhere: missed rank → what it waits in, in words.
        last: missed rank → the last collective that it entered anywhere, in words.
        place: frame that issued it, on a rank that waits.
        is_root: some missed rank waits nowhere; or the ranks differ; or all are inside.
    """

    group: LogGroup
    kind: StuckKind
    sequence: int
    operation: str
    missed: tuple[int, ...]
    unknown: tuple[int, ...]
    waiting: tuple[int, ...]
    elsewhere: Mapping[int, str]
    last: Mapping[int, str]
    place: str
    is_root: bool
    others: tuple[str, ...] = ()  # what the missed ranks called instead
    unclear: tuple[int, ...] = ()  # whose log is not whole, so nobody knows whether they entered it


class HangReport(Struct, frozen=True):
    """Result of the logs of a hang.

    Attributes:
        ranks: of the logs, ascending.
        missing: ranks of known groups without a log.
        stuck: collectives that did not end, where to look first.
        sentence, detail: the answer, in words.
        notes: what must be known of the logs.
    """

    ranks: tuple[int, ...]
    missing: tuple[int, ...]
    groups: tuple[LogGroup, ...]
    stuck: tuple[Stuck, ...]
    sentence: str
    detail: str
    notes: tuple[str, ...]


def said_ranks(ranks: Iterable[int], most: int = 8) -> str:
    """``rank 3``, ``ranks 3 and 7``, ``ranks 0–6, 8 and 12``: neighbours as ranges.

    >>> said_ranks([7, 3])
    'ranks 3 and 7'
    """
    ordered = sorted(set(ranks))
    if len(ordered) == 1:
        return f"rank {ordered[0]}"
    runs: list[list[int]] = []
    for rank in ordered:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    said = []
    for run in runs:
        if len(run) > 2:
            said.append(f"{run[0]}–{run[-1]}")
        else:
            said += map(str, run)
    if len(said) > most:
        return f"{len(ordered)} ranks, among them {', '.join(said[:most])}"
    return f"ranks {listing(said)}"


def explain_hang(logs: Sequence[CollectiveLog]) -> HangReport:
    """Match the logs of a job; find the unfinished collective and its missing ranks."""
    found, notes = _by_rank(logs)
    groups = _groups(found)
    waits = {rank: _waits_in(those) for rank, those in found.items()}
    lasts = {rank: _last(those) for rank, those in found.items()}
    stuck = [
        one for group in groups if (one := _first_stuck(group, found, waits, lasts)) is not None
    ]
    stuck += [one for group in groups for one in _messages(group, found, waits, lasts)]
    stuck.sort(key=lambda one: (not one.is_root, len(one.elsewhere), -len(one.waiting)))
    ranks = tuple(sorted(found))
    missing = tuple(sorted({rank for group in groups for rank in group.silent}))
    sentence, detail = _said(stuck, groups, ranks)
    if missing:
        who = "it" if len(missing) == 1 else "they"
        notes.append(f"There is no log of {said_ranks(missing)}: what {who} did is not known.")
    return HangReport(ranks, missing, groups, tuple(stuck), sentence, detail, tuple(notes))


def _by_rank(logs: Sequence[CollectiveLog]) -> tuple[dict[int, list[CollectiveLog]], list[str]]:
    """The logs of each rank; a repeated log counts once."""
    of_process = global_ranks(logs)
    by_rank = [
        (of_process.get(log.process, log.rank) if log.writer == "NCCL Inspector" else log.rank, log)
        for log in logs
    ]
    found: dict[int, list[CollectiveLog]] = {}
    newest, notes = _newest_start(by_rank)
    seen: dict[tuple[int, str, str], str] = {}
    for rank, log in newest:
        is_inspector = log.writer == "NCCL Inspector"
        if rank < 0:
            notes.append(f"{log.path} was left out: neither it nor its name tells its rank.")
            continue
        if not log.groups:
            notes.append(f"{log.path} was left out: it names no process group.")
            continue
        key = (rank, log.process, log.groups[0].name if is_inspector else "")
        if key in seen:
            notes.append(f"{log.path} was left out: {seen[key]} is of rank {rank}, too.")
            continue
        if not is_inspector and log.damage:
            notes.append(f"{log.path} is damaged: {log.damage}. What came before was read.")
        skipped = log.skipped
        if is_inspector and log.damage and skipped:
            skipped -= 1
            notes.append(
                f"{log.path}: {log.damage}: the file was cut, or it is still being written."
            )
        if skipped:
            notes.append(f"{log.path}: {plural(skipped, 'record')} could not be understood.")
        seen[key] = log.path
        found.setdefault(rank, []).append(log)
    if any(log.writer == "NCCL Inspector" for log in logs):
        notes.append(
            "The NCCL Inspector writes down collectives that ended: which were entered is not"
            " available, because only PyTorch's flight recorder records it."
        )
    return found, notes


_RankedLog = tuple[int, CollectiveLog]
_MOST_BACK = 100  # pauses looked at for the longest one


def _newest_start(logs: Sequence[_RankedLog]) -> tuple[list[_RankedLog], list[str]]:
    """The logs of the newest start of the job, and a note of those of earlier starts.

    A start ended where another process of a rank issues its first collective after all of the
    rank's logs before: at the longest pause of all ranks since then. A log without times stays.
    """
    timed = sorted(
        (int(log.created_ns.min()), int(log.created_ns.max()), rank, log.process)
        for rank, log in logs
        if rank >= 0 and _is_timed(log)
    )
    before: dict[int, tuple[int, str]] = {}  # by rank: when its logs so far end, and of whom
    pauses: deque[tuple[int, int]] = deque(maxlen=_MOST_BACK)  # nobody issued anything
    end = cut = 0
    for first, last, rank, process in timed:
        if 0 < end < first:
            pauses.append((end, first))
        since, whose = before.get(rank, (first, ""))
        if since < first and not (process and process == whose):
            cut = max(((b - a, b) for a, b in pauses if a >= since), default=(0, cut))[1]
        before[rank] = (max(last, since), process)
        end = max(end, last)
    kept = [
        (rank, log) for rank, log in logs if not _is_timed(log) or int(log.created_ns.max()) >= cut
    ]
    left_out = len(logs) - len(kept)
    if not left_out:
        return kept, []
    were = "was" if left_out == 1 else "were"
    why = "its rank starts again later" if left_out == 1 else "the ranks start again later"
    return kept, [f"{plural(left_out, 'log')} {were} left out: {why}."]


def _is_timed(log: CollectiveLog) -> bool:
    """True if every entry tells when it was issued."""
    return log.created_ns.size > 0 and int(log.created_ns.min()) > 0


_Key = tuple[tuple[int, ...], str, str]


def _groups(found: Mapping[int, list[CollectiveLog]]) -> tuple[LogGroup, ...]:
    """Groups by their ranks if the logs list them, else by name and description."""
    members: dict[_Key, list[Entered]] = {}
    for rank, logs in found.items():
        for log in logs:
            for at, group in enumerate(log.groups):
                told = group.ranks
                if told and rank not in told:
                    continue  # a group that this process knows of and is not in
                is_other = log.writer == "NCCL Inspector" or not told
                key = (
                    ((), group.name, group.description)
                    if is_other
                    else (told, "", group.description)
                )
                members.setdefault(key, []).append(_entered(rank, log, at))
    groups = []
    for (told, name, description), those in members.items():
        seen = tuple(sorted(one.rank for one in those))
        size = max(one.log.groups[0].size for one in those) if not told else 0
        is_world = description == "default_pg" or size == len(found)
        ranks = told or (tuple(sorted(found)) if is_world and len(found) > len(seen) else seen)
        label = description if description not in ("", "undefined") else f"group {name}"
        groups.append(LogGroup(label, ranks, not told, tuple(sorted(those, key=lambda e: e.rank))))
    groups.sort(key=lambda group: (-len(group.ranks), group.label, group.ranks))
    return tuple(groups)


def _entered(rank: int, log: CollectiveLog, group: int) -> Entered:
    of_group = log.group == group
    rows = np.flatnonzero(of_group & ~log.is_p2p)
    sequence, state = log.sequence[rows], log.state[rows]
    done = sequence[state == COMPLETED]
    told = log.groups[group]
    # What the recorder counted may count messages, too: entries come first.
    entered = int(sequence.max()) if rows.size else told.last_entered
    completed = int(done.max()) if done.size else (UNKNOWN if rows.size else told.last_completed)
    waiting = rows[state != COMPLETED]
    waiting = waiting[np.argsort(log.sequence[waiting], kind="stable")]
    number = dict(zip(sequence.tolist(), rows.tolist(), strict=True))
    lost = UNKNOWN
    if not (_is_whole(log) and rows.size) and not (of_group & log.is_p2p).any():
        entered = max(entered, told.last_entered)
        completed = max(completed, told.last_completed)
        lost = completed + 1 if entered > completed >= 0 and not waiting.size else UNKNOWN
    return Entered(rank, log, entered, completed, tuple(waiting.tolist()), number, lost)


def _is_whole(log: CollectiveLog) -> bool:
    return not log.damage and not log.skipped


def _waits_in(logs: Sequence[CollectiveLog]) -> str:
    """Collectives that a rank entered and did not leave, in words; "" if none."""
    for log in logs:
        rows = np.flatnonzero(log.state != COMPLETED)
        if rows.size:
            return _call(log, int(rows[0]))
    return ""


def _call(log: CollectiveLog, row: int) -> str:
    return f"{log.operations[log.operation[row]]} #{log.sequence[row]} of {_label(log, row)}"


def _label(log: CollectiveLog, row: int) -> str:
    """The description of the group of a row, else its name."""
    group = log.groups[log.group[row]]
    is_told = group.description not in ("", "undefined")
    return group.description if is_told else f"group {group.name}"


def _last(logs: Sequence[CollectiveLog]) -> str:
    """The last collective that a rank issued, and from where, in words."""
    best: tuple[int, CollectiveLog, int] | None = None
    for log in logs:
        if log.sequence.size:
            row = int(np.argmax(log.created_ns))
            if best is None or log.created_ns[row] > best[0]:
                best = (int(log.created_ns[row]), log, row)
    if best is None:
        return "nothing"
    place = _place(best[1], best[2])
    return _call(best[1], best[2]) + (f" at {place}" if place else "")


def _place(log: CollectiveLog, row: int) -> str:
    code = int(log.place[row])
    return log.places[code] if code >= 0 else ""


def _first_stuck(
    group: LogGroup,
    found: Mapping[int, list[CollectiveLog]],
    waits: Mapping[int, str],
    lasts: Mapping[int, str],
) -> Stuck | None:
    """The first collective of a group that did not end; None if all did."""
    inspected = [one for one in group.members if one.log.writer == "NCCL Inspector"]
    if inspected:
        return _behind(group, inspected, lasts)
    pending = [int(one.log.sequence[row]) for one in group.members for row in one.pending[:1]]
    pending += [one.lost for one in group.members if one.lost != UNKNOWN]
    if not pending:
        return None
    sequence = min(pending)
    here = [one for one in group.members if sequence in one.number]
    present = {one.rank for one in group.members}
    never = {one.rank for one in group.members if one.entered < sequence}
    never |= set(group.ranks) & found.keys() - present if group.ranks else set()
    unclear = {rank for rank in never if not all(map(_is_whole, found[rank]))}
    never -= unclear
    calls = {one.rank: _what(one, sequence) for one in here}
    usual = next(iter(Counter(calls.values()).most_common(1)), (_UNNAMED, 0))[0]
    other = {rank for rank, call in calls.items() if call != usual}
    kind: StuckKind = "different" if other else "never_entered" if never else "inside"
    missed = other or never
    inside = {one.rank for one in here if int(one.log.state[one.number[sequence]]) != COMPLETED}
    inside |= {one.rank for one in group.members if one.lost == sequence}
    waiting = inside - missed
    witness = next((one for one in here if one.rank in waiting), here[0] if here else None)
    place = _place(witness.log, witness.number[sequence]) if witness else ""
    elsewhere = {rank: waits[rank] for rank in missed if waits[rank] and kind == "never_entered"}
    others = tuple(sorted({" ".join(filter(None, calls[rank])) for rank in other}))
    return Stuck(
        group=group,
        kind=kind,
        sequence=sequence,
        operation=usual[0],
        missed=tuple(sorted(missed)),
        unknown=group.silent,
        waiting=tuple(sorted(waiting)),
        elsewhere=elsewhere,
        last={rank: lasts[rank] for rank in missed},
        place=place,
        is_root=kind != "never_entered" or len(elsewhere) < len(missed),
        others=others,
        unclear=tuple(sorted(unclear)),
    )


_UNNAMED = ("collective", "")
"""Operation and sizes of a collective of which no log has an entry."""


def _what(one: Entered, sequence: int) -> tuple[str, str]:
    """Operation, and sizes where they must agree."""
    row = one.number[sequence]
    operation = one.log.operations[one.log.operation[row]]
    return operation, one.log.signatures[one.log.signature[row]] if operation in SIZED else ""


def _behind(group: LogGroup, members: Sequence[Entered], lasts: Mapping[int, str]) -> Stuck | None:
    """The ranks that ended fewer collectives, from logs of ended collectives only."""
    most = max(one.completed for one in members)
    # A half last line is of one more that ended.
    at_most = {one.rank: one.completed + bool(one.log.damage) for one in members}
    missed = [one for one in members if at_most[one.rank] < most]
    if not missed:
        return None
    sequence = min(at_most[one.rank] for one in missed) + 1
    ahead = [one for one in members if sequence in one.number]
    log, row = (ahead[0].log, ahead[0].number[sequence]) if ahead else (None, 0)
    return Stuck(
        group=group,
        kind="not_completed",
        sequence=sequence,
        operation=log.operations[log.operation[row]] if log else "collective",
        missed=tuple(sorted(one.rank for one in missed if at_most[one.rank] < sequence)),
        unknown=group.silent,
        waiting=(),
        elsewhere={},
        last={one.rank: lasts[one.rank] for one in missed},
        place="",
        is_root=True,
        unclear=tuple(
            sorted(one.rank for one in members if one.completed < sequence <= at_most[one.rank])
        ),
    )


_MESSAGE = regex(r"(send|recv)\s+(\d+)\s*(?:->|<-)\s*(\d+)")


def _messages(
    group: LogGroup,
    found: Mapping[int, list[CollectiveLog]],
    waits: Mapping[int, str],
    lasts: Mapping[int, str],
) -> Iterable[Stuck]:
    """Messages that a rank waits in while the other end does not; the oldest of each rank.

    The numbers of messages differ between the two ends, so only what is pending is compared.
    """
    pending: dict[tuple[str, int, int], tuple[Entered, int]] = {}
    for one in group.members:
        log = one.log
        rows = np.flatnonzero(log.is_p2p & (log.state != COMPLETED))
        for row in rows.tolist():
            said = _MESSAGE.match(log.operations[log.operation[row]])
            if said is None or _label(log, row) != group.label:
                continue
            way, own, peer = said[1], int(said[2]), int(said[3])
            ends = (own, peer) if max(own, peer) < len(group.ranks) else ()
            if ends and group.ranks[own] == one.rank:
                pending.setdefault((way, one.rank, group.ranks[peer]), (one, row))
    for (way, rank, peer), (one, row) in pending.items():
        answer = ("recv" if way == "send" else "send", peer, rank)
        if answer in pending:
            continue
        known = peer in found
        yield Stuck(
            group=group,
            kind="message",
            sequence=int(one.log.sequence[row]),
            operation=f"{way} {'to' if way == 'send' else 'from'} rank {peer}",
            missed=(peer,) if known else (),
            unknown=() if known else (peer,),
            waiting=(rank,),
            elsewhere={peer: waits[peer]} if known and waits[peer] else {},
            last={peer: lasts[peer]} if known else {},
            place=_place(one.log, row),
            is_root=known and not waits[peer],
        )


def _lacks_entries(log: CollectiveLog) -> bool:
    """True if entries of the recorder are lost; a bad line of the Inspector loses only itself."""
    return log.writer != "NCCL Inspector" and not _is_whole(log)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


_NOTHING_STUCK = (
    "A job that stands still after this waits for something else: the loader, a lock, a file, or a"
    " rank without a log."
)


def _said(
    stuck: Sequence[Stuck], groups: Sequence[LogGroup], ranks: Sequence[int]
) -> tuple[str, str]:
    """The answer, and what to do with it."""
    if not ranks:
        return "No log could be used.", ""
    if not stuck:
        members = [one for group in groups for one in group.members]
        parts = {one.rank for one in members if _lacks_entries(one.log)}
        if parts:
            many = plural(len(parts), "log")
            return (
                f"No rank waits in a recorded collective, but {many} could not be read completely.",
                f"What is missing of {said_ranks(parts)} may be what hangs.",
            )
        last = max((one.entered for one in members), default=UNKNOWN)
        if last < 0:
            return f"The logs of {plural(len(ranks), 'rank')} name no collective.", ""
        return (
            f"No rank waits in a collective: all that {said_ranks(ranks)} entered have ended.",
            _NOTHING_STUCK,
        )
    first = stuck[0]
    call = f"{first.operation} #{first.sequence} of {first.group.label}"
    who = _upper(said_ranks(first.missed)) if first.missed else ""
    match first.kind:
        case "never_entered" if not first.is_root:
            said = f"The ranks wait for each other: {who} never entered {call}."
        case "never_entered":
            said = f"{who} never entered {call}."
        case "different":
            said = f"{who} called something else than {call}: {listing(first.others)}."
        case "not_completed":
            verb = "has" if len(first.missed) == 1 else "have"
            said = f"{who} {verb} not ended {call}; other ranks of the group have."
        case "message":
            waits = _upper(said_ranks(first.waiting))
            end = "which is not there" if first.missed else "of which there is no log"
            said = f"{waits} waits in {first.operation} of {first.group.label}, {end}."
        case _ if first.unclear:
            said = f"{_upper(said_ranks(first.waiting))} entered {call}, and it did not end."
        case _:
            said = f"All ranks with a log entered {call}, and it did not end."
    return said, " ".join(_details(first, stuck))


def _details(first: Stuck, stuck: Sequence[Stuck]) -> Iterable[str]:
    if first.waiting and first.kind != "message":
        verb = "waits" if len(first.waiting) == 1 else "wait"
        at = f", issued at {first.place}" if first.place else ""
        yield f"{_upper(said_ranks(first.waiting))} {verb} there{at}."
    unsure = (*first.unknown, *first.unclear)
    if first.kind == "inside" and unsure:
        yield f"Whether {said_ranks(unsure)} entered it is not known, so look there first."
    elif first.kind == "inside" and first.operation != _UNNAMED[0]:
        yield "Every rank called it alike, so look at the network, or at the kernels before it."
    for rank in first.missed[:3]:
        if rank in first.elsewhere:
            yield f"Rank {rank} waits in {first.elsewhere[rank]}."
        else:
            yield f"The last that rank {rank} issued is {first.last[rank]}."
    if first.unknown:
        yield f"Of {said_ranks(first.unknown)} of the group there is no log."
    if first.unclear:
        yield f"Of {said_ranks(first.unclear)} only a part of the log could be read."
    if len(stuck) > 1:
        yield f"{plural(len(stuck) - 1, 'other group')} stands still, too."
