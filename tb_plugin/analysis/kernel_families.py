"""The family of a compute kernel, by its name: rules as data, the first match wins.

The rules are ``kernel_families.json`` beside this file. A file of the user's, in the same form, is
asked first: ``KINETOSCOPE_KERNEL_FAMILIES`` names it, else ``kernel_families.json`` in the folder
of settings is taken where it exists.

Our own patterns are in lower case and search names in lower case, and each of their alternatives
begins with a fixed character. So a search skips what no alternative begins with, and names of
templates are hundreds of characters long. That is why a condition on what stands before a word
comes after it: ``moe(?<![a-z]moe)`` is "moe" without a letter before it.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from ..base.errors import QueryError
from ..base.machine import user_folder
from ..base.regex import regex

FILE = "kernel_families.json"
SETTING = "KINETOSCOPE_KERNEL_FAMILIES"
UNCLASSIFIED = "unclassified"
MOST_BYTES = 1 << 20
_ANONYMOUS = "(anonymous namespace)"
_ARGUMENTS = regex(r"[<(,>]")
# Kernels that only call what they are called with: cutlass::device_kernel<flash::FlashAttnBwd…>.
_WRAPPER = regex(
    r"(?:(?:void|__global__) )?"
    r"(?:cutlass\w*::(?:device_kernel|Kernel2?)|device_kernel|(?:ck_tile::)?kentry\w*)<"
)


class FamilyRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The family of kernels whose name the pattern finds, in any case."""

    family: str
    pattern: str
    why: str = "a rule of your own"


_Rules = tuple[FamilyRule, ...]


class Family(Struct, frozen=True):
    """A family of kernels, and the rule that decided it."""

    name: str
    why: str


class Families(Struct, frozen=True):
    """Compiled rules, in the order in which they are tried."""

    rules: tuple[tuple[re.Pattern[str], bool, Family], ...]  # the bool: searches lower case

    def of(self, kernel: str) -> Family:
        """The family of a kernel: by its name first, then by the template arguments of its name.

        ``elementwise_kernel<…, adam_lambda>`` is no optimizer. What a wrapper is called with is
        what it is called.
        """
        name = kernel.replace(_ANONYMOUS, "")
        if (wrapper := _WRAPPER.match(name)) is not None:
            name = name[wrapper.end() :]
        name = _ARGUMENTS.split(name, maxsplit=1)[0]
        for text in (name, kernel):
            lower = text.lower()
            for pattern, in_lower, family in self.rules:
                if pattern.search(lower if in_lower else text):
                    return family
        return Family(UNCLASSIFIED, "no rule knows this name")


def parse_rules(text: bytes, source: str) -> tuple[FamilyRule, ...]:
    """The rules of a file.

    Raises:
        QueryError: it has another form, or a pattern that is no regular expression.
    """
    hint = 'A list of {"family": …, "pattern": …, "why": …}; patterns are regular expressions.'
    try:
        rules = msgspec.json.decode(text, type=_Rules)
    except msgspec.DecodeError as error:
        raise QueryError(f"{source} holds no rules: {error}", hint=hint) from None
    for rule in rules:
        try:
            re.compile(rule.pattern)
        except re.error as error:
            raise QueryError(f"{source}: {rule.pattern!r}: {error}", hint=hint) from None
    return rules


def user_file() -> Path | None:
    """The user's own rule file, if there is one."""
    named = os.environ.get(SETTING)
    if named:
        return Path(named)
    kept = Path(user_folder("config")) / FILE
    return kept if kept.is_file() else None


def read_rules(path: Path) -> tuple[FamilyRule, ...]:
    """The rules in a file.

    Raises:
        QueryError: it cannot be read, or holds something else.
    """
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_BYTES)
    except OSError as error:
        raise QueryError(
            f"The kernel families in {path} cannot be read: {error.strerror or error}.",
            hint=f"{SETTING} names the file.",
        ) from None
    return parse_rules(text, str(path))


@cache
def families() -> Families:
    """The rules of this process: the user's first, then the built-in ones.

    Raises:
        QueryError: the user's file is wrong.
    """
    own = user_file()
    if not own:
        return _shipped()
    return Families(
        (
            *(
                (re.compile(rule.pattern, re.IGNORECASE), False, Family(rule.family, rule.why))
                for rule in read_rules(own)
            ),
            *_shipped().rules,
        )
    )


def family_of(kernel: str) -> str:
    """The family by the built-in rules, or "unclassified"."""
    return _shipped().of(kernel).name


@cache
def _shipped() -> Families:
    rules = msgspec.json.decode(Path(__file__).with_name(FILE).read_bytes(), type=_Rules)
    return Families(
        tuple((regex(rule.pattern), True, Family(rule.family, rule.why)) for rule in rules)
    )
