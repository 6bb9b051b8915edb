"""What do all views say of all recordings below a folder? One line of JSON for each answer.

    python tools/measure/answers.py ../shared/traces > /tmp/before.jsonl
    python tools/measure/answers.py ../shared/traces > /tmp/after.jsonl
    python tools/measure/answers.py --compare /tmp/before.jsonl /tmp/after.jsonl

A change that must move no figure is held against the state before. ``--compare`` lists the keys of
JSON whose values differ, with the number of answers, and ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.session.session import FileSession
from kinetoscope.views import all_views


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the answers, or compare two files of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args(arguments)
    if not given.compare:
        for root in given.paths:
            for path in sorted(root.rglob("*.json*")):
                for line in answers(path, path.relative_to(root).as_posix()):
                    sys.stdout.write(json.dumps(line, sort_keys=True) + "\n")
        return 0
    before, after = (
        dict(map(_entry, path.read_text("utf-8").splitlines())) for path in given.paths
    )
    changed = Counter(
        f"{place[1]}: {key}"
        for place in sorted(before.keys() | after.keys())
        for key in set(differing(before.get(place), after.get(place)))
    )
    for key, count in sorted(changed.items()):
        print(f"{count:5} answers  {key}")
    print(f"{len(before)} and {len(after)} answers compared")
    return int(bool(changed))


def answers(path: Path, name: str) -> Iterator[tuple[str, str, Any]]:
    """(file, view, answer or reason) of each view that needs no other recording."""
    session = FileSession(str(path))
    for view in all_views():
        if view.among is not None:
            continue
        try:
            answer: Any = view.build(session.asked(view), view.query())
        except KinetoscopeError as error:
            yield name, view.stem, error.message
        else:
            yield name, view.stem, msgspec.to_builtins(answer)


def differing(one: object, other: object, place: str = "") -> Iterator[str]:
    """Paths of keys at which two values differ; places of lists are left out."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differing(one.get(key), other.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for mine, its in zip(one, other, strict=True):
            yield from differing(mine, its, f"{place}[]")
    elif one != other:
        yield place or "the whole answer"


def _entry(line: str) -> tuple[tuple[str, str], Any]:
    name, view, answer = json.loads(line)
    return (name, view), answer


if __name__ == "__main__":
    sys.exit(main())
