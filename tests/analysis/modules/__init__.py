"""Operators and kernels."""
