"""Runs one rule over a drawn trace."""

from __future__ import annotations

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.findings import Finding
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace

WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclArgs)"


def finding(trace: Trace, rule: str, steps: str = "") -> Finding | None:
    """What a rule finds."""
    found = check_all(select(summarize(trace), steps))[0]
    return next((one for one in found if one.id == rule), None)


def needs(trace: Trace, rule: str) -> str:
    """What a rule lacks, "" when it ran."""
    unchecked = check_all(select(summarize(trace)))[1]
    return next((one.needs for one in unchecked if one.id == rule), "")


def plain(text: str) -> str:
    """A sentence with ordinary spaces."""
    return text.replace("\u00a0", " ")
