"""Texts that nobody would write, thrown at the readers: ``python -m tests.fuzz.scan --help``."""
