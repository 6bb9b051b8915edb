"""The tab in TensorBoard: its name in addresses, its title. Known where no TensorBoard is, too."""

from __future__ import annotations

import importlib.metadata

NAME = "pytorch_profiler"
"""The usual address: http://localhost:6006/#pytorch_profiler."""
NAME_BESIDE_THE_OLD = "kinetoscope"
"""TensorBoard does not start with two plugins of one name."""
OLD_DISTRIBUTION = "torch-tb-profiler"
TITLES = {NAME: "PyTorch Profiler", NAME_BESIDE_THE_OLD: "PyTorch Profiler (kinetoscope)"}
"""Name → title of the tab: the old plugin's is "PyTorch Profiler" too."""


def plugin_name() -> str:
    """The name of the plugin; another one beside the old plugin, which has the same."""
    try:
        importlib.metadata.distribution(OLD_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return NAME
    return NAME_BESIDE_THE_OLD
