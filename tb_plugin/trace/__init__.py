"""The file format: from the bytes of a trace file to a frozen, columnar ``Trace``."""
