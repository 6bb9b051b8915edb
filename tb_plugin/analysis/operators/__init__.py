"""Operators and kernels: how time on the host and on the device divides among them."""
