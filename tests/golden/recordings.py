"""The golden files: answers recorded before, each with the platform that recorded it.

`golden.json` has most of them.  Cases that came later are in files beside it, one a platform: recorded on
another one than the others, they are held to the last bit there.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden.platform_tag import platform_tag

FOLDER = Path(__file__).parent
FIRST = FOLDER / "golden.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The answer of one case."""

    platform: dict[str, Any]
    answer: Any


def recordings() -> dict[str, Recording]:
    """Every recorded case by name."""
    found: dict[str, Recording] = {}
    for path in sorted(FOLDER.glob("golden*.json")):
        kept = json.loads(path.read_text())
        twice = set(kept["cases"]) & set(found)
        assert not twice, f"{path.name} has {sorted(twice)}, which another file has"
        platform = kept["platform"]
        found |= {name: Recording(platform=platform, answer=one) for name, one in kept["cases"].items()}
    return found


def file_of_this_platform() -> Path:
    """Where cases that no file has are recorded here."""
    for path in sorted(FOLDER.glob("golden*.json")):
        if json.loads(path.read_text())["platform"] == platform_tag():
            return path
    named = (f"golden-{platform_tag()['blas'].lower()}{number}.json" for number in ("", *range(2, 10)))
    return next(FOLDER / name for name in named if not (FOLDER / name).exists())


def write_answers(path: Path, answers: dict[str, Any]) -> None:
    """A line for each case, so that a change shows where it is."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    path.write_text(f'{{"platform": {json.dumps(platform_tag())},\n"cases": {{\n{lines}\n}}}}\n')
    print(f"wrote {len(answers)} cases to {path}")
