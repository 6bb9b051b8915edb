"""The JSON contracts: one file per view, each with its Structs, query, ``build()`` and ``VIEW``."""
