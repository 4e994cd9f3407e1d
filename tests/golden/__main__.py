"""Record the golden files again, on purpose: `PYTHONPATH=tests python -m golden`, and say in the commit why.

    python -m golden                     all cases, in golden.json; files beside it are removed
    python -m golden new                 those that no file has, in the file of this platform
    python -m golden FILE [BEGINNING ...]  to a file elsewhere, those whose names begin so

The same under other kernels of BLAS (`golden.kernels`) tells what follows a rounding.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from golden.answers import plain
from golden.cases import cases
from golden.recordings import FIRST, FOLDER, file_of_this_platform, recordings, write_answers
from threadpoolctl import threadpool_limits


def _answers(wanted: Callable[[str], bool], threads: int | None = 1) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=threads):
        return {name: plain(case()) for name, case in cases(Path(folder)).items() if wanted(name)}


def main(where: str = "", *beginnings: str) -> None:
    """Run the cases and write what came out."""
    if where == "new":
        path, known = file_of_this_platform(), recordings()
        before = json.loads(path.read_text())["cases"] if path.exists() else {}
        write_answers(path, before | _answers(lambda name: name not in known))
    elif where:
        write_answers(Path(where), _answers(lambda name: name.startswith(beginnings or ""), threads=None))
    else:
        write_answers(FIRST, _answers(lambda name: True))
        for other in set(FOLDER.glob("golden*.json")) - {FIRST}:
            other.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
