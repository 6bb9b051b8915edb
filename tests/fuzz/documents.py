"""Traces as no recorder writes them: every type in every place, and every way to write it.

The text is drawn, not the value, so that escapes, numbers, white space and repeated keys are too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from kinetoscope.trace.raw import FLOAT_ARGS, INT_ARGS, TEXT_ARGS

T = TypeVar("T")


class Chance(Protocol):
    """The part of random.Random that is used here."""

    def choice(self, seq: Sequence[T], /) -> T: ...

    def randint(self, a: int, b: int, /) -> int: ...

    def random(self) -> float: ...


BLANKS = ("", "", "", " ", "\n    ", "\n", "\t", "\r\n  ", " " * 17)
NUMBERS = (
    "0", "7", "-1", "-0", "12345678", "123456789012", "1704161511422904204", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
    "9223372036854775.807", "9223372036854775.808", "-9223372036854775.8075", "1e3", "1E+2", "2e-3",
    "1.5e-05", "7.0", "7.50", "0.0005", "0.0015", "0.00249999999999999999999999", "1e400", "-1e400",
    "1e-400", "0e400", "0.0", "-0.0", "0e0", "1e0000001", "4370504323436.782", "170.6469999999972",
    "0.1", "123456789.123456789123456789", "3.0000000000000000001", "9" * 41, "9" * 300, "9" * 500,
    "0." + "3" * 400,
)  # fmt: skip
STRINGS = (
    "", "a", "X", "aten::mm", "ProfilerStep#3", "eight by", "more than eight bytes of text", "é",
    "漢字 kernel", "😀", r"\u00e9", r"\ud83d\ude00", r"\\ud83d", r"\ude00", r"\\", r"a\/b\"c\n",
    r"\u0000", r"\u001f", "\x7f", "7", "-7", "007", "-0", "0x1f", "0X1F", "0xg", "0x", "+7", " 7 ",
    "7.0", "7.5", "1e3", "1_000", "1704161511420306.491", "true", "null", "NaN", "inf", "[1, 2]",
    "٣", "9223372036854775808", r"\u0037", "CPU functions", "x" * 70,
    "Memcpy HtoD (Pageable -> Device)",
)  # fmt: skip
FIELDS = (
    "ph",
    "cat",
    "name",
    "pid",
    "tid",
    "ts",
    "dur",
    "id",
    "args",
    "bp",
    "s",
    "",
    r"\u0070h",
    "phx",
)
PHASES = (
    "X",
    "X",
    "X",
    "i",
    "M",
    "C",
    "s",
    "f",
    "b",
    "e",
    "B",
    "E",
    "",
    "é",
    "XY",
    r"\u0058",
    "漢",
)
ARGS = (*INT_ARGS, *FLOAT_ARGS, *TEXT_ARGS, "Ev Idx", "cbid", "", r"\u0067rid", "External i")


class Documents:
    """Draws texts of JSON."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._blanks: Sequence[str] = (chance.choice(BLANKS), chance.choice(BLANKS))
        # One odd value among many usual ones is another thing than odd values everywhere.
        self._oddness = chance.choice((0.0, 0.02, 0.1, 0.5))

    def document(self, most: int = 12) -> str:
        """A whole trace."""
        events = [self.event() for _ in range(self._chance.randint(0, most))]
        inside = (self._blank() + "," + self._blank()).join(events)
        if self._chance.random() < 0.2:
            return "[" + inside + "]"
        return '{"schemaVersion": 1, "traceEvents": [' + inside + '], "traceName": "x"}'

    def event(self) -> str:
        """One event, usual more often than not; rarely something else."""
        if self._chance.random() >= self._oddness:
            return self._object(self._usual())
        if self._chance.random() < 0.05:
            return self.value(2)
        names = [self._chance.choice(FIELDS) for _ in range(self._chance.randint(0, 9))]
        return self._object([(name, self._field(name)) for name in names])

    def value(self, depth: int) -> str:
        """Any value."""
        draw = self._chance.random()
        if depth and draw < 0.15:
            items = [self.value(depth - 1) for _ in range(self._chance.randint(0, 4))]
            return "[" + self._blank() + (self._blank() + ",").join(items) + self._blank() + "]"
        if depth and draw < 0.3:
            count = self._chance.randint(0, 3)
            return self._object([(self._text(), self.value(depth - 1)) for _ in range(count)])
        if draw < 0.6:
            return f'"{self._text()}"'
        if draw < 0.9:
            return self._number()
        return self._chance.choice(("true", "false", "null"))

    def _usual(self) -> list[tuple[str, str]]:
        chance = self._chance
        fields = [
            ("ph", f'"{chance.choice("XXXiMCsf")}"'),
            ("cat", f'"{chance.choice(("cpu_op", "kernel", "ac2g"))}"'),
            ("name", f'"{self._text()}"'),
            ("pid", str(chance.randint(0, 3))),
            ("tid", chance.choice(('"stream 7"', "7", '"7"'))),
            ("ts", f"{chance.randint(0, 10**15)}.{chance.randint(0, 999):03}"),
            ("dur", str(chance.randint(0, 1000))),
        ]
        del fields[chance.randint(0, 12) :]
        if chance.random() < 0.7:
            fields.append(
                ("args", self._object([self._arg() for _ in range(chance.randint(0, 5))]))
            )
        if fields and chance.random() < self._oddness:
            at = chance.randint(0, len(fields) - 1)
            fields[at] = (fields[at][0], self._field(fields[at][0]))
        return fields

    def _field(self, name: str) -> str:
        draw = self._chance.random()
        if name == "ph" and draw < 0.8:
            return f'"{self._chance.choice(PHASES)}"'
        if name in ("ts", "dur", "id", "pid", "tid") and draw < 0.8:
            return self._number() if draw < 0.6 else f'"{self._number()}"'
        if name in ("cat", "name") and draw < 0.8:
            return f'"{self._text()}"'
        if name == "args" and draw < 0.9:
            count = self._chance.randint(0, 6)
            return self._object([self._arg() for _ in range(count)])
        return self.value(3)

    def _arg(self) -> tuple[str, str]:
        key = self._chance.choice(ARGS)
        if self._chance.random() < self._oddness:
            return key, self.value(3)
        if key in INT_ARGS:
            return key, str(self._chance.randint(-3, 10**6))
        if key in FLOAT_ARGS:
            return key, f"{self._chance.randint(0, 99)}.{self._chance.randint(0, 99)}"
        return key, self._chance.choice(('"Add"', "[[2, 3], []]", "[1,1,1]", '["float", ""]', "{}"))

    def _object(self, members: Sequence[tuple[str, str]]) -> str:
        blank = self._blank
        inside = ",".join(f'{blank()}"{k}"{blank()}:{blank()}{v}{blank()}' for k, v in members)
        return "{" + (inside or blank()) + "}"

    def _text(self) -> str:
        some: Callable[[], str] = lambda: self._chance.choice(STRINGS)  # noqa: E731
        return some() if self._chance.random() < 0.8 else some() + some()

    def _number(self) -> str:
        if self._chance.random() < 0.7:
            return self._chance.choice(NUMBERS)
        whole = str(self._chance.randint(-(10 ** self._chance.randint(1, 25)), 10**9))
        if self._chance.random() < 0.5:
            return whole
        length = self._chance.randint(1, 22)
        return f"{whole}.{self._chance.randint(0, 10**length - 1):0{length}}"

    def _blank(self) -> str:
        return self._blanks[self._chance.random() < 0.2]
