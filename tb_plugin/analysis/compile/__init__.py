"""Compiled functions: what torch.compile compiled, why again, and what ran of it."""
