"""What becomes of a text on the way: flipped, cut, spliced, repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .documents import NUMBERS, Chance

# Words that upset readers of JSON; a mutation puts them anywhere.
JUNK = [
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\0", b"\xff", b"\xed\xa0\x80",
    b"\xc3", b"NaN", b"-Infinity", b"//", b"/*", b'"}', b'",', b"\\ud800", b"\\u12", b"}, {",
    b'], "a": [', b"null", b"{}", b"-", b"1e999", b'"ph":', b'{"ph":"X","name":"z"}',
    b'], "traceName": "x"}', b",,", b"}]}", b"\x0b", b"\xef\xbb\xbf", b'"args":{"correlation":1},',
    b'}{"traceEvents":[', b"}\n{", b"}\r\n{", b'"' * 300, b"/*", b'{"ph":"X","args":[1,',
    b"05", b"{'ph': 'X'}",
    b"'", b"\x1f", b"\\x", b"[" * 70, b"]" * 70,
]  # fmt: skip


def mutated(text: bytes, others: Sequence[bytes], chance: Chance) -> bytes:
    """``text`` with one to five things done to it."""
    data = bytearray(text)
    for _ in range(chance.randint(1, 5)):
        at = chance.randint(0, len(data))
        chance.choice(_WAYS)(data, at, others, chance)
    return bytes(data)


def _flip(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    for place in range(at, min(at + 1, len(data))):
        data[place] ^= 1 << chance.randint(0, 7)


def _byte(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    data[at : at + 1] = bytes([chance.randint(0, 255)])


def _insert(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    data[at:at] = chance.choice(JUNK)


def _delete(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    del data[at : at + chance.randint(1, 30)]


def _cut(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    if chance.random() < 0.3:
        del data[at:]


def _repeat(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    piece = data[at : at + chance.randint(1, 400)]
    data[at:at] = piece


def _splice(data: bytearray, at: int, others: Sequence[bytes], chance: Chance) -> None:
    other = chance.choice(others)
    start = chance.randint(0, len(other))
    data[at : at + chance.randint(0, 200)] = other[start : start + chance.randint(1, 600)]


def _number(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    """Another number in place of the next one."""
    while at < len(data) and not 48 <= data[at] <= 57:
        at += 1
    end = at
    while end < len(data) and 48 <= data[end] <= 57:
        end += 1
    data[at:end] = chance.choice(NUMBERS).encode()


def _value(data: bytearray, at: int, _: Sequence[bytes], chance: Chance) -> None:
    """Anything in place of the next value."""
    start = data.find(b":", at) + 1
    if start:
        ends = [end for end in (data.find(b",", start), data.find(b"}", start)) if end >= 0]
        data[start : min(ends, default=len(data))] = chance.choice([*JUNK, b"", b" "])


_WAYS: list[Callable[[bytearray, int, Sequence[bytes], Chance], None]] = [
    _flip, _byte, _insert, _delete, _cut, _repeat, _splice, _number, _value,
]  # fmt: skip
