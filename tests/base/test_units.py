"""How numbers read in sentences."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base import units
from tests.conftest import ROOT

NBSP = "\u00a0"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (0.4, "0.40 ns"),
        (840, "840 ns"),
        (999, "999 ns"),
        (999.6, "1.00 µs"),
        (22_900, "22.9 µs"),
        (229_000, "229 µs"),
        (999_499, "999 µs"),
        (999_600, "1.00 ms"),
        (59_261_833, "59.3 ms"),
        (1_020_000_000, "1.02 s"),
        (119_400_000_000, "119 s"),
        (119_600_000_000, "2 m 0 s"),
        (134_000_000_000, "2 m 14 s"),
        (-36_500_000, "−36.5 ms"),
    ],
)
def test_time_has_three_digits_and_the_unit_of_its_size(ns: float, text: str) -> None:
    assert units.duration(ns) == text.replace(" ", NBSP)


@given(st.floats(0, 1e15))
def test_time_never_shows_four_digits_nor_an_exponent(ns: float) -> None:
    number = units.duration(ns).split(NBSP)[0]
    assert sum(letter.isdigit() for letter in number) <= 3 or "m" in units.duration(ns)
    assert "e" not in number


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1023, "1,023 B"),
        (1024, "1.00 KiB"),
        (98 << 20, "98.0 MiB"),
        (1_159_569, "1.11 MiB"),
        (1_047_000, "1.00 MiB"),
        (34_084_028_416, "31.7 GiB"),
        (5 << 60, "5,120 PiB"),
    ],
)
def test_bytes_are_binary_and_say_so(count: int, text: str) -> None:
    assert units.size(count) == text.replace(" ", NBSP)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0, "0 %"),
        (-0.0, "0 %"),
        (0.0002, "< 0.1 %"),
        (0.0005, "0.1 %"),
        (0.3337, "33.4 %"),
        (0.99949, "99.9 %"),
        (1, "100 %"),
    ],
)
def test_shares_have_one_decimal(ratio: float, text: str) -> None:
    assert units.share(ratio) == text.replace(" ", NBSP)


@pytest.mark.parametrize(
    ("number", "text"),
    [(7, "7"), (2994, "2,994"), (999_999, "999,999"), (1_000_000, "1.00 M"), (9_100_000, "9.10 M")],
)
def test_counts_are_exact_below_a_million(number: int, text: str) -> None:
    assert units.count(number) == text.replace(" ", NBSP)


def test_the_rest() -> None:
    assert units.times(1.19) == "1.19×"
    assert units.times(12.2) == "12×"
    assert units.plural(1, "step") == f"1{NBSP}step"
    assert units.plural(6, "step") == f"6{NBSP}steps"
    assert units.plural(2, "copy", "copies") == f"2{NBSP}copies"
    assert units.listing([]) == ""
    assert units.listing(["a"]) == "a"
    assert units.listing(["a", "b", "c"]) == "a, b and c"


CASES = json.loads((ROOT / "frontend/src/base/text/format.cases.json").read_text("utf-8"))
FORMS = {
    "time": units.duration,
    "bytes": units.size,
    "share": units.share,
    "count": units.count,
    "times": units.times,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_figure_reads_as_on_the_page(form: str) -> None:
    """The same table is read by format.test.ts. Ties are in it: 57.55 ms is 57.6 ms in both."""
    told = {value: FORMS[form](value).replace(NBSP, " ") for value, _ in CASES[form]}
    assert told == dict(CASES[form])
