"""How well is a recording asked, and at what price? Forty questions; nobody can answer ten.

    python -m benchmarks.ask.run truth          # each answer again by brute force
    python -m benchmarks.ask.run path           # the documented commands: value there, calls, bytes
    python -m benchmarks.ask.run lay FOLDER     # neutral folders, questions, a wrapper that counts
    python -m benchmarks.ask.run lay FOLDER python   # the same for the control
    python -m benchmarks.ask.run score FOLDER   # what an agent answered, against the truth

``docs/benchmarks.md`` has the protocol. Recordings whose path begins with ``traces/`` are below
``KINETOSCOPE_TRACES``; a question of one that is absent is left out, and said so.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmarks._corpus import ROOT, TRACES
from benchmarks.ask.truth import truth

QUESTIONS = Path(__file__).parent / "questions.json"
_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?")
_UNITS = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1e3}

Question = dict[str, Any]


def questions() -> list[Question]:
    """All questions in their order."""
    found: list[Question] = json.loads(QUESTIONS.read_text("utf-8"))
    return found


def places(question: Question) -> list[str]:
    """The recordings of a question on this machine."""
    return [
        str(TRACES / one.removeprefix("traces/") if one.startswith("traces/") else ROOT / one)
        for one in question["recordings"]
    ]


def there(question: Question) -> bool:
    """Whether its recordings are on this machine."""
    return all(Path(one).exists() for one in places(question))


def values_in(text: str) -> Iterator[float]:
    """Every number of a text, in ms where a unit of time follows, else as it is."""
    for match in _NUMBER.finditer(text):
        value = float(match[0].replace(",", "").rstrip("."))
        unit = re.match(r"\s*(ns|µs|us|ms|s)\b", text[match.end() :])
        yield value * _UNITS[unit[1]] if unit else value
        yield value / 1e6  # a column of ns


def holds(question: Question, text: str) -> bool:
    """Whether an answer has the value, or says what is lacking."""
    if question["kind"] == "cannot":
        return re.search(question["needs"], text) is not None
    answer = question["answer"]
    if question["accept"]:
        return any(re.search(pattern, text) for pattern in question["accept"])
    if question["kind"] == "name":
        return str(answer)[:40] in text
    room = abs(answer) * question["tolerance"]
    return any(abs(value - answer) <= room for value in values_in(text))


def check_truths() -> int:
    """Recompute every answer; the number of those that differ."""
    wrong = 0
    for question in filter(there, questions()):
        found, told = truth(question["truth"], places(question)), question["answer"]
        is_equal = (
            abs(found - told) <= 1e-6 * max(abs(told), 1)
            if isinstance(found, float | int) and isinstance(told, float | int)
            else found == told
        )
        if not is_equal:
            wrong += 1
            print(f"{question['id']:3}  {told!r} is {found!r}: {question['question']}")
    return wrong


def check_paths(only: Sequence[str] = ()) -> int:
    """Run the documented commands of every question; the number of those without the answer."""
    right = refused = calls = size = asked = 0
    for question in filter(there, questions()):
        if only and str(question["id"]) not in only:
            continue
        said = []
        for command in question["path"]:
            words = shlex.split(command.format(*map(shlex.quote, places(question))))
            ended = subprocess.run(
                [sys.executable, "-m", *words], capture_output=True, text=True, check=False
            )
            said.append(ended.stdout)
        text = "".join(said)
        good = holds(question, text)
        asked += 1
        calls += len(said)
        size += len(text.encode())
        right += good
        refused += good and question["kind"] == "cannot"
        print(f"{question['id']:3} {'ok' if good else 'NO':3} {len(said)} {len(text.encode()):6}"
              f"  {question['question'][:80]}")  # fmt: skip
    print(f"{right} of {asked} right, {refused} refused, {calls} calls, {size} bytes")
    return asked - right


# --- for an agent ---------------------------------------------------------------------------------

_WRAPPER = """#!/bin/sh
# Runs a command, and notes how much it printed: one line a call.
out=$(mktemp)
{command} "$@" >"$out" 2>"$out.err"
status=$?
cat "$out.err" >&2
cat "$out"
size=$(cat "$out" "$out.err" | wc -c)
printf '%s\\t%s\\n' "$size" "{name} $(echo "$*" | tr '\\n' ' ')" >>"{log}"
rm -f "$out" "$out.err"
exit $status
"""
# The tool, and the control: Python, which may import pandas, with no module of ours.
_COMMANDS = {
    "kinetoscope": f"{sys.executable} -m kinetoscope",
    "python": f"{sys.executable} -I",
}


def lay(folder: Path, name: str = "kinetoscope") -> None:
    """Recordings under neutral names, the questions without answers, and a wrapper that counts."""
    folder.mkdir(parents=True)
    listed = []
    for question in filter(there, questions()):
        named = []
        for place in places(question):
            told = folder / "recordings" / f"r{crc32(place.encode()) % 10**6:06}"
            if not told.exists():
                source = Path(place)
                if source.is_dir():
                    shutil.copytree(source, told)
                else:
                    told.mkdir(parents=True)
                    shutil.copy(source, told / source.name)
            named.append(str(told.relative_to(folder)))
        listed.append({"id": question["id"], "recordings": named, "question": question["question"],
                       "unit": question["unit"]})  # fmt: skip
    (folder / "questions.json").write_text(json.dumps(listed, indent=1))
    wrapper = folder / "bin" / name
    wrapper.parent.mkdir()
    filled = {"command": _COMMANDS[name], "name": name, "log": folder.resolve() / "calls.tsv"}
    wrapper.write_text(_WRAPPER.format(**filled))
    wrapper.chmod(0o755)
    print(f"PATH={wrapper.parent}:$PATH; answers go to {folder}/answers.json: {{id: text}}")


def score(folder: Path) -> None:
    """Right, partly told, refused and invented answers; calls and bytes of the tool."""
    answers = json.loads((folder / "answers.json").read_text("utf-8"))
    sums = dict.fromkeys(("right", "wrong", "refused", "invented"), 0)
    for question in filter(there, questions()):
        text = str(answers.get(str(question["id"]), ""))
        is_refusal = re.search(
            r"cannot|not (be )?(answered|available|recorded)", text, re.IGNORECASE
        )
        if question["kind"] == "cannot":
            key = "refused" if is_refusal else "invented"
        else:
            key = "right" if holds(question, text) else "wrong"
        sums[key] += 1
        if key in ("wrong", "invented"):
            print(f"{question['id']:3} {key}: {text[:100]!r}, truth {question['answer']!r}")
    log = folder / "calls.tsv"
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    noted = [line.split("\t")[0] for line in lines if re.match(r"\s*\d+\t", line)]
    print(", ".join(f"{number} {name}" for name, number in sums.items()),
          f"; {len(noted)} calls, {sum(map(int, noted))} bytes")  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Do what the first argument names."""
    os.environ.setdefault("PYTHONUTF8", "1")
    match list(arguments):
        case ["truth"]:
            return min(check_truths(), 1)
        case ["path", *only]:
            return min(check_paths(only), 1)
        case ["lay", folder, *name]:
            lay(Path(folder), *name)
        case ["score", folder]:
            score(Path(folder))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
