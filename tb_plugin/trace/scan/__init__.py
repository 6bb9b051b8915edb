"""Text of a trace file to columns of raw events."""
