"""Memory: who holds how much, when, and why."""
