"""The recovery suite: `python -m recovery kills --kills 30`, with tests/ on the path (see the Makefile).

    kills     `assay run` as a process, killed with SIGKILL until so many deaths are reached

Every finished evaluation is one line of the results (--results), so that a run can go on later, and the page
docs/recovery.md is written from them: `python -m recovery page`.
"""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_KILLS = 12     # of one evaluation, so that many evaluations are killed
RESULTS = ROOT / ".cache" / "recovery.jsonl"


def main(arguments: list[str] | None = None) -> int:
    """Run one part of the suite; 0 if nothing was lost, doubled or wrong."""
    parser = argparse.ArgumentParser(prog="python -m recovery", description=__doc__)
    parser.add_argument("part", choices=["kills"])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    chosen.results.parent.mkdir(parents=True, exist_ok=True)
    return run_kills(chosen.kills, chosen.seed, chosen.results)


def run_kills(kills: int, seed: int, results: Path) -> int:
    """Evaluations until so many processes were killed; each is checked when it is done."""
    from recovery.kills import VARIANTS, arena
    from services.s3 import s3_server

    from tasks.local_label_studio import LocalLabelStudio

    wrong, done, number = 0, 0, 0
    with (
        tempfile.TemporaryDirectory(prefix="assay-recovery-") as folder,
        s3_server(Path(folder) / "s3") as s3,
        LocalLabelStudio() as label_studio,
    ):
        os.environ.update(s3.environment)
        with arena(Path(folder) / "arena", s3, label_studio, seed) as place:
            while done < kills:
                survivor = place.survive(number % len(VARIANTS), kills=min(kills - done, MOST_KILLS))
                number += 1
                done += len(survivor.kills)
                wrong += not survivor.as_if_nothing_had_happened
                _keep(results, {"part": "kills", "seed": seed, **asdict(survivor)})
                well = survivor.as_if_nothing_had_happened
                _say(f"evaluation {number}: {done} of {kills} kills, {len(survivor.kills)} in this one; "
                     f"{survivor.twins_made} twins; {'as if nothing had happened' if well else survivor}")
    return 1 if wrong else 0


def _keep(results: Path, line: dict[str, object]) -> None:
    with results.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(line) + "\n")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
