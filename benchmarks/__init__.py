"""Benchmarks: each prints a ratio measured in one run, against a peer or a calibration loop."""
