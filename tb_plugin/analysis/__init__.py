"""Pure functions from a ``Trace`` to small frozen results: one question per module, no I/O."""
