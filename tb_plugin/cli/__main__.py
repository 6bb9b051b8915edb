"""``python -m kinetoscope.cli`` is the command ``kinetoscope``."""

from . import main

main(prog_name="kinetoscope")
