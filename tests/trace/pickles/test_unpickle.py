"""A pickle of plain data is read as Python reads it; one that names code is refused by name."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import pickletools
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.pickles.pickle_bytes import MOST_KEY, PickleLimits
from kinetoscope.trace.pickles.unpickle import Unpickled, unpickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def read(data: bytes, **limits: int) -> Unpickled:
    return unpickle(io.BytesIO(data), limits=PickleLimits(**limits))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.tuples(inner, inner, inner, inner)
        | st.dictionaries(st.text() | st.integers(1 - MOST_KEY, MOST_KEY - 1), inner)
    ),
    max_leaves=40,
)


@given(plain.filter(lambda value: b"_codecs" not in pickle.dumps(value, 2)), st.integers(3, 5))
def test_plain_data_is_read_as_python_reads_it(value: Any, protocol: int) -> None:
    for data in (
        pickle.dumps(value, protocol),
        pickletools.optimize(pickle.dumps(value, protocol)),
    ):
        assert read(data).value == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.floats(0, 1e300),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
        max_leaves=20,
    ),
    st.sampled_from(PROTOCOLS),
)
def test_all_protocols_are_read(value: Any, protocol: int) -> None:
    assert read(pickle.dumps(value, protocol)).value == value


def test_what_is_shared_stays_shared_and_a_list_that_holds_itself_is_damage() -> None:
    shared = ["x"]
    value = read(pickle.dumps([shared, shared])).value
    assert isinstance(value, list)
    assert value[0] is value[1]
    shared.append(shared)  # type: ignore[arg-type]
    knot = read(pickle.dumps(shared))
    assert knot.value == []
    assert "complete" in knot.damage


@pytest.mark.parametrize("key", [MOST_KEY, -MOST_KEY, 1.5, None, True, (1, 2), (), b"x"])
def test_keys_are_texts_and_numbers_that_share_no_hash(key: object) -> None:
    found = read(pickle.dumps([{key: 1}, 2], 4))
    assert "a dict has a key that is no text" in found.damage
    assert read(pickle.dumps({MOST_KEY - 1: 1, "a": 2}, 4)).value == {MOST_KEY - 1: 1, "a": 2}


DOUBLED = {
    "tuples": b"\x80\x04}K\x01)" + b"2\x86" * 60 + b"s.",
    "lists": b"\x80\x04K\x01q\x000"
    + b"".join(b"]q" + bytes([n]) + b"h" + bytes([n - 1]) + b"ah" + bytes([n - 1]) + b"a0"
               for n in range(1, 60)) + b"h;.",
    "dicts": b"\x80\x04K\x01q\x000"
    + b"".join(b"}q" + bytes([n]) + b"(K\x01h" + bytes([n - 1]) + b"K\x02h" + bytes([n - 1]) + b"u0"
               for n in range(1, 60)) + b"h;.",
}  # fmt: skip


@pytest.mark.parametrize("data", DOUBLED.values(), ids=DOUBLED)
def test_what_is_doubled_by_reference_counts_each_time(data: bytes) -> None:
    with pytest.raises(TraceFormatError, match="values"):
        read(data)


DEEP = {
    "tuples": b"\x80\x04)" + b"\x85" * 1000 + b".",
    "lists": b"\x80\x04]" + b"q\x000]h\x00a" * 1000 + b".",
    "dicts": b"\x80\x04}" + b"q\x000}K\x01h\x00s" * 1000 + b".",
    "marks": b"\x80\x04" + b"(" * 1000 + b".",
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP)
def test_depth_is_bounded_whatever_makes_it(data: bytes) -> None:
    with pytest.raises(TraceFormatError, match="200 containers within each other"):
        read(data)


def test_a_list_of_two_values_by_reference_is_looked_at_once() -> None:
    looked = []

    def fold(container: Any) -> object:
        looked.append(container)
        return len(container)

    data = b"\x80\x04](](K\x01K\x02e" + b"2" * 1000 + b"e."
    found = unpickle(io.BytesIO(data), fold)
    assert found.value == [2] * 1001
    assert len(looked) == 1


def test_a_text_of_less_than_no_bytes_is_damage() -> None:
    assert "less than no bytes" in read(b"\x80\x02N" + b"T\xfb\xff\xff\xff.").damage


@pytest.mark.parametrize("line", [rb"V\u12", rb"V\udc80", rb"S'\u12'", rb"S'\x4'"])
def test_an_escape_that_is_half_there_is_text(line: bytes) -> None:
    assert isinstance(read(line + b"\n.").value, str)


@pytest.mark.parametrize("piece", [b"]0", b"}0", b")\x850"])
def test_containers_that_are_thrown_away_are_bounded(piece: bytes) -> None:
    data = b"\x80\x04N" + piece * (1 << 20) + b"."
    with pytest.raises(TraceFormatError, match=r"more than 1,000 (containers|values)"):
        read(data, kept=1000)


class Call:
    """What a hostile pickle is made of."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Call(os.system, "touch /tmp/owned"), "system"),
        (Call(eval, "1"), "eval"),
        (Call(subprocess.Popen, "ls"), "Popen"),
        ({"segments": [], "device_traces": [[Call(os.system, "ls")]]}, "system"),
        (Call(print), "print"),
    ],
)
def test_a_pickle_that_names_code_is_refused_with_the_name(
    value: object, name: str, protocol: int
) -> None:
    with pytest.raises(TraceFormatError) as refused:
        read(pickle.dumps(value, protocol))
    assert refused.value.kind == "unsafe_pickle"
    assert name in refused.value.message
    assert "nothing of it was run" in refused.value.message


