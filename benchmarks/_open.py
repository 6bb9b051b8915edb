"""Opens everything below a folder through the real catalog, as a server does, and tells when.

    python -m benchmarks._open LOGDIR

Prints one JSON object: at which moment of ``time.monotonic`` the catalog was started, every trace
had its Overview, and every trace its columns in the cache; and the CPU seconds of the process tree
at the second of them. The process ends after the third.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

from benchmarks._measure import tree_cpu_seconds
from kinetoscope.analysis.facts import Facts
from kinetoscope.store.catalog import CatalogService
from kinetoscope.store.discovery.walk import resolve

LOOK_SECONDS = 0.01


def main(logdir: str) -> None:
    """Prints when what was ready."""
    told: dict[str, float] = {"started": time.monotonic()}
    service = CatalogService(
        resolve(logdir, None),
        summarize="kinetoscope.analysis.summarize:summarize",
        summary_type=Facts,
    )
    with service:
        service.wait_first_look(60)
        while True:
            spans = [s for r in service.snapshot().runs for w in r.workers for s in w.spans]
            failed = [s.error for s in spans if s.state in ("failed", "refused")]
            if failed:
                sys.exit(str(failed))
            if spans and all(span.state == "ready" for span in spans):
                if "overview" not in told:
                    told["overview"] = time.monotonic()
                    told["overview_cpu"] = tree_cpu_seconds(os.getpid())
                if all(span.progress is None for span in spans):
                    break
            time.sleep(LOOK_SECONDS)
        told["columns"] = time.monotonic()
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
