"""Replayed graphs: their work, their waiting, and the operators of their nodes."""
