"""How a training loop uses a profiler: which options, on demand, and in other people's loops."""
