"""The only place that knows the file format: bytes of a trace file → a frozen columnar ``Trace``."""
