"""Call trees: flame graphs, call paths, callers and callees."""
