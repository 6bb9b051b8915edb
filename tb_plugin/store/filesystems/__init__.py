"""Filesystems of other machines: what is there, and copies of it that can be read here."""
