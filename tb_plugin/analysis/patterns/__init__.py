"""Which known costly patterns are in a trace, where do they stand, and how long do they take?"""
