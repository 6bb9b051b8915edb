"""The arguments of one op call, as recorded: sizes, strides, types and plain values.

The recorder writes one entry per argument. A tensor has its sizes, ``[]`` for none; a list of
tensors has a list of sizes and no type; anything else has its value as text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

MOST_RANK = 64
"""The limit of torch; the product of a million sizes would take minutes."""
SIZE_END = 2**63

_NAMES = {
    "bool": "bool;Bool",
    "uint8": "unsigned char;Byte",
    "int8": "signed char;Char;char",
    "int16": "short int;short;Short",
    "int32": "int;Int;unsigned int",
    "int64": "long int;long;Long;unsigned long",
    "float16": "c10::Half;Half;at::Half;__half;c10::half",
    "bfloat16": "c10::BFloat16;BFloat16;at::BFloat16;__nv_bfloat16",
    "float32": "float;Float",
    "float64": "double;Double",
    "complex64": "c10::complex<float>;ComplexFloat",
    "complex128": "c10::complex<double>;ComplexDouble",
    "float8": "c10::Float8_e4m3fn;c10::Float8_e5m2;c10::Float8_e4m3fnuz;c10::Float8_e5m2fnuz;"
    "c10::Float8_e8m0fnu",
    "float4": "c10::Float4_e2m1fn_x2",
}
DTYPES: Mapping[str, str] = {
    written: dtype for dtype, names in _NAMES.items() for written in names.split(";")
}
"""Type as a recorder writes it → its name in torch; all 8-bit floats are one."""

WIDTHS: Mapping[str, int] = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float4": 1,
    "float8": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8,
    "complex128": 16,
}  # fmt: skip
"""Bytes of an element; two of 4 bits share one, and are one element of the sizes."""

# Codes of c10::ScalarType, as a plain argument has them.
_CODES = {0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
          7: "float64", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16",
          23: "float8", 24: "float8", 25: "float8", 26: "float8"}  # fmt: skip
_ORDER = tuple(name for name in WIDTHS if name not in ("float4", "float8"))


class RefusedError(ValueError):
    """A call whose model has no figure; the message is a key of ``REASONS`` of the models."""


class OddArgumentError(RefusedError):
    """A number that no call can have had; ``what`` names it: "a stride of 0"."""

    def __init__(self, what: str) -> None:
        super().__init__("odd")
        self.what = what


def integer(value: object, what: str, least: int) -> int:
    """A whole number of 64 bits. Raises OddArgumentError."""
    if type(value) is int and least <= value < SIZE_END:
        return value
    shown = str(value) if isinstance(value, float) or value in (0, -1) else "an impossible number"
    raise OddArgumentError(f"a {what} of {shown}")


class TensorArgument(Struct, frozen=True, dict=True):
    """One tensor; without recorded strides it counts as dense."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str  # "" = not recorded

    @cached_property
    def count(self) -> int:
        """Its elements."""
        return math.prod(self.sizes)

    @cached_property
    def distinct(self) -> int:
        """Its elements at different addresses: an expanded size has stride 0."""
        if len(self.strides) != len(self.sizes):
            return self.count
        if not self.count:
            return 0
        pairs = zip(self.sizes, self.strides, strict=True)
        found = math.prod(size for size, stride in pairs if stride)
        # Windows that overlap (unfold) reach no farther than their last element.
        pairs = zip(self.sizes, self.strides, strict=True)
        return min(found, 1 + sum((size - 1) * abs(stride) for size, stride in pairs))

    @property
    def width(self) -> int:
        """Bytes of an element. Raises RefusedError."""
        if not self.dtype:
            raise RefusedError("dtype")
        return WIDTHS[self.dtype]

    @property
    def bytes(self) -> int:
        """Bytes of its distinct elements. Raises RefusedError."""
        return self.distinct * self.width


Argument = TensorArgument | tuple[TensorArgument, ...] | None


class CallArguments(Struct, frozen=True):
    """The arguments of a call, by position; ``values`` is shorter where none are recorded."""

    arguments: tuple[Argument, ...]
    values: tuple[str, ...]
    has_values: bool = True

    def tensor(self, at: int, rank: int = 0) -> TensorArgument:
        """A tensor that must be there, of a rank (0: any but none). Raises RefusedError."""
        one = self.arguments[at] if at < len(self.arguments) else None
        if not isinstance(one, TensorArgument):
            raise RefusedError("shapes")
        if (rank and len(one.sizes) != rank) or not one.sizes:
            raise RefusedError("shapes")
        return one

    def maybe(self, at: int) -> TensorArgument | None:
        """A tensor that may be left out."""
        one = self.arguments[at] if 0 <= at < len(self.arguments) else None
        return one if isinstance(one, TensorArgument) else None

    def listed(self, at: int) -> tuple[TensorArgument, ...]:
        """A list of tensors; empty where there is none."""
        one = self.arguments[at] if at < len(self.arguments) else None
        return one if isinstance(one, tuple) else ()

    def tensors(self, low: int = 0, high: int | None = None) -> tuple[TensorArgument, ...]:
        """All tensors of some positions, those of lists among them."""
        found: list[TensorArgument] = []
        for one in self.arguments[low:high]:
            found.extend(one if isinstance(one, tuple) else [one] if one is not None else [])
        return tuple(found)

    def value(self, at: int) -> Any:  # noqa: ANN401  # what JSON holds
        """A plain argument; None where it was left out. Raises RefusedError: none is recorded."""
        if not self.has_values:
            raise RefusedError("values")
        text = self.values[at] if at < len(self.values) else ""
        if not text:
            return None
        if text in ("True", "true"):
            return True
        if text in ("False", "false"):
            return False
        try:
            return json.loads(text.replace("True", "true").replace("False", "false"))
        except ValueError:
            try:
                return float(text)  # "0." and "nan" are written without a digit after the point
            except ValueError:
                return text

    def dtype(self, at: int) -> str | None:
        """A requested type; None where it was left out."""
        code = self.value(at)
        return _CODES.get(code) if isinstance(code, int) else None

    def numbers(self, at: int, what: str, rank: int, least: int) -> list[int]:
        """One number for each dimension; a single number applies to all. Raises RefusedError."""
        given = self.value(at)
        given = given if isinstance(given, list) else [given]
        if len(given) not in {1, rank} or given == [None]:
            raise RefusedError("shapes")
        numbers = [integer(one, what, least) for one in given]
        return numbers * rank if len(numbers) == 1 else numbers


