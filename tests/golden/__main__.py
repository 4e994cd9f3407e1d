"""Make golden.json again, on purpose: `PYTHONPATH=tests python -m golden`, and say in the commit why."""

import json
import tempfile
from pathlib import Path

from golden.cases import cases
from golden.platform_tag import platform_tag
from threadpoolctl import threadpool_limits

GOLDEN = Path(__file__).with_name("golden.json")


def main() -> None:
    """Run every case and write what came out."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=1):
        answers = {name: case() for name, case in cases(Path(folder)).items()}
    GOLDEN.write_text(json.dumps({"platform": platform_tag(), "cases": answers}, indent=1) + "\n")
    print(f"wrote {len(answers)} cases to {GOLDEN}")


if __name__ == "__main__":
    main()
