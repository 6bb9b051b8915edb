"""Profiling a training loop: recommended options, recording on demand, adapters for frameworks."""
