"""Errors, units and interval arithmetic: the layer that knows nothing of traces."""
