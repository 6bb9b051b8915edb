"""A regular expression waits for its first use, and is then the one that ``re`` compiles."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetoscope
from kinetoscope.base.regex import UncompiledRegex, any_of, regex


def test_it_is_compiled_once_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def counted(text: str, flags: int) -> re.Pattern[str]:
        compiled.append(text)
        return re._compile(text, flags)  # type: ignore[attr-defined, no-any-return]

    monkeypatch.setattr(re, "compile", counted)
    found = regex(r"a+(b)", re.IGNORECASE)
    assert (found.pattern, compiled) == (r"a+(b)", [])
    assert found.search("xAAB").span() == (1, 4)  # type: ignore[union-attr]
    assert found.match("b") is None
    assert (found.groups, found.flags & re.IGNORECASE) == (1, re.IGNORECASE)
    assert set(compiled) == {r"a+(b)"}
    methods = [getattr(found, name) for name in ("match", "search", "sub", "split", "findall")]
    assert all(callable(method) for method in methods)


_PATTERNS = (r"^ab", r"^a(c|b)$", r"^b|^c", r"(a|b)c", r"^\^\(|\)", r"^\|b", r"ca$")


@given(st.lists(st.sampled_from(_PATTERNS)), st.text("abc^()|", max_size=6))
def test_any_of_several_is_each_of_them(patterns: list[str], text: str) -> None:
    assert any_of(patterns)(text) == any(re.search(one, text) for one in patterns)


@given(st.from_regex(r"[ab]{0,6}", fullmatch=True))
def test_its_methods_answer_like_those_of_re(text: str) -> None:
    ours, theirs = regex(r"a(b?)"), re.compile(r"a(b?)")
    assert ours.findall(text) == theirs.findall(text)
    assert ours.sub("-", text) == theirs.sub("-", text)
    assert ours.split(text) == theirs.split(text)
    assert ours.subn("", text) == theirs.subn("", text)
    assert [m.span() for m in ours.finditer(text)] == [m.span() for m in theirs.finditer(text)]
    assert bool(ours.fullmatch(text)) == bool(theirs.fullmatch(text))


def test_an_unknown_name_is_none_of_its_methods() -> None:
    with pytest.raises(AttributeError):
        regex("a").no_such_method  # type: ignore[attr-defined]  # noqa: B018


def every_regex() -> Iterator[tuple[str, UncompiledRegex]]:
    """Those that a module names, alone or in a tuple or a mapping."""
    for info in pkgutil.walk_packages(kinetoscope.__path__, "kinetoscope."):
        if ".handlers" in info.name or info.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            values = value.values() if isinstance(value, dict) else value
            several = values if isinstance(value, (tuple, dict)) else [value]
            for one in several:
                for part in one if isinstance(one, tuple) else [one]:
                    if isinstance(part, UncompiledRegex):
                        yield f"{info.name}.{name}", part


def test_every_one_of_them_can_be_compiled() -> None:
    """A mistake would show at its first use alone."""
    found = list(every_regex())
    assert len(found) > 150
    for _, one in found:
        re.compile(one.pattern, one._given)
