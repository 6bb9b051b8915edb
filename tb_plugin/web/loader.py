"""The entry point for TensorBoard: imports nothing heavy, because TensorBoard's start waits for it.

An entry point that fails to import ends TensorBoard; one that fails to load is only logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorboard.plugins.base_plugin import TBLoader

if TYPE_CHECKING:
    from tensorboard.plugins.base_plugin import TBContext, TBPlugin


class Loader(TBLoader):  # type: ignore[misc]  # tensorboard carries no types
    """Creates the plugin once TensorBoard knows its logdir. It defines no flags."""

    def load(self, context: TBContext) -> TBPlugin:
        from .plugin import ProfilerPlugin

        return ProfilerPlugin(context)
