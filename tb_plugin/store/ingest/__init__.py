"""Trace files read in processes of their own, in a bounded pool."""
