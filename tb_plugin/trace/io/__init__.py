"""Bytes of a trace file: format, decompression, random access."""
