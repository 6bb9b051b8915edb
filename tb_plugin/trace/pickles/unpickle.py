"""Pickles of plain data, read as a stream: nothing in them is run, and little of them is kept.

Containers, strings, numbers and bytes are built; whatever names code (a class, a function, a
persistent object) is refused by its name before anything of it is looked up. A caller that knows
what the records of the file look like *folds* each of them into something small as soon as it is
complete, so that a gigabyte of records costs the memory of their columns.

The format: the comments of ``Lib/pickletools.py`` of CPython, protocols 0 to 5.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from ...base.errors import TraceFormatError
from ...base.regex import regex
from ..raw import shorten
from .pickle_bytes import (
    COMPLETE,
    F8,
    I4,
    LACKS,
    LIMITS,
    MOST_KEY,
    NO_DICT,
    NO_KEY,
    NO_LIST,
    NO_VALUE,
    U1,
    U2,
    U4,
    U8,
    ByteStream,
    PickleBytes,
    PickleDamageError,
    PickleLimits,
)

_SMALL = 1 << 30
Fold: TypeAlias = Callable[["dict[Any, Any] | list[Any]"], object]
"""Replacement of a complete dict or list before it enters another one; may be the same object."""


class Unpickled(Struct, frozen=True):
    """The value of a pickle.

    Attributes:
        value: the outermost value, with what was complete of it.
        damage: why the rest is missing, as a sentence; "" when the pickle is whole.
        offset: how many bytes were understood.
    """

    value: object
    damage: str
    offset: int


def unpickle(
    stream: ByteStream,
    fold: Fold = lambda container: container,
    *,
    limits: PickleLimits = LIMITS,
) -> Unpickled:
    """The plain data in a pickle; of a damaged one, what comes before the damage.

    Costs time linear in the bytes and memory in what ``fold`` leaves of them, and eight bytes for
    each value that the pickle numbers for later use. What is put into a container is complete from
    then on, so nothing holds itself; the value has at most ``limits.depth`` containers within each
    other and ``limits.kept`` values, however often it names one of them.

    Raises:
        TraceFormatError: ``unsafe_pickle`` when it names code, ``pickle_limit`` when it is beyond
            ``limits``, ``pickle`` when nothing of it could be read.
    """
    machine = _Machine(stream, fold, limits)
    damage = ""
    try:
        machine.run()
    except PickleDamageError as error:
        damage = str(error)
    return Unpickled(machine.close(damage), damage, machine.offset)


class Cut(Struct, frozen=True):
    """An instruction that another reader could not run, and its bytes.

    Attributes:
        offset: how many bytes stand before the instruction.
        why: one of the sentences above; "" where the instruction itself says why.
        top: the last texts on the stack; None for values of other types.
        is_marked: whether a container is open.
    """

    offset: int
    why: str
    top: tuple[str | None, ...]
    is_marked: bool


def damage_at(cut: Cut, stream: ByteStream, *, limits: PickleLimits = LIMITS) -> str:
    """This reader's fault for the same instruction, the first of ``stream``; "" if it runs.

    Raises:
        TraceFormatError: as ``unpickle``.
    """
    machine = _Machine(stream, lambda container: container, limits)
    machine.before = cut.offset
    if cut.why:
        return machine.where(cut.why)
    machine.stack = list(cut.top)
    machine.marks = [[]] if cut.is_marked else []
    try:
        machine.run_one()
    except PickleDamageError as error:
        return str(error)
    return ""


class _Dict(dict[Any, Any]):
    slot = -1  # in the memo
    is_plain = False  # it was offered to fold, and stays
    depth = 1  # containers within each other, itself among them
    size = 1  # values in it, itself among them, those of a shared one each time
    small: object = None  # what fold made of it


class _List(list[Any]):
    slot = -1
    is_plain = False
    depth = 1
    size = 1
    small: object = None


class _Tuple(tuple[Any, ...]):
    depth = 1
    size = 1


class _Folded(NamedTuple):
    """Values as they go into a container, its depth around them, and how many they are in all."""

    items: list[Any]
    depth: int
    size: int


class _Machine(PickleBytes):
    """The stack machine that a pickle is a program of, without the instructions that call."""

    def __init__(self, stream: ByteStream, fold: Fold, limits: PickleLimits) -> None:
        super().__init__(stream, limits)
        self.fold = fold
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []  # the stacks below the marks
        self.memo: list[Any] = []
        self.texts: dict[str, str] = {}
        self.pairs: dict[int, tuple[Any, ...]] = {}
        self.below = 0  # values on the stacks below the marks
        self.kept = 0
        self.made = 0  # containers, without those that were folded
        self.has_stopped = False

    # --- the loop -------------------------------------------------------------------------------

    def run(self) -> None:
        """Execute instructions up to STOP."""
        while not self.has_stopped:
            data, safe = self.some()
            if len(self.stack) + self.below > self.limits.pending:
                raise self.beyond("values outside any container", self.limits.pending)
            if self.made > self.limits.kept:
                raise self.beyond("containers", self.limits.kept)
            try:
                # An instruction with a long argument may read on: then data is another.
                while self.at < safe and self.data is data and not self.has_stopped:
                    self.instruction = at = self.at
                    self.at = at + 1
                    _DO[data[at]](self)
            except (IndexError, struct.error):
                raise PickleDamageError(self.where(LACKS)) from None

    def run_one(self) -> None:
        """Execute one instruction."""
        data, _ = self.some()
        self.at = 1
        try:
            _DO[data[0]](self)
        except (IndexError, struct.error):
            raise PickleDamageError(self.where(LACKS)) from None

    def close(self, damage: str) -> object:
        """The outermost value; containers that are still open get the values read for them."""
        while self.marks or len(self.stack) > 1:
            with suppress(PickleDamageError):
                self._close_innermost()
        if not self.stack:
            hint = (
                "Write it again with `_dump_snapshot()` of the device's module"
                " (`torch.cuda.memory`, `torch.xpu.memory`)."
            )
            raise TraceFormatError(
                "pickle", f"This is no pickle that can be read: {damage}.", hint=hint
            )
        return self.stack[0]

    def _close_innermost(self) -> None:
        if not self.marks:
            self._close_chain(self.stack)
            return
        items = self.close_mark()
        target = self.stack[-1] if self.stack else None
        if isinstance(target, _List):
            self.extend(target, items)
        elif isinstance(target, _Dict):
            last = max(
                (at for at in range(0, len(items), 2) if isinstance(items[at], str)), default=0
            )
            self.put_pairs(target, items[:last])
            self._close_chain([target, *items[last:]])

    def _close_chain(self, chain: list[Any]) -> None:
        """Put the values above a container into it: a member of one comes without a mark."""
        while len(chain) > 1:
            value, below = chain.pop(), chain[-1]
            if isinstance(below, _List):
                self.extend(below, [value])
            elif len(chain) > 1 and isinstance(chain[-2], _Dict):
                self.put_pairs(chain[-2], [chain.pop(), value])

    # --- what goes wrong ------------------------------------------------------------------------

    def refuse(self, name: str) -> TraceFormatError:
        return TraceFormatError(
            "unsafe_pickle",
            f"This pickle wants to run code ({shorten(name)}, at byte {self.offset:,}). "
            "It was not opened further, and nothing of it was run.",
            hint="A file of torch holds only lists, dicts, numbers and strings. "
            "Ask where this one comes from before you load it anywhere.",
        )

    # --- containers -----------------------------------------------------------------------------

    def open_mark(self) -> None:
        if len(self.marks) >= self.limits.depth:
            raise self.beyond("containers within each other", self.limits.depth)
        self.marks.append(self.stack)
        self.below += len(self.stack)
        self.stack = []

    def close_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marks.pop()
        self.below -= len(self.stack)
        return items

    def folded(self, items: list[Any]) -> _Folded:
        """The items as they go into a container: each dict and list has had its chance to fold."""
        self.kept += len(items)
        deepest, size = 0, len(items)
        for i, item in enumerate(items):
            if not isinstance(item, (_Dict, _List, _Tuple)):
                continue
            if not isinstance(item, _Tuple) and not item.is_plain:
                small = self.small(item)
                if small is not item:
                    items[i] = small
                    continue
                item.is_plain = True
            deepest = max(deepest, item.depth)
            size += item.size
        if deepest >= self.limits.depth:
            raise self.beyond("containers within each other", self.limits.depth)
        if max(self.kept, size) > self.limits.kept:
            raise self.beyond("values", self.limits.kept)
        return _Folded(items, deepest + 1, size)

    def small(self, item: _Dict | _List) -> object:
        """Replacement of a complete container; one that is met again is not folded again."""
        if item.small is not None:
            return item.small
        small = self.fold(item)
        if small is not item:
            self.kept -= len(item) * (2 if isinstance(item, _Dict) else 1) + 1
            self.made -= 1
            if item.slot >= 0:
                self.memo[item.slot] = small
            item.small = small
        return small

    def filled(self, target: _Dict | _List, found: _Folded) -> None:
        target.depth = max(target.depth, found.depth)
        target.size += found.size
        if target.size > self.limits.kept:
            raise self.beyond("values", self.limits.kept)

    # What cannot be run changes nothing: all that it needs is looked at first.

    def is_open(self, target: _Dict | _List, items: list[Any]) -> None:
        is_complete = target.is_plain or target.small is not None
        if is_complete or any(item is target for item in items):
            raise PickleDamageError(self.where(COMPLETE))

    def extend(self, target: _List, items: list[Any]) -> None:
        self.is_open(target, items)
        found = self.folded(items)
        self.filled(target, found)
        target.extend(found.items)

    def put_pairs(self, target: _Dict, items: list[Any]) -> None:
        self.is_open(target, items[1::2])
        for key in items[::2]:
            if type(key) is not str and not (type(key) is int and -MOST_KEY < key < MOST_KEY):
                raise PickleDamageError(self.where(NO_KEY))
        found = self.folded(items[1::2])
        self.kept += len(found.items)
        self.filled(target, found)
        target.update(zip(items[::2], found.items, strict=True))

    def put_items(self) -> None:
        target = self.marks[-1][-1]
        if type(target) is not _Dict:
            raise PickleDamageError(self.where(NO_DICT))
        if len(self.stack) % 2:
            raise PickleDamageError(self.where(NO_VALUE))
        self.put_pairs(target, self.close_mark())

    def put_item(self) -> None:
        target = self.stack[-3]
        if type(target) is not _Dict:
            raise PickleDamageError(self.where(NO_DICT))
        value, key = self.stack.pop(), self.stack.pop()
        self.put_pairs(target, [key, value])

    def append_items(self) -> None:
        target = self.marks[-1][-1]
        if type(target) is not _List:
            raise PickleDamageError(self.where(NO_LIST))
        self.extend(target, self.close_mark())

    def append_item(self) -> None:
        target = self.stack[-2]
        if type(target) is not _List:
            raise PickleDamageError(self.where(NO_LIST))
        self.extend(target, [self.stack.pop()])

    def tuple_of(self, n: int) -> None:
        if n > len(self.stack):
            raise IndexError
        items = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        self.push_tuple(items)

    def push_tuple(self, items: list[Any]) -> None:
        """A tuple; one of two small numbers is kept once, as each record may have its own."""
        if len(items) == 2 and all(type(item) is int and 0 <= item < _SMALL for item in items):
            key = items[0] * _SMALL + items[1]
            known = self.pairs.get(key)
            if known is None:
                self.kept += 2
                self.made += 1
                known = self.pairs[key] = tuple(items)
            self.stack.append(known)
            return
        found = self.folded(items)
        made = _Tuple(found.items)
        made.depth, made.size = found.depth, found.size + 1
        self.made += 1
        self.stack.append(made)

    def new(self, kind: type[_Dict | _List]) -> None:
        self.made += 1
        self.stack.append(kind())

    def dict_of_marked(self) -> None:
        items = self.close_mark()
        if len(items) % 2:
            raise PickleDamageError(self.where(NO_VALUE))
        self.new(_Dict)
        self.put_pairs(self.stack[-1], items)

    def list_of_marked(self) -> None:
        items = self.close_mark()
        self.new(_List)
        self.extend(self.stack[-1], items)

    def pop(self) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self.close_mark()

    # --- the memo -------------------------------------------------------------------------------

    def remember(self, index: int) -> None:
        """Number the value on top, as every pickler does: one after the other."""
        value = self.stack[-1]
        if index == len(self.memo):
            self.memo.append(value)
        elif index < len(self.memo):
            self.memo[index] = value
        else:
            raise PickleDamageError(
                self.where(f"value {index} is numbered before {len(self.memo)}")
            )
        if type(value) is _Dict or type(value) is _List:
            value.slot = index

    def recall(self, index: int) -> None:
        self.stack.append(self.memo[index])

    def recall_run(self) -> None:
        """Recall what one or several GET instructions in a row name: three in four, in stacks."""
        run = _RUN.match(self.data, self.at - 1)
        if run is None:
            raise IndexError
        indices = np.frombuffer(run.group(), _RUN_ITEM)["index"].tolist()
        before = len(self.stack)
        try:
            self.stack.extend(map(self.memo.__getitem__, indices))
        except IndexError:
            # The damage is at the one that names nothing, not at the first of the run.
            self.instruction += _RUN_ITEM.itemsize * (len(self.stack) - before)
            raise
        self.at = run.end()

    # --- numbers and texts ----------------------------------------------------------------------

    def push_text(self, encoded: bytes, encoding: str = "utf-8") -> None:
        try:
            text = encoded.decode(encoding, "surrogatepass" if encoding == "utf-8" else "strict")
        except UnicodeDecodeError:
            text = encoded.decode("utf-8", "replace")
        if len(self.texts) > 1 << 18:
            self.texts.clear()  # one copy of what repeats; what does not repeat must not stay
        self.stack.append(self.texts.setdefault(text, text))

    def push_long(self, n: int) -> None:
        if not 0 <= n <= self.limits.number:
            raise self.beyond("bytes in one number", self.limits.number)
        self.stack.append(int.from_bytes(self.take(n), "little", signed=True))

    def start(self) -> None:
        protocol = self.number(U1)
        if protocol > 5:
            raise PickleDamageError(self.where(f"protocol {protocol} is not known"))

    def stop(self) -> None:
        if self.marks or len(self.stack) != 1:
            raise PickleDamageError(self.where("it stops inside a container"))
        self.has_stopped = True

    def refuse_named(self) -> None:
        module, name = self.line(), self.line()
        raise self.refuse(f"{module.decode('utf-8', 'replace')}.{name.decode('utf-8', 'replace')}")

    def refuse_stacked(self) -> None:
        names = [part for part in self.stack[-2:] if type(part) is str]
        raise self.refuse(".".join(names) or "a name")

    def unknown(self) -> None:
        code = self.data[self.at - 1]
        raise PickleDamageError(self.where(f"no instruction has the code {code}"))


_RUN = regex(rb"(?:j.{4}){1,4096}", re.DOTALL)
_RUN_ITEM = np.dtype([("code", "u1"), ("index", "<u4")])
Instruction: TypeAlias = Callable[[_Machine], None]


def _push(value: object) -> Instruction:
    return lambda m: m.stack.append(value)


def _number(form: struct.Struct) -> Instruction:
    return lambda m: m.stack.append(m.number(form))


def _text(form: struct.Struct) -> Instruction:
    return lambda m: m.push_text(m.take(m.number(form)))


def _bytes(form: struct.Struct) -> Instruction:
    return lambda m: m.stack.append(m.take(m.number(form)))


def _latin(form: struct.Struct) -> Instruction:
    return lambda m: m.push_text(m.take(m.number(form)), "latin-1")


def _refused(name: str) -> Instruction:
    def refuse(m: _Machine) -> None:
        raise m.refuse(name)

    return refuse


def _index(m: _Machine) -> int:
    line = m.line()
    if not line.isdigit() or len(line) > 12:
        raise IndexError
    return int(line)


def _skip_frame(m: _Machine) -> None:
    m.number(U8)  # how much to read at once: of no use to a stream


def _pop_marked(m: _Machine) -> None:
    m.close_mark()


_INSTRUCTIONS: dict[bytes, Instruction] = {
    b"\x80": _Machine.start,
    b"\x95": _skip_frame,
    b".": _Machine.stop,
    b"(": _Machine.open_mark,
    b"0": _Machine.pop,
    b"1": _pop_marked,
    b"2": lambda m: m.stack.append(m.stack[-1]),
    # containers
    b"}": lambda m: m.new(_Dict),
    b"]": lambda m: m.new(_List),
    b")": _push(()),
    b"u": _Machine.put_items,
    b"s": _Machine.put_item,
    b"e": _Machine.append_items,
    b"a": _Machine.append_item,
    b"t": lambda m: m.push_tuple(m.close_mark()),
    b"d": _Machine.dict_of_marked,
    b"l": _Machine.list_of_marked,
    b"\x85": lambda m: m.tuple_of(1),
    b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3),
    # the memo
    b"\x94": lambda m: m.remember(len(m.memo)),
    b"q": lambda m: m.remember(m.number(U1)),
    b"r": lambda m: m.remember(m.number(U4)),
    b"p": lambda m: m.remember(_index(m)),
    b"h": lambda m: m.recall(m.number(U1)),
    b"j": _Machine.recall_run,
    b"g": lambda m: m.recall(_index(m)),
    # constants and numbers
    b"N": _push(None),
    b"\x88": _push(True),
    b"\x89": _push(False),
    b"K": _number(U1),
    b"M": _number(U2),
    b"J": lambda m: m.stack.append(m.number(I4)),
    b"G": lambda m: m.stack.append(m.number(F8)),
    b"\x8a": lambda m: m.push_long(m.number(U1)),
    b"\x8b": lambda m: m.push_long(m.number(I4)),
    b"I": lambda m: m.stack.append(m.digits()),
    b"L": lambda m: m.stack.append(m.digits()),
    b"F": lambda m: m.stack.append(m.float_line()),
    # texts and bytes
    b"\x8c": _text(U1),
    b"X": _text(U4),
    b"\x8d": _text(U8),
    b"U": _latin(U1),
    b"T": _latin(I4),
    b"C": _bytes(U1),
    b"B": _bytes(U4),
    b"\x8e": _bytes(U8),
    b"\x96": _bytes(U8),
    b"V": lambda m: m.push_text(m.escaped("raw_unicode_escape", m.line())),
    b"S": lambda m: m.push_text(m.escaped("unicode_escape", m.quoted())),
    # whatever names code
    b"c": _Machine.refuse_named,
    b"i": _Machine.refuse_named,
    b"\x93": _Machine.refuse_stacked,
    b"R": _refused("a call"),
    b"b": _refused("the state of an object"),
    b"o": _refused("an object"),
    b"\x81": _refused("an object"),
    b"\x92": _refused("an object"),
    b"P": _refused("a persistent object"),
    b"Q": _refused("a persistent object"),
    b"\x82": _refused("a registered class"),
    b"\x83": _refused("a registered class"),
    b"\x84": _refused("a registered class"),
    b"\x97": _refused("a buffer outside the file"),
    b"\x98": _refused("a buffer outside the file"),
    b"\x8f": _refused("a set"),
    b"\x90": _refused("a set"),
    b"\x91": _refused("a set"),
}
_DO: list[Instruction] = [_INSTRUCTIONS.get(bytes([code]), _Machine.unknown) for code in range(256)]
