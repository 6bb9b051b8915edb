"""Modules: which of them were called, and what did each cost?"""
