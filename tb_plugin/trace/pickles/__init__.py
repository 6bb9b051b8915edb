"""What do Python pickles that torch writes hold? Read without running anything of them.

What is here is known of every file; the modules are imported for one that is a pickle.
"""

from __future__ import annotations

import re

from ...base.regex import regex

PICKLE = regex(rb"\x80[\x02-\x05]", re.DOTALL)
"""Beginning of a pickle of protocol 2 or later."""