def arguments_of(
    dims: Any,  # noqa: ANN401  # what JSON holds
    types: Sequence[Any],
    strides: Sequence[Any],
    values: Sequence[Any] | None,
    list_dtype: str = "",
) -> CallArguments:
    """The arguments of a call from the recorder's four lists. Raises RefusedError."""
    if not isinstance(dims, list):
        raise RefusedError("shapes")

    def one(at: int) -> Argument:
        sizes = dims[at]
        kind = types[at] if at < len(types) else ""
        steps = strides[at] if at < len(strides) else []
        if not isinstance(sizes, list):
            raise RefusedError("shapes")
        if kind in ("TensorList", "GenericList") or (sizes and isinstance(sizes[0], list)):
            return tuple(
                _tensor(inner, steps[number] if number < len(steps) else [], list_dtype)
                for number, inner in enumerate(sizes)
                if isinstance(inner, list)
            )
        dtype = DTYPES.get(kind, "") if isinstance(kind, str) else ""
        # Without sizes only its type tells a tensor of no dimension from what is none.
        return _tensor(sizes, steps, dtype) if sizes or dtype else None

    texts = () if values is None else tuple(one if isinstance(one, str) else "" for one in values)
    return CallArguments(tuple(map(one, range(len(dims)))), texts, values is not None)


def _tensor(sizes: list[Any], strides: object, dtype: str) -> TensorArgument:
    if len(sizes) > MOST_RANK or not all(isinstance(size, int | float) for size in sizes):
        raise RefusedError("shapes")
    known = tuple(integer(size, "size", least=0) for size in sizes)
    steps = strides if isinstance(strides, list) else []
    whole = tuple(step for step in steps if type(step) is int)
    return TensorArgument(known, whole if len(whole) == len(known) else (), dtype)


def promoted(tensors: Sequence[TensorArgument]) -> str:
    """The type that torch computes tensors of several types in (torch.result_type).

    Tensors without dimensions only raise the category (bool, integer, float, complex). A number
    becomes a tensor of ``double`` or ``long`` on its way: the type of the others wins.
    """
    wide = [one.dtype for one in tensors if one.sizes]
    flat = [one.dtype for one in tensors if not one.sizes]
    if not all(wide) or not all(flat):
        raise RefusedError("dtype")
    found = _joined(wide)
    for dtype in flat:
        if not found or _category(dtype) > _category(found):
            is_number = bool(wide) and dtype == "float64"
            found = _joined([found, "float32" if is_number else dtype] if found else [dtype])
    return found


def _joined(dtypes: Sequence[str]) -> str:
    found = ""
    for dtype in dtypes:
        if {found, dtype} == {"float16", "bfloat16"}:
            found = "float32"
        elif not found or found == dtype or dtype not in _ORDER:
            found = dtype
        elif found in _ORDER:
            found = max(found, dtype, key=_ORDER.index)
    return found


def _category(dtype: str) -> int:
    if dtype == "bool":
        return 0
    return 2 if dtype.startswith(("float", "bfloat")) else 3 if dtype.startswith("complex") else 1


def is_floating(dtype: str) -> bool:
    """True if a type is one of floating point, or complex."""
    return _category(dtype) >= 2


def broadcast(shapes: Sequence[Sequence[int]]) -> int:
    """The number of elements of tensors that are expanded against each other."""
    rank = max((len(sizes) for sizes in shapes), default=0)
    found = 1
    for at in range(1, rank + 1):
        sizes = {sizes[-at] for sizes in shapes if len(sizes) >= at}
        found *= 0 if 0 in sizes else max(sizes)
    return found


# --- what a model answers -------------------------------------------------------------------------


class OpWork(NamedTuple):
    """Work of one call; ``dtype`` is the type that its products multiply.

    ``weights``: the bytes read that a step of decoding cannot do without: the second matrix of a
    product, keys and values of attention.
    """

    flops: int
    least: int
    read: int
    written: int
    dtype: str = ""
    weights: int = 0


Model = Callable[[CallArguments], OpWork]


def bytes_of(*tensors: TensorArgument | None) -> int:
    """Bytes of distinct elements; a number without dimensions beside tensors has none."""
    known = [one for one in tensors if one is not None]
    alone = not any(one.sizes for one in known)
    return sum(
        one.bytes for one in known if one.sizes or alone or one.dtype not in ("float64", "int64")
    )


def moves(read: int, written: int) -> OpWork:
    """The work of an op without products."""
    return OpWork(0, 0, read, written)
