"""When to colour. Apart from the options, for commands that start without click."""

from __future__ import annotations

import os
import sys


def wants_color(choice: str = "auto") -> bool:
    """Whether to colour: as asked, else on a terminal that does not say NO_COLOR."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
