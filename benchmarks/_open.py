"""Opens everything below a folder through the real catalog, as a server does, and tells when.

    python -m benchmarks._open LOGDIR

Prints one JSON object: at which moment of ``time.monotonic`` the catalog was started, a request for
the Overview of every trace was answered, and every trace had its columns in the cache; and the CPU
seconds of the process tree at the second of them. The process ends after the third.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

from kinetoscope.analysis.facts import Facts
from kinetoscope.store.catalog import BeingRead, CatalogService
from kinetoscope.store.discovery.walk import resolve

LOOK_SECONDS = 0.01


def _are_answered(service: CatalogService[Facts]) -> bool:
    """Whether the Overview of each trace is there for a request; the list of traces says so later.

    The list is made anew every fifth of a second, while columns are written already.
    """
    try:
        for run in service.snapshot().runs:
            for worker in run.workers:
                for span in worker.spans:
                    service.locate(run.name, worker.name, span.key)
    except BeingRead:
        return False
    return True


def main(logdir: str) -> None:
    """Prints when what was ready."""
    before = time.process_time()
    from benchmarks._measure import tree_cpu_seconds

    measuring = time.process_time() - before  # is no part of opening
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
            if spans and "overview" not in told and _are_answered(service):
                told["overview"] = time.monotonic()
                told["overview_cpu"] = tree_cpu_seconds(os.getpid()) - measuring
            if "overview" in told and all(
                span.state == "ready" and span.progress is None for span in spans
            ):
                break
            time.sleep(LOOK_SECONDS)
        told["columns"] = time.monotonic()
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
