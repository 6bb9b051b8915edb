"""Pure functions from a ``Trace`` to small frozen results; one file per question, no I/O."""
