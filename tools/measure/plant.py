"""Plugin of pytest that plants one fault while a module is imported; ``mutants`` says which.

``KINETOSCOPE_MUTANT`` holds a file, a place in its bytes, the text there and another one.
"""

from __future__ import annotations

import importlib.machinery
import os
from types import CodeType
from typing import Any

_PATH, _START, _WAS, _TEXT = os.environ["KINETOSCOPE_MUTANT"].split("\t")
_plain = importlib.machinery.SourceFileLoader.get_code


def _planted(self: Any, fullname: str) -> CodeType | None:  # noqa: ANN401  # of importlib
    path = self.get_filename(fullname)
    if os.path.realpath(path) != os.path.realpath(_PATH):
        return _plain(self, fullname)
    data, start = self.get_data(path), int(_START)
    before, behind = data[:start], data[start:]
    if not behind.startswith(_WAS.encode()):
        raise RuntimeError(f"{path} changed since the fault was drawn")
    faulty = before + _TEXT.encode() + behind.removeprefix(_WAS.encode())
    return self.source_to_code(faulty, path)  # type: ignore[no-any-return]


importlib.machinery.SourceFileLoader.get_code = _planted  # type: ignore[method-assign]
