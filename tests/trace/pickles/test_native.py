"""The native reader of snapshots gives the rows of the reference, or refuses the file."""

from __future__ import annotations

import io
import os
import pickle
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.base.native import Native
from kinetoscope.trace.memory_model import Snapshot
from kinetoscope.trace.pickles import snapshot as module
from kinetoscope.trace.pickles.native import read_natively
from kinetoscope.trace.pickles.snapshot import read_snapshot
from tests.conftest import TRACES, requires_native, requires_traces
from tests.reference.snapshots import read_records

from .drawn_snapshot import MIB, block, event, segment, snapshot

pytestmark = requires_native


def by_reference(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    with monkeypatch.context() as patch:
        patch.setattr(module, "read_natively", read_records)
        return read_snapshot(io.BytesIO(data))


def is_same(one: Any, other: Any) -> bool:
    """Whether two tables are equal, column by column and type by type."""
    if isinstance(one, msgspec.Struct):
        names = one.__struct_fields__
        return all(is_same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype) and bool(one.tolist() == other.tolist())
    return bool(one == other)


_NUMBERS = st.integers(-(2**70), 2**70) | st.none() | st.floats(0, 9)
_STACKS = st.lists(st.sampled_from(("a.py:1 f", "b.py:2 g", "c.py:3 h")), max_size=3)


@st.composite
def roots(draw: st.DrawFn) -> dict[str, Any]:
    """Snapshots as torch writes them, with some odd values."""
    shared = event("alloc", 1, 2, 3, "a.py:1 f")["frames"]
    events = []
    for _ in range(draw(st.integers(0, 6))):
        one = event(
            draw(st.sampled_from(("alloc", "free_completed", "oom", "new_kind"))),
            draw(_NUMBERS),  # type: ignore[arg-type]
            draw(_NUMBERS),  # type: ignore[arg-type]
            draw(st.integers(0, 99)),
            *draw(_STACKS),
        )
        more = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "pool_id": st.tuples(st.integers(0, 2), st.integers(0, 2)),
                    "segment_pool_id": st.just((0, 0)),
                    "compile_context": st.none() | st.text(max_size=3),
                    "user_metadata": st.text(max_size=3),
                    "frames": st.just(shared),
                },
            )
        )
        events.append({**one, **more})
    blocks = [
        block(MIB, draw(st.sampled_from(("inactive", "active_awaiting_free"))), *draw(_STACKS))
        for _ in range(draw(st.integers(1, 3)))
    ]
    more = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "host_traces": st.just([events[:1]]),
                "host_segments": st.just([segment(5 << 30, block(MIB))]),
                "allocator_settings": st.dictionaries(st.text(max_size=4), st.booleans()),
                "external_annotations": st.just(
                    [{"stage": "START", "name": "ProfilerStep#1", "device": 0, "time_us": 5}, 7]
                ),
                "odd": st.lists(st.tuples(st.integers(), st.text(max_size=2)), max_size=2),
            },
        )
    )
    return snapshot(*events, segments=(segment(1 << 30, *blocks),), **more)


@given(roots(), st.integers(2, 5))
def test_what_it_takes_is_what_the_reference_reads(root: dict[str, Any], protocol: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        data = pickle.dumps(root, protocol)
        assert is_same(read_snapshot(io.BytesIO(data)), by_reference(data, patch))


def said_of(data: bytes) -> Any:
    try:
        return read_snapshot(io.BytesIO(data))
    except TraceFormatError as error:
        return error.kind, error.message


@given(roots(), st.integers(0, 10_000), st.integers(0, 255))
def test_of_damage_both_readers_say_the_same(root: dict[str, Any], at: int, value: int) -> None:
    data = bytearray(pickle.dumps(root))
    data[at % len(data)] = value
    with pytest.MonkeyPatch.context() as patch:
        found = said_of(bytes(data))
        if isinstance(found, tuple) and "torch does not write" in found[1]:
            return  # the reference reads what else a pickle may hold
        patch.setattr(module, "read_natively", read_records)
        assert is_same(found, said_of(bytes(data)))


@given(roots(), st.integers(2, 5), st.integers(0, 10_000))
def test_a_file_that_was_cut_off_is_read_up_to_there(
    root: dict[str, Any], protocol: int, end: int
) -> None:
    data = pickle.dumps(root, protocol)
    data = data[: end % len(data)]
    with pytest.MonkeyPatch.context() as patch:
        found, at = read_natively(io.BytesIO(data)), len(data)
        if found is not None:  # of the first bytes there is nothing to keep
            assert f"{at:,} bytes" in found[1] or " at byte " in found[1]
            patch.setattr(module, "unpickle", None)  # no second reading
        one = said_of(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read_natively", read_records)
        assert is_same(one, said_of(data))
    assert found is not None or at < 60


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


def test_a_plain_file_is_taken_and_old_protocols_are_left() -> None:
    plain = pickle.dumps(snapshot(event("alloc", 1, 2, 3, "a.py:1 f")))
    assert read_natively(io.BytesIO(plain)) is not None
    for data in (
        pickle.dumps(snapshot(), 0),
        b"",
        b"{}",
    ):
        assert read_natively(io.BytesIO(data)) is None
    cut = read_natively(io.BytesIO(plain[:-1]))
    assert cut is not None
    assert cut[1] == f"it ends after {len(plain) - 1:,} bytes"
    # A name of code is refused where it stands, however much is before it.
    with pytest.raises(TraceFormatError, match=r"posix\.system") as error:
        read_natively(io.BytesIO(pickle.dumps({"segments": [*range(9), Evil()]})))
    assert error.value.kind == "unsafe_pickle"


def test_a_deep_one_is_left_and_a_huge_claim_refused_at_once() -> None:
    assert read_natively(io.BytesIO(b"\x80\x04" + b"](" * 5000)) is None
    with pytest.raises(TraceFormatError, match="67,108,864 bytes in one string"):
        read_natively(io.BytesIO(b"\x80\x04]\x8d" + (10 << 30).to_bytes(8, "little")))


@requires_traces
@pytest.mark.parametrize("name", ["magma27", "wedsonlin"])
def test_real_files_are_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = (TRACES / "cuda_memory_snapshots" / name).iterdir()
    data = path.read_bytes()
    assert read_natively(io.BytesIO(data)) is not None
    assert is_same(read_snapshot(path), by_reference(data, monkeypatch))


def test_without_the_library_a_snapshot_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = pickle.dumps(snapshot(event("alloc", 1, 2, 3, "a.py:1 f")))
    absent = Native(None, "this installation was built without cargo", "Install cargo")
    monkeypatch.setattr(module, "native", lambda: absent)
    monkeypatch.setattr(module, "read_natively", lambda _: None)
    with pytest.raises(TraceFormatError) as caught:
        read_snapshot(io.BytesIO(data))
    assert caught.value.message == (
        "Memory snapshots are read by the native library alone:"
        " this installation was built without cargo."
    )
    assert caught.value.hint == "Install cargo."
