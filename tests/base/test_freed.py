"""Freed memory goes back where the C library can be asked, and nothing happens elsewhere."""

from __future__ import annotations

import ctypes
import sys

import pytest

from kinetoscope.base import freed


def test_pages_between_used_pieces_are_given_back() -> None:
    """Every other piece is freed: the C library keeps the holes until it is asked."""
    if freed._trim() is None:
        pytest.skip("this C library cannot be asked")
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes, libc.free.argtypes = (ctypes.c_size_t,), (ctypes.c_void_p,)
    size = 64 * 1024  # below what malloc takes from the system by itself
    pieces = [libc.malloc(size) for _ in range(2000)]
    for piece in pieces:
        ctypes.memset(piece, 1, size)
    for piece in pieces[::2]:
        libc.free(piece)
    before = _resident()
    freed.give_back()
    after = _resident()
    for piece in pieces[1::2]:
        libc.free(piece)
    assert before - after > 40e6


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    freed._trim.cache_clear()
    monkeypatch.setattr(sys, "platform", "win32")
    freed.give_back()
    assert freed._trim() is None
    freed._trim.cache_clear()


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096.0
