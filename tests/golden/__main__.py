"""Record the golden files again, on purpose: `PYTHONPATH=tests python -m golden`, and say in the commit why.

    python -m golden                     all cases; files of others are removed
    python -m golden new                 those that have no file yet
    python -m golden again BEGINNING ...   those whose names begin so
    python -m golden FILE [BEGINNING ...]  to one file elsewhere, those whose names begin so

The same under other kernels of BLAS (`golden.kernels`) tells what follows a rounding.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from golden.answers import plain
from golden.cases import cases
from golden.recordings import FOLDER, record, recordings, write_answers
from threadpoolctl import threadpool_limits


def _answers(wanted: Callable[[str], bool], threads: int | None = 1) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=threads):
        return {name: plain(case()) for name, case in cases(Path(folder)).items() if wanted(name)}


def main(where: str = "", *beginnings: str) -> None:
    """Run the cases and write what came out."""
    if where == "new":
        known = recordings()
        record(_answers(lambda name: name not in known))
    elif where == "again":
        record(_answers(lambda name: name.startswith(beginnings)))
    elif where:
        write_answers(Path(where), _answers(lambda name: name.startswith(beginnings or ""), threads=None))
    else:
        answers = _answers(lambda name: True)
        shutil.rmtree(FOLDER)
        record(answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
