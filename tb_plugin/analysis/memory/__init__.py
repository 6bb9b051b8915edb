"""Memory: amount by holder over time, and its cause."""
