"""Which call of one rank is the same collective as which call of another?

Groups are known by their ranks, never by their names. Within a group calls are matched

1. by ``Comms Id`` and ``Seq``, where all members write them and no two calls are alike;
2. by ``Seq``, where it ascends on all members;
3. by their order, where operations and sizes are the same on all members;
4. else by the longest common subsequence of operations and sizes. What is left over is reported,
   never shifted.

A send and its receive are matched by their two ranks and their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.alignment import align
from ...base.arrays import F64, I8, I32, I64, rows_between
from .model import POINT_TO_POINT, SYMMETRIC, RankDigest, RankGroup, comparable

METHODS = ("comms_id", "sequence", "order", "lcs", "pairs")
LEAST_COMMON = 0.8  # of the calls must have a counterpart where the order differs

LATE_NS = 2_000_000
"""So much later than it ended may a range of a host back end be stamped."""

Token = tuple[str, str]
_NOT_SAID = "the recording does not say to which of several groups these calls belong"


class RunGroup(Struct, frozen=True):
    """A process group of the run."""

    ranks: tuple[int, ...]  # global, ascending; those seen to take part where the file names none
    members: tuple[int, ...]  # rows of the digests that take part
    missing: tuple[int, ...]  # ranks without a digest
    label: str
    backend: str
    known: bool  # the recording names the ranks
    low_confidence: str  # why its calls may belong to another group, "" where they do not


class Matches(Struct, frozen=True, eq=False):
    """Collectives of the run; I collectives, K entries, R digests.

    Of many ranks few are in a collective, so only those that take part have an *entry*: one of a
    collective and a member. Entries are by collective and, within one, by member. What is known of
    a member of a collective (when it came, what it waited) is a column beside them.
    """

    group: I32  # (I,) row of groups
    kind: tuple[str, ...]
    method: I8  # of METHODS
    first: I64  # (I + 1,) first entry of each collective
    member: I32  # (K,) digest
    call: I32  # (K,) row of the calls of that digest
    by_member: I64  # (K,) entries by member and, of one, by collective
    first_of: I64  # (R + 1,) where those of each member begin
    complete: NDArray[np.bool_]  # every rank of the group has a digest and takes part
    root: I32  # digest of the root of a broadcast, −1
    unmatched: I64  # (R,) calls without a counterpart
    inside: I64  # (R,) of those, between matched ones: not cut off by the window

    def __len__(self) -> int:
        return len(self.group)

    @property
    def count(self) -> I64:
        """Number of members of each collective."""
        return np.diff(self.first)

    @property
    def collective(self) -> I64:
        """The collective of each entry."""
        return np.repeat(np.arange(len(self)), self.count)

    def entries(self, collective: int) -> slice:
        """The entries of a collective."""
        return slice(int(self.first[collective]), int(self.first[collective + 1]))

    def entries_of(self, member: int) -> I64:
        """The entries of a member, in the order of the collectives."""
        return self.by_member[self.first_of[member] : self.first_of[member + 1]]

    def least(self, values: I64) -> I64:
        """Of a column beside the entries the least of each collective."""
        result: I64 = np.minimum.reduceat(values, self.first[:-1]) if len(self) else values[:0]
        return result

    def most(self, values: I64) -> I64:
        """Of a column beside the entries the most of each collective."""
        result: I64 = np.maximum.reduceat(values, self.first[:-1]) if len(self) else values[:0]
        return result

    def sum_of(self, values: I64) -> I64:
        """Of a column beside the entries the sum of each collective."""
        result: I64 = np.add.reduceat(values, self.first[:-1]) if len(self) else values[:0]
        return result

    def calls(self, digests: Sequence[RankDigest], name: str) -> NDArray[Any]:
        """A column of ``DigestCalls`` for each entry."""
        columns = [getattr(one.calls, name) for one in digests]
        shape = (len(self.member), *(columns[0].shape[1:] if columns else ()))
        result = np.zeros(shape, columns[0].dtype if columns else np.int64)
        for member, column in enumerate(columns):
            here = self.entries_of(member)
            result[here] = column[self.call[here]]
        return result

    def table(self, values: NDArray[Any], rows: I64, fill: float = -1) -> NDArray[Any]:
        """A column beside the entries as a table of some collectives by all digests."""
        result = np.full((len(rows), len(self.first_of) - 1), fill, values.dtype)
        for at, row in enumerate(rows.tolist()):
            here = self.entries(row)
            result[at, self.member[here]] = values[here]
        return result

    def some(self, rows: I64) -> Matches:
        """Some of the collectives; calls without a counterpart stay those of all."""
        here = rows_between(self.first[rows], self.first[rows + 1])
        return replace(
            self,
            group=self.group[rows],
            kind=tuple(self.kind[at] for at in rows.tolist()),
            method=self.method[rows],
            complete=self.complete[rows],
            root=self.root[rows],
            **_entries(self.count[rows], self.member[here], self.call[here], len(self.unmatched)),
        )

    @property
    def symmetric(self) -> NDArray[np.bool_]:
        """Collectives that end on no member before the last one began."""
        return np.array([kind in SYMMETRIC for kind in self.kind], np.bool_)

    def meetings(self, digests: Sequence[RankDigest]) -> NDArray[np.bool_]:
        """Collectives in which ranks wait for each other: on a host back end broadcasts, too."""
        sent = np.array([kind == "broadcast" for kind in self.kind], np.bool_)
        if sent.any():
            sent &= self.most(self.calls(digests, "on_device")) == 0
        return self.symmetric | sent


def _entries(count: I64, member: I32, call: I32, digests: int) -> dict[str, Any]:
    """The columns of entries, of those of each collective one after the other."""
    return {
        "first": np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        "member": member,
        "call": call,
        "by_member": np.argsort(member, kind="stable"),
        "first_of": np.concatenate([[0], np.cumsum(np.bincount(member, minlength=digests))]),
    }


def match(digests: Sequence[RankDigest]) -> tuple[tuple[RunGroup, ...], Matches]:
    """The groups of a run and its collectives; O(calls × ranks)."""
    found = _Found(len(digests))
    by_key: dict[object, dict[int, list[int]]] = defaultdict(dict)
    said: dict[object, list[RankGroup]] = defaultdict(list)
    known: dict[object, object] = {}
    for m, digest in enumerate(digests):
        keys = [known.setdefault(key, key) for key in map(_group_key, digest.groups)]
        for group, key in zip(digest.groups, keys, strict=True):
            said[key].append(group)
        calls = digest.calls
        order = np.lexsort((calls.arrival_ns, calls.issue_ns))
        for row in order.tolist():
            if calls.group[row] >= 0:
                by_key[keys[calls.group[row]]].setdefault(m, []).append(row)
    for key in sorted(by_key, key=repr):
        _match_group(digests, said[key], by_key[key], found)
    return found.result(digests)


def _group_key(group: RankGroup) -> object:
    return group.ranks or (group.name, group.description, group.size)


class _Found:
    """Groups and collectives as they are found."""

    def __init__(self, digests: int) -> None:
        self.digests = digests
        self.groups: list[RunGroup] = []
        self.group_of: list[int] = []
        self.kinds: list[str] = []
        self.methods: list[int] = []
        self.rows: list[Mapping[int, int]] = []  # member → call
        self.used: list[list[int]] = [[] for _ in range(digests)]
        self.unmatched = np.zeros(digests, np.int64)
        self.inside = np.zeros(digests, np.int64)

    def group(self, group: RunGroup) -> int:
        for number, known in enumerate(self.groups):
            if known.ranks == group.ranks and known.label == group.label:
                return number
        self.groups.append(group)
        return len(self.groups) - 1

    def add(self, group: int, kind: str, method: int, rows: Mapping[int, int]) -> None:
        self.group_of.append(group)
        self.kinds.append(kind)
        self.methods.append(method)
        self.rows.append(rows)
        for m, row in rows.items():
            self.used[m].append(row)

    def result(self, digests: Sequence[RankDigest]) -> tuple[tuple[RunGroup, ...], Matches]:
        count = np.array([len(rows) for rows in self.rows], np.int64)
        pairs = np.array(
            [pair for rows in self.rows for pair in sorted(rows.items())], np.int32
        ).reshape(-1, 2)
        arrival = np.zeros(len(pairs))
        by_member = np.argsort(pairs[:, 0], kind="stable")
        first_of = np.searchsorted(pairs[by_member, 0], np.arange(self.digests + 1))
        for m, digest in enumerate(digests):
            here = by_member[first_of[m] : first_of[m + 1]]
            base = digest.base_ns - digests[0].base_ns
            arrival[here] = digest.calls.arrival_ns[pairs[here, 1]] + base
        when = medians(arrival, np.repeat(np.arange(len(count)), count), len(count))
        order = np.argsort(when, kind="stable")
        first = np.cumsum(count) - count
        here = rows_between(first[order], first[order] + count[order])
        groups = tuple(self.groups)
        # The members of a group do not change: they are asked once.
        members = [frozenset(group.members) for group in groups]
        rank_of = {digest.rank: m for m, digest in enumerate(digests)}
        complete, root = [], []
        for number in order.tolist():
            rows, group, kind = self.rows[number], self.group_of[number], self.kinds[number]
            complete.append(
                not groups[group].missing and rows.keys() == members[group]
                if kind not in POINT_TO_POINT
                else len(rows) == 2
            )
            m, row = next(iter(rows.items()))
            peer = int(digests[m].calls.peer[row])
            root.append(rank_of.get(peer, -1) if kind == "broadcast" else -1)
        return groups, Matches(
            group=np.array(self.group_of, np.int32)[order],
            kind=tuple(self.kinds[number] for number in order.tolist()),
            method=np.array(self.methods, np.int8)[order],
            complete=np.array(complete, np.bool_),
            root=np.array(root, np.int32),
            unmatched=self.unmatched,
            inside=self.inside,
            **_entries(count[order], pairs[here, 0], pairs[here, 1], self.digests),
        )


def _match_group(
    digests: Sequence[RankDigest],
    said: Sequence[RankGroup],
    rows: Mapping[int, list[int]],
    found: _Found,
) -> None:
    """Matches the calls of one group: pairs, then collectives, then what some ranks have left."""
    pairs: dict[int, list[int]] = {}
    others: dict[int, list[int]] = {}
    for m, mine in rows.items():
        digest = digests[m]
        paired = [r for r in mine if _kind(digest, r) in ("send", "recv")]
        if paired:
            pairs[m] = paired
        others[m] = [r for r in mine if _kind(digest, r) not in ("send", "recv")]
    whole = _run_group(digests, said, rows)
    group, first = found.group(whole), len(found.rows)
    _match_pairs(digests, pairs, group, found)
    left = _match_calls(digests, others, group, found)
    # Ranges of a host back end name no group: what only some ranks have is one of a smaller group.
    smaller: dict[tuple[Token, ...], list[int]] = defaultdict(list)
    for m, mine in left.items():
        if mine:
            smaller[tuple(_token(digests[m], row) for row in mine)].append(m)
    for members in smaller.values():
        if 1 < len(members) < len(others):
            part = {m: left[m] for m in members}
            inner = found.group(_part_of(digests, members, found.groups[group]))
            _match_calls(digests, part, inner, found)
            for m in members:
                left[m] = []
    _split(digests, rows, (whole, first), found)
    for m, mine in left.items():
        if not mine:
            continue
        found.unmatched[m] += len(mine)
        used = found.used[m]
        issue = digests[m].calls.issue_ns
        low, high = (issue[used].min(), issue[used].max()) if used else (0, -1)
        found.inside[m] += sum(low < issue[row] < high for row in mine)


def _run_group(
    digests: Sequence[RankDigest], said: Sequence[RankGroup], rows: Mapping[int, list[int]]
) -> RunGroup:
    one = max(said, key=lambda group: (len(group.ranks), group.description))
    seen = tuple(sorted(digests[m].rank for m in rows))
    ranks = one.ranks or seen
    here = {digest.rank: m for m, digest in enumerate(digests)}
    return RunGroup(
        ranks=ranks,
        members=tuple(here[rank] for rank in ranks if rank in here),
        missing=tuple(rank for rank in ranks if rank not in here),
        label=one.description or (f"group {one.name}" if one.name else "all ranks"),
        backend=one.backend,
        known=bool(one.ranks),
        low_confidence="",
    )


def _part_of(digests: Sequence[RankDigest], members: Sequence[int], whole: RunGroup) -> RunGroup:
    """A smaller group, inferred from which ranks made the same calls."""
    ranks = tuple(sorted(digests[m].rank for m in members))
    return RunGroup(
        ranks=ranks,
        members=tuple(sorted(members)),
        missing=(),
        label=f"ranks {', '.join(map(str, ranks))}",
        backend=whole.backend,
        known=False,
        low_confidence=_NOT_SAID,
    )


def on_one_host(digests: Sequence[RankDigest]) -> bool:
    """True if all ranks ran on one machine, by the host names of their recordings."""
    hosts = {one.host_name for one in digests}
    return len(hosts) == 1 and "" not in hosts


def _split(
    digests: Sequence[RankDigest],
    rows: Mapping[int, list[int]],
    of: tuple[RunGroup, int],
    found: _Found,
) -> None:
    """Gives collectives that cannot be of all ranks to the smaller groups that made them.

    Host back ends name no group of a call. Where a rank ends a collective before another begins it,
    these two are of different groups: then it belongs to declared groups that part the ranks so
    that this happens in none, those whose members end closest together. Several clocks do not tell.
    """
    whole, first = of
    number_of_whole = found.groups.index(whole)
    parts, one_clock = _partitions(digests, rows), on_one_host(digests)
    by_token: dict[Token, list[int]] = defaultdict(list)
    for at in range(first, len(found.rows)):
        m, row = next(iter(found.rows[at].items()))
        of_all = found.methods[at] != METHODS.index("pairs") and len(found.rows[at]) == len(rows)
        if parts and of_all and not digests[m].calls.on_device[row]:
            by_token[_token(digests[m], row)].append(at)
    for places in by_token.values():
        calls = [found.rows[at] for at in places]
        if one_clock and _fit(digests, calls, [tuple(rows)])[0] == 0:
            continue
        (early, _), best = min((_fit(digests, calls, one), one) for one in parts)
        if early or not one_clock:
            found.groups[number_of_whole] = replace(whole, low_confidence=_NOT_SAID)
            continue
        for at in places:
            pieces = found.rows[at]
            for number, members in enumerate(best):
                mine = {m: pieces[m] for m in members}
                group = found.group(_declared_group(digests, members, whole))
                if number:
                    found.add(group, found.kinds[at], found.methods[at], mine)
                else:
                    found.rows[at], found.group_of[at] = mine, group


def _partitions(
    digests: Sequence[RankDigest], rows: Mapping[int, list[int]]
) -> list[list[tuple[int, ...]]]:
    """Declared groups of one size and distance of their ranks that part those with calls."""
    here = {digests[m].rank: m for m in rows}
    alike: dict[tuple[int, int], set[tuple[int, ...]]] = defaultdict(set)
    for m in rows:
        for known in digests[m].declared:
            if 1 < len(known.ranks) < len(here) and here.keys() >= set(known.ranks):
                alike[len(known.ranks), known.ranks[1] - known.ranks[0]].add(known.ranks)
    return [
        [tuple(here[rank] for rank in ranks) for ranks in sorted(groups)]
        for groups in alike.values()
        if sum(map(len, groups)) == len(here) == len(set().union(*groups))
    ]


def _fit(
    digests: Sequence[RankDigest],
    calls: Sequence[Mapping[int, int]],
    parts: Sequence[Sequence[int]],
) -> tuple[int, int]:
    """Number of collectives that end on one member before another begins; spread of ends."""
    early = apart = 0
    for one in calls:
        for part in parts:
            ends = _times(digests, one, part, "release_ns")
            early += max(_times(digests, one, part, "issue_ns")) > min(ends) + LATE_NS
            apart += max(ends) - min(ends)
    return early, apart


def _times(
    digests: Sequence[RankDigest], one: Mapping[int, int], members: Sequence[int], name: str
) -> list[int]:
    return [int(getattr(digests[m].calls, name)[one[m]]) + digests[m].base_ns for m in members]


def _declared_group(
    digests: Sequence[RankDigest], members: Sequence[int], whole: RunGroup
) -> RunGroup:
    ranks = tuple(digests[m].rank for m in members)
    known = next(one for m in members for one in digests[m].declared if one.ranks == ranks)
    return RunGroup(
        ranks=ranks,
        members=tuple(members),
        missing=(),
        label=known.description or f"group {known.name}",
        backend=known.backend or whole.backend,
        known=True,
        low_confidence="",
    )


def _kind(digest: RankDigest, row: int) -> str:
    return digest.text(int(digest.calls.kind[row]))


def _token(digest: RankDigest, row: int) -> Token:
    """Kind and shape of a call; only the root of a scatter records the tensors it sends."""
    kind = _kind(digest, row)
    return kind, "" if kind == "scatter" else digest.shape_of(row)


# --- collectives ----------------------------------------------------------------------------------


def _match_calls(
    digests: Sequence[RankDigest],
    rows: Mapping[int, list[int]],
    group: int,
    found: _Found,
) -> dict[int, list[int]]:
    """Match calls of a group; return those without a counterpart on any other member."""
    members = [m for m in rows if rows[m]]
    if not members:
        return {}
    if len(members) == 1:
        alone = members[0]
        if len(rows) > 1:
            return {alone: list(rows[alone])}
        # The only recording of its group: each call is a collective of which one member is known.
        for row in rows[alone]:
            found.add(group, _kind(digests[alone], row), 2, {alone: row})
        return {alone: []}
    for method, keys in (
        (0, {m: _ids(digests[m], rows[m]) for m in members}),
        (1, {m: _sequences(digests[m], rows[m]) for m in members}),
    ):
        if all(keys.values()):
            left = _by_key(digests, rows, keys, (group, method), found)  # type: ignore[arg-type]
            if left is not None:
                return left
    return _by_order(digests, rows, group, found)


def _by_order(
    digests: Sequence[RankDigest],
    rows: Mapping[int, list[int]],
    group: int,
    found: _Found,
) -> dict[int, list[int]]:
    """Calls in the same order; else those of a longest common subsequence with the longest list."""
    members = [m for m in rows if rows[m]]
    tokens = {m: [_token(digests[m], row) for row in rows[m]] for m in members}
    turns = {m: [digests[m].iteration_of(row) for row in rows[m]] for m in members}
    longest = max(members, key=lambda m: len(tokens[m]))
    aligned = {m: align(tokens[longest], tokens[m]) for m in members}
    same = all(len(aligned[m]) == len(tokens[m]) == len(tokens[longest]) for m in members)
    by_place: list[dict[int, int]] = [{} for _ in tokens[longest]]
    left: dict[int, list[int]] = {m: [] for m in members}
    for m in members:
        pairs = aligned[m]
        if len(pairs) < LEAST_COMMON * comparable(turns[longest], turns[m]):
            left[m] = list(rows[m])
            continue
        taken = {mine for _, mine in pairs}
        left[m] = [row for at, row in enumerate(rows[m]) if at not in taken]
        for place, mine in pairs:
            by_place[place][m] = rows[m][mine]
    for place, rows_here in enumerate(by_place):
        if len(rows_here) > 1:
            found.add(group, tokens[longest][place][0], 2 if same else 3, rows_here)
        else:
            for m, row in rows_here.items():
                left[m].append(row)
    return {m: sorted(mine) for m, mine in left.items()}


def _ids(digest: RankDigest, rows: Sequence[int]) -> list[object] | None:
    """``Comms Id`` with ``Seq`` of each call; None where some have none, or two are alike."""
    calls = digest.calls
    keys: list[object] = [
        (digest.text(int(calls.comms_id[row])), int(calls.sequence[row])) for row in rows
    ]
    if not all(key[0] for key in keys) or len(set(keys)) < len(keys):  # type: ignore[index]
        return None
    return keys


def _sequences(digest: RankDigest, rows: Sequence[int]) -> list[object] | None:
    """``Seq`` of each call; None where some have none, or it does not ascend."""
    numbers = digest.calls.sequence[list(rows)]
    if (numbers < 0).any() or (np.diff(numbers) <= 0).any():
        return None
    return numbers.tolist()  # type: ignore[no-any-return]


def _by_key(
    digests: Sequence[RankDigest],
    rows: Mapping[int, list[int]],
    keys: Mapping[int, list[object]],
    how: tuple[int, int],
    found: _Found,
) -> dict[int, list[int]] | None:
    """Calls with equal keys; None where hardly any are equal, or equal ones do different things."""
    by_key: dict[object, dict[int, int]] = defaultdict(dict)
    for m, mine in keys.items():
        for key, row in zip(mine, rows[m], strict=True):
            by_key[key][m] = row
    shared = [one for one in by_key.values() if len(one) > 1]
    if len(shared) * 2 < min(len(mine) for mine in keys.values()):
        return None
    alike = [one for one in shared if len({_token(digests[m], r) for m, r in one.items()}) == 1]
    if len(alike) < LEAST_COMMON * len(shared):
        return None
    left: dict[int, list[int]] = {m: [] for m in keys}
    for one in by_key.values():
        if len(one) > 1 and len({_token(digests[m], r) for m, r in one.items()}) == 1:
            m, row = next(iter(one.items()))
            found.add(how[0], _kind(digests[m], row), how[1], one)
        else:
            for m, row in one.items():
                left[m].append(row)
    return left


# --- send and receive -----------------------------------------------------------------------------


def _match_pairs(
    digests: Sequence[RankDigest], rows: Mapping[int, list[int]], group: int, found: _Found
) -> None:
    """The n-th send of one rank to another is the n-th receive of that one from it."""
    ends: dict[tuple[int, int], dict[str, tuple[int, list[int]]]] = defaultdict(dict)
    for m, mine in rows.items():
        digest = digests[m]
        for row in mine:
            kind, peer = _kind(digest, row), int(digest.calls.peer[row])
            if peer < 0:
                found.unmatched[m] += 1
                continue
            pair = (digest.rank, peer) if kind == "send" else (peer, digest.rank)
            ends[pair].setdefault(kind, (m, []))[1].append(row)
    for both in ends.values():
        sends, receives = both.get("send"), both.get("recv")
        if sends is None or receives is None or len(sends[1]) != len(receives[1]):
            for m, mine in both.values():
                found.unmatched[m] += len(mine)
            continue
        for send, receive in zip(sends[1], receives[1], strict=True):
            found.add(group, "send", 4, {sends[0]: send, receives[0]: receive})


# --- columns --------------------------------------------------------------------------------------


def medians(values: F64, of: I64 | I32, count: int) -> F64:
    """The median of the known values of each of ``count``; NaN where nothing is known.

    ``of`` says to which of them a value belongs.
    """
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.lexsort((values[known], of[known]))]
    there = np.bincount(of[order], minlength=count)
    first = np.cumsum(there) - there
    result = np.full(count, np.nan)
    some = np.flatnonzero(there)
    low = values[order[first[some] + (there[some] - 1) // 2]]
    high = values[order[first[some] + there[some] // 2]]
    result[some] = (low + high) / 2
    return result
