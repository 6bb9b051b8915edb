"""Discovery: which trace files are in a log directory, and when are they complete?"""
