"""Operators and kernels: whose time is it, on the host and on the device."""
