"""Idle time of a device: gaps, their holders, and their causes."""
