"""Which rank is late by itself, why, and what would be gained without that?"""
