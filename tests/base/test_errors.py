"""The tree of errors: every one has a word for the web and a code for the shell."""

from __future__ import annotations

import inspect
import pickle

from kinetoscope.base import errors
from kinetoscope.base.errors import KinetoscopeError, TraceFormatError

TREE = [
    item
    for _, item in inspect.getmembers(errors, inspect.isclass)
    if issubclass(item, KinetoscopeError)
]


def test_every_error_is_told_apart() -> None:
    assert len({error.exit_code for error in TREE}) == len(TREE)
    assert all(200 <= error.status < 600 for error in TREE)


def test_the_picture_names_every_error() -> None:
    assert all(error.__name__ in (errors.__doc__ or "") for error in TREE)


def test_a_format_error_survives_the_way_from_the_ingest_process() -> None:
    error = TraceFormatError("lfs_pointer", "This is a Git LFS pointer.", hint="Run git lfs pull.")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 – our own object
    assert (copy.kind, copy.message, copy.hint) == (error.kind, error.message, error.hint)
    assert str(copy) == "This is a Git LFS pointer. Run git lfs pull."
