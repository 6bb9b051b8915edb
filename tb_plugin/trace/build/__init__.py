"""From columns of raw events to the tables of a trace, one stage per module."""
