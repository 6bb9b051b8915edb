"""Drawn steps of given parts, for the sentence on top: which part it names, and which it adds.

A step is a text of parts and their lengths in µs: ``c50 h30 .20`` computes for 50 µs, then idles
while the host runs an op for 30 µs, then idles while nothing is recorded. Steps stand behind ``|``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinetoscope.trace.model import Trace
from tests.analysis.advice.checks import NCCL
from tests.drawing import LOADER, draw

ON_DEVICE = {
    "c": "computes", "x": "a collective", "y": "a copy", "h": "the host runs an op",
    "d": "the host waits for the DataLoader", "s": "the host waits for the device",
    "g": "a graph is captured", "n": "a range of the user",
    "q": "the next work is launched already",
}  # fmt: skip
NAMES = {
    "d": LOADER,
    "g": "cudaStreamBeginCapture",
    "call s": "cudaDeviceSynchronize",
    "x": NCCL,
    "n": "my range",
    "B": "autograd::engine::evaluate_function: MmBackward0",
    "u": "Optimizer.step#SGD.step",
    "m": "gloo:all_reduce",
    "z": "entire_frame_compile (dynamo_timed)",
}


def _columns(text: str) -> str:
    return "".join(letter * int(width) for letter, width in re.findall(r"(\S)(\d+)", text))


def device_steps(text: str) -> Trace:
    """Steps of a device; see ``ON_DEVICE``."""
    steps = [_columns(one) for one in text.split("|")]
    line = "".join(steps)
    launched = [" "] * len(line)
    begins = {sum(map(len, steps[:at])) for at in range(len(steps))}
    for run in re.finditer(r"(c+)", line):
        at = run.start()
        while at not in begins and (at == run.start() or line[at] == "q"):
            at -= 1
        launched[at] = "c"
    calls = "".join(
        there if there != " " else "s" if one == "s" else " "
        for there, one in zip(launched, line, strict=True)
    )
    return draw(
        "\n".join(
            f"{lane:7}|{row}|"
            for lane, row in (
                ("step", "".join(str(at + 1) * len(one) for at, one in enumerate(steps))),
                ("note", _only(line, "dn")),
                ("op", _only(line, "hg")),
                ("call", calls),
                ("gpu", _only(line, "c")),
                ("gpu.9", _only(line, "x")),
                ("copy.8", _only(line, "y")),
            )
        ),
        names=NAMES,
    )


def host_steps(text: str) -> Trace:
    """Steps of the host alone: o forward, B backward, u optimizer, p Python, m gloo, z compiles."""
    steps = [_columns(one) for one in text.split("|")]
    line = "".join(steps)
    return draw(
        "\n".join(
            f"{lane:7}|{row}|"
            for lane, row in (
                ("step", "".join(str(at + 1) * len(one) for at, one in enumerate(steps))),
                ("note", _only(line, "dun")),
                ("op", _only(line, "oBmz")),
                ("frame", _only(line, "p")),
                ("call", _only(line, "s")),
            )
        ),
        names={**NAMES, "o": "aten::mm"},
    )


def _only(line: str, letters: str) -> str:
    return "".join(one if one in letters else " " for one in line)


DEVICE = (
    "c84 .16", "c85 .15", "c86 h14", "c50 h9 .41", "c50 h10 .40", "c49 h9 d9 s9 x9 y9 .6",
    "c49 h51", "c49 .10 h41", "c60 .9 h31", "c60 .10 h30", "c60 .11 h29",
    "c40 d60", "c40 d30 h30", "c40 d31 h29", "c40 s60", "c40 x60", "c40 y60", "y90 .10",
    "c30 q60 c10", "c30 q31 .29 c10", "c30 q29 .31 c10", ".60 c40", "c40 .60", ".31 c20 .49",
    "n60 c40", "c40 n60", "g60 c40", "g31 c29 h40", "g40 h39 c21",
    "c50 d50|c50 d50|c50 d50", "c50 d50|c50 h50|c50 d50", "c50 d50|c50 h50|c90 .10",
    "c50 d50|c50 h50", "c50 d51|c50 s50|c50 x50|c50 y50",
    "c90 .10|c90 .10|c90 h10|c10 d900", "c50 d50|c50 d49 h1|c50 d44 h50|c50 d45 h50",
    "c50 d50|c50 d50|c50 h50|c50 h50", "c40 x30 h30|c40 x30 h31|c40 x29 h30",
    "c50 s10|c50 s10|c50 s11|c50 s9", "c20 d5 .75|c20 d5 .75", "h99 c1", "c1 h1",
    "c10 x5 h5 d5 s5 y5 .65",
)  # fmt: skip
HOST = (
    "o60 .40", "o40 .60", "o50 .50", "o30 B40 u20 .10", "o30 B40 u20 .9", "o20 B20 u20 d40",
    "p60 o40", "p40 B60", "p90 .10", "p45 B10 o45", "d50 o50", "d51 o49", "d49 o51", "m60 o40",
    "m40 B60", "z60 o40", "n60 o40", "n30 .30 o40", "n29 .31 o40", "s60 o40", "s40 o30 B30",
    "o60 .40|B60 .40|u60 .40", "o60 .40|B60 .40", "o60 d40|o60 d40|o10 d90",
    "o60 d40|o10 d90|o10 d90", "o60 .40|o60 .40|o60 .40|d900 o10",
    "p30 o30 B40|p30 o40 B30|p40 o30 B30", "o90 .10", "o91 .9", "o1", "d1 .99", "o33 B33 u34",
    "o50 z10 m20 p20",
)  # fmt: skip


def drawn_steps() -> Iterator[tuple[str, Trace]]:
    """All of them, by their text."""
    for text in DEVICE:
        yield f"device {text}", device_steps(text)
    for text in HOST:
        yield f"host {text}", host_steps(text)
