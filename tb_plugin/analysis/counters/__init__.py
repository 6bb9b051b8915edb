"""Measured counters: what do samples of power, clocks and traffic say of a stretch of time?"""
