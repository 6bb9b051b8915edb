"""The process behind a trace, by the name of its file: host, number, role.

host.domain_4711_rank3.1694128201545.pt.trace.json     host.domain, 4711
host_rank3.pt.trace.json                               host
worker0.pt.trace.json                                  neither
"""

from __future__ import annotations

import re

from ..base.regex import regex

ROLE_WORDS = (
    "prefill|decode|actor|rollout|critic|reward|reference|learner|trainer|generator|router|encoder"
    "|decoder"
)
ROLES = regex(rf"(?:^|[^a-z])({ROLE_WORDS})(?:[^a-z]|$)", re.IGNORECASE)
NODE = regex(r"^(?P<node>.+?)_(?:(?P<process>\d+)(?:_rank\d+)?|rank[-_]?\d+)$", re.IGNORECASE)
"""Names as the handlers write them, ``host_pid`` and ``host_pid_rank3``; and ``host_rank3``."""
NO_HOST = regex(
    rf"(?:.*[^a-z])?(?:(?:worker|rank|step|span|[tdpecs]p)[-_.\d]*|activities|gpu|cuda|{ROLE_WORDS})",
    re.IGNORECASE,
)
"""Prefixes of a number that are not a host name."""


def node_of(worker: str) -> tuple[str, str]:
    """Host and process of a worker, as far as its name tells; "" where it does not.

    >>> node_of("gpu-node17_4711"), node_of("host_12_rank3"), node_of("worker0_step_12")
    (('gpu-node17', '4711'), ('host', '12'), ('', ''))
    """
    found = NODE.match(worker)
    if found is None or NO_HOST.fullmatch(found["node"]):
        return "", ""
    return found["node"], found["process"] or ""


def process_role(name: str) -> str:
    """The role that the name of a worker tells: "prefill", "actor"; "" none.

    >>> process_role("host_prefill-3")
    'prefill'
    """
    found = ROLES.search(name)
    return found[1].lower() if found else ""


def process_behind(worker: str, node: str | None, process: int | None) -> tuple[str, int | None]:
    """Host and number of a process: as its file tells them, else by the name of the worker.

    The name tells the number of a process only of the host that the file names, if it names one.

    >>> process_behind("gpu17_4711", None, None), process_behind("train_50", "gpu17", None)
    (('gpu17', 4711), ('gpu17', None))
    """
    named, digits = node_of(worker)
    if not process and digits and node in {None, "", named}:
        process = int(digits)
    return node or named, process or None


# The time is of ms or ns since 1970: shorter numbers are of names that nobody made of a host.
_OF_HANDLERS = regex(
    r"(?:.*[/\\])?(?P<worker>.+?)(?:\.\d{13,})?\.pt\.trace\.json(?:\.gz)?", re.DOTALL
)


def worker_of_file(path: str) -> str:
    """The worker of a file that the handlers named; "" for any other.

    >>> worker_of_file("/log/run/gpu-node17_4711.1694128201545.pt.trace.json.gz")
    'gpu-node17_4711'
    """
    found = _OF_HANDLERS.fullmatch(path)
    return found["worker"] if found else ""


_CAPTURE = regex(
    r"(?:.*[^a-z])?graphs?[-_ .]?captures?(?:[^a-z].*)?"
    r"|captures?(?:[-_ .](?:traces?|profiles?|profiling|recordings?|logs?|rank|[tdpecs]p|\d).*)?",
    re.IGNORECASE | re.DOTALL,
)


def is_capture(name: str) -> bool:
    """True if the name of a folder or worker says that it recorded the capture of graphs.

    >>> is_capture("graph_capture_rank_0"), is_capture("capture_traces"), is_capture("capture")
    (True, True, True)
    >>> is_capture("motion_capture"), is_capture("capture_model"), is_capture("worker0")
    (False, False, False)
    """
    return _CAPTURE.fullmatch(name) is not None


def capture_folder(folder: str) -> str | None:
    """The folder that holds one of captures; None where no part of the path says that it is one.

    >>> capture_folder("run/capture_traces"), capture_folder("graph_capture_profile/rank0")
    ('run', '')
    >>> capture_folder("run")
    """
    parts = folder.split("/")
    at = next((at for at, part in enumerate(parts) if is_capture(part)), None)
    return None if at is None else "/".join(parts[:at])
