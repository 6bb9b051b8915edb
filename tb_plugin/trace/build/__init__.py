"""Columns of raw events to the tables of a trace, one stage a module."""
