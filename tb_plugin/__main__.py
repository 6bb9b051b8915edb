"""``python -m kinetoscope`` is the command ``kinetoscope``."""

from .cli import main

main(prog_name="kinetoscope")
