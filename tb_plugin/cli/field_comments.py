"""The comments beside and above the fields of a Struct: what explains them."""

from __future__ import annotations

import ast
import inspect
import tokenize
from io import StringIO

from msgspec import Struct


def field_comments(struct: type[Struct]) -> dict[str, str]:
    """Field → its comment, for those that have one.

    A comment stands at the end of the field's line, or on lines of its own right above it. Empty
    where the source is not at hand.
    """
    try:
        source = inspect.cleandoc("\n" + inspect.getsource(struct))
    except OSError:
        return {}
    comments = _comments(source)
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = comments.get((node.lineno, False)) or _above(comments, node.lineno)
            if text:
                found[node.target.id] = text
    return found


def _comments(source: str) -> dict[tuple[int, bool], str]:
    """(Line, whether the line holds nothing else) → comment."""
    found = {}
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            alone = token.line.lstrip().startswith("#")
            found[token.start[0], alone] = token.string.lstrip("#").strip()
    return found


def _above(comments: dict[tuple[int, bool], str], line: int) -> str:
    lines: list[str] = []
    while (line - 1, True) in comments:
        line -= 1
        lines.insert(0, comments[line, True])
    return " ".join(lines)
