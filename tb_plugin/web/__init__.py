"""The HTTP face: one WSGI app for TensorBoard and the standalone server."""
