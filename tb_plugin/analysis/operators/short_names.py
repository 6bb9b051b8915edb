"""Short names of C++ functions that tell the rows of a table apart.

``short_names`` drops what all rows share: return types, namespaces, parameters, and the template
arguments in which the functions of one name do not differ. Names are read as the Itanium C++ ABI
mangles them, too (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling), as far as kernels
need it. What cannot be read stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from ...base.regex import regex

MOST_CHARS = 8000
_MOST_DEPTH = 40
_MOST_NAMES = 5000


class UnreadableName(Exception):
    """A name that is not read here."""


# --- mangled names --------------------------------------------------------------------------------

_TYPES = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char",
    "h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int",
    "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "z": "...", "Dh": "half", "Di": "char32_t", "Ds": "char16_t", "Dn": "nullptr",
    "DF16_": "_Float16", "DF16b": "bfloat16",
}  # fmt: skip
_TYPE_SIZES = sorted({len(mark) for mark in _TYPES})
_MARKS = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile", "r": ""}
_STD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string", "Sb": "std::basic_string"}
_LENGTH = regex(r"\d+")
_SUBSTITUTION = regex(r"S([0-9A-Z]*)_")
_PARAMETER = regex(r"T(\d*)_")
_VALUE = regex(r"(n?\d+)E")


class _Mangled:
    """A mangled name, read from left to right; the parameters of the function are not."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 2, 0
        self.known: list[str] = []  # substitutions, S_ first
        self.arguments: list[str] = []  # of the last template, for its parameters

    def eat(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def match(self, pattern: str) -> str | None:
        found = regex(pattern).match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[1] if found.re.groups else found[0]

    def keep(self, text: str) -> str:
        self.known.append(text)
        return text

    def name(self) -> str:
        if self.eat("N"):
            return self.nested()
        text = self.short_one()
        return self.keep(text) + self.template() if self.peek("I") and text else text

    def peek(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def short_one(self) -> str:
        if self.peek("S") and not self.peek("St"):
            return self.substitution()
        prefix = "std::" if self.eat("St") else ""
        return prefix + self.source()

    def source(self) -> str:
        self.eat("L")
        digits = self.match(_LENGTH.pattern)
        if digits is None or not int(digits) or self.at + int(digits) > len(self.text):
            raise UnreadableName
        end = self.at + int(digits)
        name, self.at = self.text[self.at : end], end
        while self.eat("B"):
            self.source()
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name

    def nested(self) -> str:
        self.match("[rVK]*[RO]?")
        text = ""
        while not self.eat("E"):
            if self.peek("I"):
                text = self.keep(text + self.template())
            elif self.peek("S") and not text:
                text = _STD["St"] if self.eat("St") else self.substitution()
            elif self.peek("T") and not text:
                text = self.keep(self.parameter())
            else:
                part = self.source()
                text = self.keep(f"{text}::{part}" if text else part)
        return text

    def substitution(self) -> str:
        for mark, text in _STD.items():
            if self.eat(mark):
                return text
        number = self.match(_SUBSTITUTION.pattern)
        if number is None:
            raise UnreadableName
        place = int(number, 36) + 1 if number else 0
        return self.known[place]

    def parameter(self) -> str:
        number = self.match(_PARAMETER.pattern)
        if number is None:
            raise UnreadableName
        return self.arguments[int(number) + 1 if number else 0]

    def template(self) -> str:
        self.eat("I")
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise UnreadableName
        found: list[str] = []
        while not self.eat("E"):
            found += self.argument()
        self.depth -= 1
        self.arguments = found
        return f"<{', '.join(found)}>"

    def argument(self) -> list[str]:
        if self.eat("J"):
            found: list[str] = []
            while not self.eat("E"):
                found += self.argument()
            return found
        if self.eat("L_Z"):
            text = self.name()
            while not self.eat("E"):
                self.type()
            return [text]
        if self.eat("L"):
            kind = self.type()
            value = self.match(_VALUE.pattern)
            if value is None:
                raise UnreadableName
            value = value.replace("n", "-")
            return [{"0": "false", "1": "true"}.get(value, value) if kind == "bool" else value]
        return [self.type()]

    def type(self) -> str:
        mark = self.text[self.at : self.at + 1]
        if mark in _MARKS:
            self.at += 1
            return self.keep(self.type() + _MARKS[mark])
        for size in _TYPE_SIZES:
            if text := _TYPES.get(self.text[self.at : self.at + size], ""):
                self.at += size
                return text
        if self.peek("T"):
            return self.keep(self.parameter())
        if self.peek("S") and not self.peek("St"):
            text = self.substitution()
            return self.keep(text + self.template()) if self.peek("I") else text
        if self.eat("F"):
            while not self.eat("E"):
                self.type()
            return self.keep("function")
        is_nested = self.peek("N")
        text = self.name()
        return text if is_nested else self.keep(text)


@lru_cache(maxsize=1 << 14)
def demangled(name: str) -> str:
    """The name as C++ writes it, without parameters; as it is where it is not mangled.

    >>> demangled("_ZN5aiter10fmha_fwd_dILi128ELb1EfEEvPKfS1_")
    'aiter::fmha_fwd_d<128, true, float>'
    """
    if not name.startswith("_Z") or len(name) > MOST_CHARS:
        return name
    try:
        return _Mangled(name).name()
    except (UnreadableName, IndexError, RecursionError):
        return name


# --- names as C++ writes them ---------------------------------------------------------------------


class CppName(Struct, frozen=True):
    """A function, type or value without its namespace, and its template arguments."""

    name: str
    arguments: tuple[CppName, ...] = ()


_CAST = regex(r"\([\w: ]+\)(?=-?\d)")
_ANONYMOUS = "(anonymous namespace)"
_WORDS = frozenset({"const", "volatile", "unsigned", "signed", "long", "int", "short", "char"})
_CLOSES = {"<": ">", "(": ")", "{": "}", "[": "]"}
_BRACKET = regex(r"[<>(){}\[\]]")
_SPLITS = regex(r"[<({\[,]")


def _end_of(text: str, at: int) -> int:
    """The place behind the bracket that closes the one here; a `>` within parentheses compares."""
    waiting: list[str] = []
    for found in _BRACKET.finditer(text, at):
        sign = found[0]
        if sign in _CLOSES:
            waiting.append(_CLOSES[sign])
        elif waiting and sign == waiting[-1]:
            waiting.pop()
            if not waiting:
                return found.end()
    raise UnreadableName


def _split(text: str) -> list[str]:
    """Template arguments."""
    parts, start, at = [], 0, 0
    while found := _SPLITS.search(text, at):
        if found[0] == ",":
            parts.append(text[start : found.start()])
            start = at = found.end()
        else:
            at = _end_of(text, found.start())
    return [part.strip() for part in (*parts, text[start:])]


def _called(text: str, depth: int = 0) -> CppName:
    """The last function or type of a qualified name; a lambda is its function with parameters."""
    if depth > _MOST_DEPTH:
        raise UnreadableName
    text = _CAST.sub("", text.replace(f"{_ANONYMOUS}::", ""), count=1)
    name, part, at = "", "", 0
    arguments: tuple[CppName, ...] = ()
    lambdas: list[CppName] = []
    while at < len(text):
        sign = text[at]
        if sign == "<" and part.strip():
            end = _end_of(text, at)
            inner = text[at + 1 : end - 1]
            name, part = part, ""
            arguments = tuple(_called(one, depth + 1) for one in _split(inner))
            at = end
        elif sign in "({[":
            end = _end_of(text, at)
            if sign == "{":
                lambdas.append(CppName(text[at + 1 : end - 1].replace("lambda", "")))
            at = end
        elif text.startswith("::", at):
            if _is_name(part):
                name, arguments = part, ()
            part = ""
            at += 2
        elif sign == " " and part.strip(" *&") and not _goes_on(part, text[at + 1 :]):
            name, part, arguments = "", "", ()  # the return type
            at += 1
        else:
            part += sign
            at += 1
    if _is_name(part):
        name, arguments = part, ()
    return _unwrapped(CppName(_bare(name), (*arguments, *lambdas)))


def _bare(part: str) -> str:
    return part.replace(" const", "").strip(" *&")


def _is_name(part: str) -> bool:
    """False for what follows a name: qualifiers, and the operator() of a lambda."""
    return _bare(part) not in ("", "const", "operator", "type")


def _goes_on(part: str, rest: str) -> bool:
    """True if a blank stands within a type, not between a return type and a function."""
    following = regex(r"\s*(\w*)").match(rest)
    word = following[1] if following else ""
    return part.rsplit(maxsplit=1)[-1] in _WORDS or word in _WORDS or not word


_PYTHON = regex(r"\.py\(\d+\): |^<|: ")
_PARAMETERS = regex(r"^\w+\([^()]*\*[^()]*\)$")


def _is_cpp(name: str) -> bool:
    """True if a name is a function of C++ with arguments; ops, frames and ranges are none."""
    if _PYTHON.search(name):
        return False
    is_qualified = "::" in name and ("<" in name or "(" in name)
    return is_qualified or name.startswith("void ") or bool(_PARAMETERS.match(name))


@lru_cache(maxsize=1 << 14)
def _read(name: str) -> CppName:
    text = demangled(name)
    if len(text) > MOST_CHARS or not (text != name or _is_cpp(text)):
        return CppName(text)
    try:
        found = _called(text)
    except (UnreadableName, RecursionError):
        return CppName(text)
    return found if found.name else CppName(text)


# --- what tells them apart ------------------------------------------------------------------------

_BUILT_IN = regex(
    r"(?:unsigned |signed |long |short )*(?:int|char|float|double|bool|void|long|short)"
    r"|u?int\d+_t|BFloat16|Half|half|__half|bfloat16|-?[\d.]+\w*|true|false"
)
_WRAPPERS = frozenset({
    "ReduceOp", "func_wrapper_t", "BinaryFunctor", "BUnaryFunctor", "AUnaryFunctor",
    "gpu_kernel_impl", "gpu_kernel_impl_nocast", "enable_sm80", "enable_sm90",
})  # fmt: skip
"""Functions and types that say less than the first type that they are given."""


def _unwrapped(one: CppName) -> CppName:
    """The content of a wrapper, then the wrapper and its other arguments."""
    held = next((inner for inner in one.arguments if _tells(inner)), None)
    if one.name not in _WRAPPERS or held is None:
        return one
    others = (inner for inner in one.arguments if inner is not held)
    return CppName(held.name, (*held.arguments, *others, CppName(f"+{one.name}")))


def _tells(one: CppName) -> bool:
    return one.name[:1].isalpha() and not _BUILT_IN.fullmatch(one.name)


def short_names(names: Sequence[str]) -> list[str]:
    """A short name for each; different names have different ones.

    >>> short_names(["void at::native::f<int, 4>(int*)", "void at::native::f<float, 4>(int*)"])
    ['f<int>', 'f<float>']
    """
    different = list(dict.fromkeys(names))
    if len(different) > _MOST_NAMES:
        return list(names)
    read = [_read(name) for name in different]
    short = dict(zip(different, _identifiers(_apart(read)), strict=True))
    users: dict[str, int] = {}
    for text in short.values():
        users[text] = users.get(text, 0) + 1
    return [short[name] if users[short[name]] == 1 else demangled(name) for name in names]


def _apart(of: Sequence[CppName]) -> list[str]:
    """Texts in which only what differs is written out."""
    texts = [""] * len(of)
    for name, places in _groups([one.name for one in of]).items():
        inner = _arguments([of[place].arguments for place in places])
        for place, text in zip(places, inner, strict=True):
            texts[place] = f"{name}<{text}>" if text else name
    return texts


def _groups(keys: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return found


def _arguments(of: Sequence[tuple[CppName, ...]]) -> list[str]:
    """The operation of a function, then the fewest arguments that tell its users apart."""
    telling = [next((one.name for one in arguments if _tells(one)), "") for arguments in of]
    if len(set(of)) == 1:
        return telling
    most = max(map(len, of))
    columns = [[one[at] if at < len(one) else CppName("") for one in of] for at in range(most)]
    kept: list[int] = []
    known: list[tuple[CppName, ...]] = [()] * len(of)
    while len(set(known)) < len(set(of)) and len(kept) < most:
        best = max(
            (at for at in range(most) if at not in kept),
            key=lambda at: (len(set(zip(known, columns[at], strict=True))), -at),
        )
        kept.append(best)
        known = [(*before, one) for before, one in zip(known, columns[best], strict=True)]
    shown = [_apart(columns[at]) for at in sorted(kept)]
    named = any(_tells(one) for at in kept for one in columns[at])
    rows = [*([] if named or len(set(telling)) > 1 else [telling]), *shown]
    return [", ".join(filter(None, row)) for row in zip(*rows, strict=True)]


# --- generated identifiers ------------------------------------------------------------------------

_LONG = 60
_TILE = regex(r"(?:[a-zA-Z]*\d+x\d+(?:x\d+)*)")
_FIRST = 3  # parts that are always kept


def _identifiers(texts: list[str]) -> list[str]:
    """Long identifiers of one generator: their begin, their tile, and the parts that differ."""
    found = list(texts)
    long = [at for at, text in enumerate(texts) if len(text) > _LONG and text.isidentifier()]
    for places in _groups([texts[at].partition("_")[0] for at in long]).values():
        mine = [long[place] for place in places]
        parts = [texts[at].split("_") for at in mine]
        if len(mine) < 2:
            continue
        for at, short in zip(mine, _told_apart(parts), strict=True):
            found[at] = short if len(short) < len(texts[at]) else texts[at]
    return found


def _told_apart(parts: Sequence[Sequence[str]]) -> list[str]:
    shown = [[at < _FIRST or bool(_TILE.fullmatch(one)) for at, one in enumerate(row)]
             for row in parts]  # fmt: skip
    while True:
        texts = [_joined(row, keep) for row, keep in zip(parts, shown, strict=True)]
        alike = [places for places in _groups(texts).values() if len(places) > 1]
        changed = False
        for places in alike:
            others = [set(parts[place]) for place in places]
            shared = set.intersection(*others)
            for place in places:
                row, keep = parts[place], shown[place]
                more = next(
                    (at for at, one in enumerate(row) if not keep[at] and one not in shared), -1
                )
                if more >= 0:
                    keep[more] = changed = True
        if not changed:
            return texts


def _joined(parts: Sequence[str], keep: Sequence[bool]) -> str:
    text = ""
    for part, is_kept in zip(parts, keep, strict=True):
        if is_kept:
            text += part if not text or text.endswith("…") else f"_{part}"
        elif not text.endswith("…"):
            text += "…"
    return text
