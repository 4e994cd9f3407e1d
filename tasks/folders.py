"""Whether a folder could be made or written to, without making it."""

import os
from pathlib import Path


def in_the_way_of(folder: Path) -> Path | None:
    """The nearest path above the folder (or itself) that exists, if it is no folder we may write to.

    None if nothing is in the way.
    """
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    usable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    return None if usable else nearest
