"""Writes the JSON contracts as TypeScript: msgspec Structs → frontend/src/api/types.gen.ts.

The heads of all tables go into frontend/test-fixtures/heads.gen.ts, for tests of the page.

Usage: python tools/gen_api_types.py [--check]

Both sides get a key of the contracts, the server's in tb_plugin/web/contract.py, and the page the
version: so a page notices a server that is of another program.

Docstrings and the comments beside fields come along, so the page's author reads what the Python
says. With --check nothing is written; the exit status is 1 when the file is stale.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal, get_args, get_origin

import msgspec

from kinetoscope import __version__
from kinetoscope.store import contract as catalog_types
from kinetoscope.views import all_views
from kinetoscope.views.shared import described
from kinetoscope.views.table import fields_of
from kinetoscope.views.view import Part
from kinetoscope.web import contract

FRONTEND = Path(__file__).resolve().parent.parent / "frontend"
TARGET = FRONTEND / "src" / "api" / "types.gen.ts"
HEADS = FRONTEND / "test-fixtures" / "heads.gen.ts"
CONTRACT_FILE = Path(contract.__file__)
CONTRACT_LINE = re.compile(r'^CONTRACT = ".*"$', re.MULTILINE)
HEADER = """\
// Written by tools/gen_api_types.py from the Structs of tb_plugin. Do not edit: run that script.
"""
ROUTES: tuple[type[msgspec.Struct], ...] = (
    contract.ErrorAnswer,
    contract.Reading,
    contract.Info,
    contract.SourcePlace,
    contract.TraceInfo,
    catalog_types.Catalog,
)
"""What the routes that are no view answer; what these refer to follows by itself."""


class TypeGenerationError(RuntimeError):
    """A contract says something that has no TypeScript form here, or two things by one name."""


@dataclass(frozen=True)
class Alias:
    """A named union of literals: `State = Literal["waiting", …]`."""

    name: str
    values: tuple[LiteralValue, ...]


LiteralValue = str | int | bool | None
Names = Mapping[frozenset[LiteralValue], str]
"""The values of a literal union → its name."""


def typescript() -> str:
    """The whole file: what it is of, literal unions, interfaces by name, then the view maps."""
    types = _types()
    key = hashlib.blake2b(types.encode(), digest_size=4).hexdigest()
    constants = [
        "/** The program this page is of. */",
        f"export const VERSION = {json.dumps(__version__)};",
        "/** A key of all types below, which the server has as well. */",
        f"export const CONTRACT = {json.dumps(key)};",
    ]
    return "\n".join([HEADER, *constants, "", types])


def python(types: str) -> str:
    """The server's module of contracts, with the key that is in the page's types."""
    (key,) = re.findall(r'^export const (CONTRACT = ".*");$', types, re.MULTILINE)
    return CONTRACT_LINE.sub(key, CONTRACT_FILE.read_text(encoding="utf-8"))


def heads_of_tables() -> str:
    """The heads of all rows that declare columns, by the name of the row."""
    lines = [
        HEADER,
        'import type { Column } from "../src/api/types.gen";\n',
        "export const HEADS = {",
    ]
    for struct in _structs():
        if found := [one.head for one in fields_of(struct) if one.head.label]:
            lines.append(f"  {struct.__name__}: [")
            lines += [f"    {msgspec.json.encode(one).decode()}," for one in found]
            lines.append("  ],")
    return "\n".join([*lines, "} as const satisfies Record<string, readonly Column[]>;", ""])


def _structs() -> list[type[msgspec.Struct]]:
    """Every Struct of the contracts, by name."""
    views, parts = all_views(), _parts().values()
    queries = [*(one.query for one in views), *(one.query for one in parts)]
    answers = [one.answer for one in parts if one.answer]
    return _reachable([*ROUTES, *(one.answer for one in views), *answers, *queries])


def _types() -> str:
    parts_of_views = _parts()
    queries = [view.query for view in all_views()] + [
        part.query for part in parts_of_views.values()
    ]
    structs = _structs()
    aliases = _aliases({inspect.getmodule(struct) for struct in structs})
    names: Names = {frozenset(alias.values): alias.name for alias in aliases}
    parts = [f"export type {a.name} = {_union(a.values)};\n" for a in aliases]
    asked = {struct for query in queries for struct in query.__mro__}
    parts += [_interface(s, names, optional=s in asked) for s in structs]
    parts += [
        _map("ViewAnswers", "The answer of each view, by its stem.", _names("answer")),
        _map("ViewQueries", "The parameters of each view, by its stem.", _names("query")),
        _map(
            "PartAnswers",
            "The answer of each part of a view, by its address; downloads have none.",
            {stem: _answer_of(part) for stem, part in parts_of_views.items() if not part.file},
        ),
        _map(
            "PartQueries",
            "The parameters of each part of a view, by its address.",
            {stem: part.query.__name__ for stem, part in parts_of_views.items()},
        ),
    ]
    return "\n".join(parts)


def _parts() -> dict[str, Part]:
    """Parts of views by their address below api/view/."""
    return {f"{view.stem}/{part.stem}": part for view in all_views() for part in view.parts}


def _answer_of(part: Part) -> str:
    return part.answer.__name__ if part.answer else "ArrayBuffer"


def _reachable(roots: Sequence[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    """Every Struct that the roots mention, by name.

    Raises:
        TypeGenerationError: two Structs share a name.
    """
    found: dict[str, type[msgspec.Struct]] = {}
    waiting = list(roots)
    while waiting:
        struct = waiting.pop()
        known = found.setdefault(struct.__name__, struct)
        if known is not struct:
            raise TypeGenerationError(
                f"{known.__module__} and {struct.__module__} both define {struct.__name__}: "
                "the page knows types by name, so rename one"
            )
        waiting += [] if (base := _base(struct)) is None else [base]
        for field in _fields(struct):
            waiting += [s for s in _structs_in(field.type) if s.__name__ not in found]
    return [found[name] for name in sorted(found)]


def _base(struct: type[msgspec.Struct]) -> type[msgspec.Struct] | None:
    """The Struct whose fields it has as well; None for one of its own."""
    (base,) = struct.__bases__
    return None if base is msgspec.Struct else base


def _fields(struct: type[msgspec.Struct]) -> tuple[msgspec.inspect.Field, ...]:
    info = msgspec.inspect.type_info(struct)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeGenerationError(f"{struct!r} is no Struct")
    return info.fields


def _structs_in(node: msgspec.inspect.Type) -> Iterator[type[msgspec.Struct]]:
    """The Structs named in a type."""
    match node:
        case msgspec.inspect.StructType():
            yield node.cls
        case msgspec.inspect.UnionType():
            for member in node.types:
                yield from _structs_in(member)
        case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
            yield from _structs_in(node.item_type)
        case msgspec.inspect.TupleType():
            for member in node.item_types:
                yield from _structs_in(member)
        case msgspec.inspect.DictType():
            yield from _structs_in(node.value_type)


def _aliases(modules: set[ModuleType | None]) -> list[Alias]:
    """The named literal unions of the modules, by name."""
    found = {}
    for module in modules - {None}:
        for name, value in vars(module).items():
            if get_origin(value) is Literal:
                found[name] = Alias(name, get_args(value))
    return [found[name] for name in sorted(found)]


def field_comments(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Field → its comment at the end of the line or right above; those of the Struct above, too."""
    above = struct.__base__
    found = (
        field_comments(above)
        if above and issubclass(above, msgspec.Struct) and above != msgspec.Struct
        else {}
    )
    source = inspect.cleandoc("\n" + inspect.getsource(struct))
    comments = {
        (token.start[0], token.line.lstrip().startswith("#")): token.string.lstrip("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines: list[str] = []
            while (node.lineno - len(lines) - 1, True) in comments:
                lines.append(comments[node.lineno - len(lines) - 1, True])
            if text := comments.get((node.lineno, False)) or " ".join(reversed(lines)):
                found[node.target.id] = text
    return found


def _told(field: msgspec.inspect.Field) -> str:
    """What an option of a query declares, with what its default means."""
    _, text, default = described(field.type)
    meant = f"{json.dumps(field.default, ensure_ascii=False)} = {default}" if default else ""
    return "; ".join(filter(None, (text, meant)))


def _interface(struct: type[msgspec.Struct], names: Names, *, optional: bool) -> str:
    """One interface. In a query, what has a default may be left out."""
    comments = field_comments(struct) | {
        one.head.key: one.head.help for one in fields_of(struct) if one.head.help
    }
    base = _base(struct)
    inherits = "" if base is None else f" extends {base.__name__}"
    lines = [*_comment(_own_doc(struct), ""), f"export interface {struct.__name__}{inherits} {{"]
    own = inspect.get_annotations(struct)
    for field in [field for field in _fields(struct) if field.name in own]:
        lines += _comment(_told(field) or comments.get(field.name, ""), "  ")
        mark = "?" if optional and not field.required else ""
        lines.append(f"  readonly {field.encode_name}{mark}: {type_text(field.type, names)};")
    return "\n".join([*lines, "}", ""])


SCALARS: Mapping[type[msgspec.inspect.Type], str] = {
    msgspec.inspect.StrType: "string",
    msgspec.inspect.IntType: "number",
    msgspec.inspect.FloatType: "number",
    msgspec.inspect.BoolType: "boolean",
    msgspec.inspect.NoneType: "null",
    msgspec.inspect.AnyType: "unknown",
}


def type_text(node: msgspec.inspect.Type, names: Names) -> str:
    """A type in TypeScript.

    Raises:
        TypeGenerationError: the type has no form here.
    """
    node = described(node)[0]
    match node:
        case msgspec.inspect.StructType():
            return node.cls.__name__
        case msgspec.inspect.LiteralType():
            return names.get(frozenset(node.values)) or _union(node.values)
        case msgspec.inspect.UnionType():
            # null last, as people write it
            members = sorted(node.types, key=lambda t: isinstance(t, msgspec.inspect.NoneType))
            return " | ".join(dict.fromkeys(type_text(member, names) for member in members))
        case msgspec.inspect.DictType():
            return f"Readonly<Record<string, {type_text(node.value_type, names)}>>"
    return SCALARS.get(type(node)) or _array_text(node, names)


def _array_text(node: msgspec.inspect.Type, names: Names) -> str:
    match node:
        case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
            item = type_text(node.item_type, names)
            return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
        case msgspec.inspect.TupleType():
            items = ", ".join(type_text(item, names) for item in node.item_types)
            return f"readonly [{items}]"
    raise TypeGenerationError(f"no TypeScript form for {node}")


def _own_doc(struct: type[msgspec.Struct]) -> str:
    return inspect.cleandoc(struct.__doc__) if struct.__doc__ else ""


def _comment(text: str, indent: str) -> list[str]:
    """A JSDoc comment, or nothing for no text."""
    if not text:
        return []
    text = re.sub(r"\bNone\b", "null", text).replace("``", "`")
    lines = text.replace("*/", "* /").splitlines()  # a comment must not end early
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def _union(values: Sequence[LiteralValue]) -> str:
    return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)


def _names(attribute: Literal["answer", "query"]) -> dict[str, str]:
    return {view.stem: getattr(view, attribute).__name__ for view in all_views()}


def _map(name: str, comment: str, rows: Mapping[str, str]) -> str:
    lines = [f"  readonly {_key(stem)}: {type_};" for stem, type_ in rows.items()]
    return "\n".join([f"/** {comment} */", f"export interface {name} {{", *lines, "}", ""])


def _key(stem: str) -> str:
    return stem if stem.isidentifier() else json.dumps(stem)


def main(args: Sequence[str]) -> int:
    """Writes the files, or says whether one is stale."""
    types = typescript()
    texts = {TARGET: types, CONTRACT_FILE: python(types), HEADS: heads_of_tables()}
    stale = {
        path: text
        for path, text in texts.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    if "--check" not in args:
        for path, text in stale.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    for path in stale:
        print(f"{path.name} is stale: run `python tools/gen_api_types.py`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
