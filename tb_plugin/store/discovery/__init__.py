"""Which trace files a log directory holds, and when they are complete."""
