"""Ingest: trace files read in child processes, in a bounded pool."""
