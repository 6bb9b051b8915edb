"""Distributed: which rank makes the others wait, and why?"""
