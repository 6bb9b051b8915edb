"""Does every finding on every recording rest on events that are there, and its remedy on what ran?

    python -m benchmarks.false_alarms [FOLDER]

Each recording below the folder (by default the shared ones) is read, and the evidence of its
findings is looked up in the raw events by loops that share no code with the reader
(``tests/analysis/advice/evidence``). Printed: recordings, findings, events looked up, and what is
wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.trace.read import read
from tests.analysis.advice.evidence import (
    findings_of,
    raw_events,
    unmet_remedies,
    wrong_evidence,
)
from tests.conftest import TRACES


def main() -> int:
    """Prints the table; 1 if anything is wrong."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TRACES
    seen: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    wrong: list[str] = []
    for path in sorted(one for one in folder.rglob("*.json*") if one.is_file()):
        try:
            trace = read(path)
        except KinetoscopeError:
            seen["no traces"] += 1
            continue
        raw = raw_events(path)
        if raw is None:
            seen["recordings that strict JSON refuses"] += 1
            continue
        findings = findings_of(trace)
        seen["recordings"] += 1
        seen["findings"] += len(findings)
        seen["events looked up"] += sum(len(one.events) for one in findings)
        rules.update(one.id for one in findings)
        said = (*wrong_evidence(trace, findings, raw), *unmet_remedies(findings, raw))
        wrong += [f"{path.relative_to(folder)}: {one}" for one in said]
    for name, count in seen.items():
        sys.stdout.write(f"{name}: {count:,}\n")
    sys.stdout.write(", ".join(f"{rule} {count}" for rule, count in sorted(rules.items())) + "\n")
    sys.stdout.write(f"wrong: {len(wrong)}\n" + "".join(f"  {one}\n" for one in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
