"""Perfetto protobuf files (`.pftrace`) to the JSON text of the same trace.

What is here is known of every file; the modules are imported for one that may be such.
"""

SNIFFED = 64 * 1024
"""Bytes by which a file is judged."""
ORIGIN = "kinetoscopePerfetto"
"""Top-level key of the text, which says that the file is protobuf and who wrote it."""
