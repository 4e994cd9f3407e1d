"""A file that appears whole or not at all, and only once."""

import os
from pathlib import Path
from uuid import uuid4

from assay.tasks.operating_system import flush_folder, write_durably


def create_exclusively(path: Path, blob: bytes) -> bool:
    """Create the file with all of its content, durably; False if the name is taken. OSError otherwise.

    Written under another name, then linked: a link fails if the name exists, where a rename would overwrite.
    """
    temporary = path.with_name(f".writing-{uuid4().hex}")
    try:
        write_durably(temporary, blob, read_only=False)
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    flush_folder(path.parent)
    return True
