"""The HTTP interface: one WSGI app for TensorBoard and the standalone server."""
