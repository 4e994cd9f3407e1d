"""A file that appears whole or not at all, and only once."""

import os
import tempfile
from pathlib import Path


def create_exclusively(path: Path, blob: bytes) -> bool:
    """Create the file with all of its content, durably; False if the name is taken. OSError otherwise.

    Written under another name, then linked: a link fails if the name exists, where a rename would overwrite.
    """
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(blob)
            os.fchmod(file.fileno(), 0o666 & ~_umask())   # mkstemp's 0600 would lock other people out
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
    finally:
        os.unlink(temporary)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return True


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
