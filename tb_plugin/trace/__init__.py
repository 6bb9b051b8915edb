"""The only place that knows the file format: the bytes of a file → a frozen columnar ``Trace``."""
