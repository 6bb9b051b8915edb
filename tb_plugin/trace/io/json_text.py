"""JSON that a folder holds beside traces: decoded within limits, or refused with a reason."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

MOST_VALUES = 4_000_000
T = TypeVar("T")


def decoded(text: bytes | bytearray, kind: type[T] | Any = Any) -> T:  # noqa: ANN401  # its own default
    """The value of a text.

    Costs time linear in the text, and about a hundred bytes of memory for each of its values.

    Raises:
        ValueError: it is no JSON of this kind, or beyond a limit; says why.
    """
    # Every value but the first comes after one of these; those inside texts count, too.
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    try:
        found: T = msgspec.json.decode(text, type=kind)
    except UnicodeDecodeError:
        raise ValueError("it has bytes that are no UTF-8") from None
    except RecursionError:
        raise ValueError("its values are nested too deep") from None
    except OverflowError as error:
        raise ValueError(f"it has a number that cannot be held: {error}") from None
    return found
