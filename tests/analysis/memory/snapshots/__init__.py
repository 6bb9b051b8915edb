"""Memory: events, curves, statistics, categories."""
