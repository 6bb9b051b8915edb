"""Slow readers in plain Python that define what the native library must answer."""
