"""The Kernel view."""
