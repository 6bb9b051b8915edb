"""Perfetto protobuf files (`.pftrace`) to the JSON text of the same trace.

What is here is known of every file; the modules are imported for one that may be such.
"""

SNIFFED = 64 * 1024
"""Bytes by which a file is judged."""
ORIGIN = "kinetoscopePerfetto"
"""Top-level key that marks text made from protobuf; its value is the recorder."""
PRINTABLE = bytes(range(32, 127)) + b"\t\n\r"
"""Bytes of JSON text in ASCII."""


def may_be_perfetto(head: bytes) -> bool:
    """False for a file that begins with ``head`` (up to ``SNIFFED`` bytes) and is surely none.

    JSON may begin with a line break, which is the first byte of a packet, too.
    """
    return bool(head.translate(None, PRINTABLE))
