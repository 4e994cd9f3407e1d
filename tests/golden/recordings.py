"""The golden files: one a case, each an answer recorded before and the name of the platform that recorded it.

A file lies under `recorded/` where its name says; `platforms.json` there has what each platform is.  A case
that was recorded here is held to the last bit here.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden.platform_tag import platform_tag

FOLDER = Path(__file__).parent / "recorded"
_PLATFORMS = FOLDER / "platforms.json"
_WIDTH = 250       # of a line: an array or an estimate has one, and what is longer one for each of its parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The answer of one case."""

    platform: dict[str, Any]
    answer: Any


def recordings() -> dict[str, Recording]:
    """Every recorded case by name."""
    platforms = json.loads(_PLATFORMS.read_text())
    cases = (json.loads(path.read_text()) for path in sorted(FOLDER.rglob("*.json")) if path != _PLATFORMS)
    return {
        case["case"]: Recording(platform=platforms[case["platform"]], answer=case["answer"]) for case in cases
    }


def record(answers: dict[str, Any]) -> None:
    """A file for each case, with the name of this platform."""
    platforms = json.loads(_PLATFORMS.read_text()) if _PLATFORMS.exists() else {}
    tag = platform_tag()
    numbered = (f"{tag['blas'].lower()}{number}" for number in ("", *range(2, 100)))
    here = next(name for name in numbered if platforms.get(name, tag) == tag)
    FOLDER.mkdir(exist_ok=True)
    for name, answer in answers.items():
        path = FOLDER / f"{re.sub(r'[^a-z0-9/]+', '-', name)}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(_lines({"case": name, "platform": here, "answer": answer})) + "\n")
    _PLATFORMS.write_text("".join(_lines(platforms | {here: tag})) + "\n")
    print(f"wrote {len(answers)} cases to {FOLDER}")


def write_answers(path: Path, answers: dict[str, Any]) -> None:
    """All of them in one file elsewhere, to be compared with others."""
    path.write_text(json.dumps({"platform": platform_tag(), "cases": answers}))
    print(f"wrote {len(answers)} cases to {path}")


def _lines(value: Any, before: str = "\n") -> Iterator[str]:
    """JSON with a line for each part of what is too long for one."""
    whole = json.dumps(value)
    if len(before) + len(whole) <= _WIDTH or not isinstance(value, dict | list):
        yield whole
        return
    parts = [(f"{json.dumps(k)}: ", x) for k, x in value.items()] if isinstance(value, dict) else [
        ("", x) for x in value
    ]
    yield whole[0]
    for i, (key, part) in enumerate(parts):
        yield f"{',' if i else ''}{before} {key}"
        yield from _lines(part, f"{before} ")
    yield f"{before}{whole[-1]}"
