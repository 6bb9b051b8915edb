"""Trainings with one planted problem each, and what is to be found in their recordings."""
