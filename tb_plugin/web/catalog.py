"""The catalog as the web and the command line use it: its summaries are ``Facts``."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from ..analysis.facts import Facts
from ..store.cache import content_key
from ..store.cache.location import open_cache
from ..store.catalog import READER, CatalogService, Timing
from ..store.discovery.logdirs import Logdir
from ..store.discovery.walk import FileVersion
from ..trace.model import Trace

SUMMARIZE = f"{__package__.rpartition('.')[0]}.analysis.summarize:summarize"
"""By name, because it runs in other processes."""


def facts_catalog(logdirs: Sequence[Logdir], timing: Timing | None = None) -> CatalogService[Facts]:
    """The catalog over the logdirs; ``start`` begins to look."""
    return CatalogService(logdirs, summarize=SUMMARIZE, summary_type=Facts, timing=timing)


def kept_facts(path: str) -> Facts | None:
    """What a catalog kept of the same content, read by the same code; None where it kept nothing.

    Raises:
        OSError: the file cannot be read.
    """
    stored = open_cache().load_summary(_digest(path))
    if stored is None:
        return None
    try:
        facts = msgspec.json.decode(stored.summary, type=Facts)
    except msgspec.DecodeError:
        return None
    return msgspec.structs.replace(facts, path=path)


def kept_trace(path: str) -> Trace | None:
    """The columns that a catalog kept of the same content; None where it kept none.

    Raises:
        OSError: the file cannot be read.
    """
    return open_cache().load_trace(_digest(path), path)


def _digest(path: str) -> str:
    """The key under which the present content of a file is kept."""
    version = content_key.code_version(READER, SUMMARIZE)
    return content_key.digest(path, FileVersion.of(os.stat(path)), version)
