"""Files that appear whole or not at all: created once, or put in place of what was there."""

import os
from pathlib import Path
from uuid import uuid4


def create_exclusively(path: Path, blob: bytes) -> bool:
    """Create the file with all of its content, durably; False if the name is taken. OSError otherwise.

    Written under another name, then linked: a link fails if the name exists, where a rename would overwrite.
    """
    temporary = _write_beside(path, blob)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    _flush(path.parent)
    return True


def replace_with(path: Path, blob: bytes) -> None:
    """Put a file with this content under the name, in place of what was there. OSError."""
    os.replace(_write_beside(path, blob), path)
    _flush(path.parent)


def _write_beside(path: Path, blob: bytes) -> Path:
    """The content under another name in the same folder, on the disk; readable by whom new files are."""
    temporary = path.parent / f".writing-{uuid4().hex}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(blob)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
