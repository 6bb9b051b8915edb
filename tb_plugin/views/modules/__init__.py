"""The Module view."""
