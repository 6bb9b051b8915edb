"""Distributed: who makes the others wait, and why?"""