@pytest.mark.parametrize("code", [b"R", b"b", b"o", b"\x81", b"\x92", b"Q", b"\x82\x01", b"\x98"])
def test_instructions_that_call_or_look_up_are_refused(code: bytes) -> None:
    with pytest.raises(TraceFormatError, match="wants to run code"):
        read(b"\x80\x04N(N" + code + b".")


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        (b"(" * 1000 + b".", "containers within each other"),
        (b"]" * 2_000_000 + b".", "values outside any container"),
        (b"\x80\x04](" + b"N" * 90 + b"e](" + b"N" * 90 + b"e.", "values"),
        (b"\x8a\xff" + b"\1" * 255 + b".", "bytes in one number"),
        (b"I" + b"9" * 100_000 + b"\n.", "digits in one number"),
        (b"\x8d" + (10 << 30).to_bytes(8, "little") + b"abc", "bytes in one string"),
    ],
    ids=["deep", "many", "kept", "number", "digits", "10 GB claimed"],
)
def test_what_would_cost_too_much_is_refused_with_the_limit(data: bytes, limit: str) -> None:
    with pytest.raises(TraceFormatError) as refused:
        read(data, kept=100)
    assert refused.value.kind == "pickle_limit"
    assert limit in refused.value.message


def test_a_cut_pickle_keeps_what_was_complete() -> None:
    whole = {"first": [{"n": n} for n in range(5000)], "second": "never reached"}
    data = pickle.dumps(whole)
    cut = read(data[: len(data) // 2])
    assert "ends after" in cut.damage or "lacks its values" in cut.damage
    assert isinstance(cut.value, dict)
    rows = [row["n"] for row in cut.value["first"] if row]
    assert rows == list(range(len(rows)))
    assert 1000 < len(rows) < 5000


@given(st.binary(max_size=400), st.integers(0, 2**32))
def test_no_bytes_whatever_do_anything_but_end_in_a_reason(junk: bytes, seed: int) -> None:
    whole = pickle.dumps({"segments": [{"blocks": [1, 2, (3, 4)], "name": "x"}], "traces": [[]]})
    at = seed % len(whole)
    for data in (junk, whole[:at] + junk + whole[at:], whole[:at]):
        with contextlib.suppress(TraceFormatError):
            assert read(data).offset <= len(data)


def test_a_fold_sees_each_container_once_complete_and_its_result_is_shared() -> None:
    seen: list[object] = []

    def fold(container: dict[Any, Any] | list[Any]) -> object:
        if isinstance(container, dict) and "id" in container:
            seen.append(dict(container))
            return f"#{container['id']}"
        return container

    frame = {"id": 7, "line": 3}
    data = pickle.dumps({"a": [frame, frame], "b": frame})
    result = unpickle(io.BytesIO(data), fold)
    assert result.value == {"a": ["#7", "#7"], "b": "#7"}
    assert seen == [frame]
