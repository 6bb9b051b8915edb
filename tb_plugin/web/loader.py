"""The entry point for TensorBoard: imports nothing heavy, because TensorBoard's start waits for it.

An entry point that fails to import ends TensorBoard; one that fails to load is only logged.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tensorboard.plugins.base_plugin import TBLoader

if TYPE_CHECKING:
    from tensorboard.plugins.base_plugin import TBContext, TBPlugin

log = logging.getLogger(__name__)


class Loader(TBLoader):  # type: ignore[misc]  # tensorboard carries no types
    """Creates the plugin once TensorBoard knows its logdir. It defines no flags."""

    def load(self, context: TBContext) -> TBPlugin | None:
        from ..base.errors import not_installed

        try:
            from .plugin import ProfilerPlugin
        except ModuleNotFoundError as error:
            missing = not_installed(error)
            log.error("There is no tab PyTorch Profiler: %s (%s)", missing, missing.hint)
            return None
        return ProfilerPlugin(context)
