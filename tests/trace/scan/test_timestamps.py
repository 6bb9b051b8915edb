"""Times are exact: the decimal text counts, never a double."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace.raw import MISSING, NO_DUR
from kinetoscope.trace.scan.json_values import NumberText, dur_ns, nanoseconds, ts_ns
from kinetoscope.trace.scan.typed import column_ns

numbers = (
    st.integers(-(10**20), 10**20).map(str)
    | st.decimals(-(10**13), 10**17, places=3).map(str)
    | st.decimals(0, 10**13, places=6).map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("4370504323436.782", 4370504323436782),
        ("1712195495505582.988", 1712195495505582988),  # a double would make 583.0 of it
        ("1704161511420306.491", 1704161511420306491),
        ("0.981", 981),
        ("170.6469999999972", 170647),
        ("0.0005", 0),  # half to even
        ("0.0015", 2),
        ("0.0025", 2),
        ("0.00250000000000000000000000001", 3),
        ("1e3", 1_000_000),
        ("1.5E-3", 2),
        ("-3.25", -3250),
        ("9223372036854775.807", 2**63 - 1),
        ("9223372036854775.808", None),
        ("1e400", None),
        ("1e-400", 0),
    ],
)
def test_the_text_of_a_number_in_microseconds(text: str, ns: int | None) -> None:
    assert nanoseconds(NumberText(text)) == ns
    assert column_ns([text.encode()])[0].tolist() == [MISSING if ns is None else ns]


@pytest.mark.parametrize("text", ["", " ", "soon", "1_000", "0x10", "1.2.3", "٣", "inf", "nan"])
def test_a_text_that_is_no_number_is_no_time(text: str) -> None:
    assert nanoseconds(text) is None
    assert ts_ns(text) == MISSING
    assert dur_ns(text) == NO_DUR


@pytest.mark.parametrize("value", [None, True, [], {}])
def test_other_values_are_no_time(value: object) -> None:
    assert nanoseconds(value) is None


def test_a_negative_duration_stays_apart_from_a_missing_one() -> None:
    assert dur_ns(NumberText("-0.001")) == -2
    assert dur_ns(-1) == -1000


@given(st.lists(numbers | numbers.map(lambda text: f'"{text}"') | st.just(""), max_size=40))
def test_many_at_once_are_what_each_is(texts: list[str]) -> None:
    ns, unread = column_ns([text.encode() for text in texts])
    exact = Context(prec=500)
    for row, text in enumerate(texts):
        if not text:
            assert (ns[row], row in unread) == (MISSING, False)
            continue
        number = exact.multiply(Decimal(text.strip('"')), 1000)
        whole = int(number.to_integral_value(ROUND_HALF_EVEN, exact))
        fits = abs(whole) < 2**63
        assert (ns[row], row in unread) == (whole if fits else MISSING, not fits)


def test_no_texts_and_texts_of_all_kinds() -> None:
    assert column_ns([])[0].tolist() == []
    ns, unread = column_ns([b"1", b"", b'"2.5"', b"[1]", b"null", b"1e3", b'"x"', b"3"])
    assert ns.tolist() == [1000, MISSING, 2500, MISSING, MISSING, 1_000_000, MISSING, 3000]
    assert unread == [3, 4, 6]
    assert ns.dtype == np.int64
