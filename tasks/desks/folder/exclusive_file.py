"""Files that appear whole or not at all: created once, or put in place of what was there."""

import os
from pathlib import Path
from uuid import uuid4

from assay.tasks.operating_system import flush_folder, write_durably


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
        temporary.unlink(missing_ok=True)
    flush_folder(path.parent)
    return True


def replace_with(path: Path, blob: bytes) -> None:
    """Put a file with this content under the name, in place of what was there. OSError."""
    os.replace(_write_beside(path, blob), path)
    flush_folder(path.parent)


def _write_beside(path: Path, blob: bytes) -> Path:
    """The content under another name in the same folder, on the disk; readable by whom new files are."""
    temporary = path.with_name(f".writing-{uuid4().hex}")
    try:
        write_durably(temporary, blob, read_only=False)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
