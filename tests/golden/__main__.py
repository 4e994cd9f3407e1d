"""Make golden.json again, on purpose: `PYTHONPATH=tests python -m golden`, and say in the commit why.

With a path, the answers go there: `python -m golden FILE [BEGINNING]`, those whose names begin so.  The same
under other kernels of BLAS (`golden.kernels`) tells what follows a rounding.
"""

import json
import sys
import tempfile
from pathlib import Path

from golden.answers import plain
from golden.cases import cases
from golden.platform_tag import platform_tag
from threadpoolctl import threadpool_limits

GOLDEN = Path(__file__).with_name("golden.json")


def main(path: Path = GOLDEN, beginning: str = "") -> None:
    """Run every case and write what came out."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=1 if path == GOLDEN else None):
        named = cases(Path(folder))
        answers = {name: plain(case()) for name, case in named.items() if name.startswith(beginning)}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    path.write_text(f'{{"platform": {json.dumps(platform_tag())},\n"cases": {{\n{lines}\n}}}}\n')
    print(f"wrote {len(answers)} cases to {path}")


if __name__ == "__main__":
    main(*(map(Path, sys.argv[1:2])), *sys.argv[2:3])
