"""Perfetto files as JSON text, in Python: the reference of the native transcoder."""
