"""Two versions take turns on one ledger: 1.0.0, from its commit in a folder of its own, and the code of here.

An evaluation at a folder desk, of five rounds, with an extension and a revision; the same, whose method is
left to `auto`; and a monitor of five windows with an amendment and a mute, which tells of signals.  The
versions take every other step, each in a process of its own, and either begins.  At the end the estimates,
labels and verdicts must be those of this version alone (of `auto`, which another version chooses otherwise:
its end, labels and rounds), and `verify` of this version must find nothing; what `verify` of 1.0.0 says is
written down.  Monitors of 1.0.0 cannot judge what rests on a window that this version judged: they name the
window and go on, and the next turn of this version judges it ("this, twice").
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VERSION_1_0_0 = ("v1.0.0", "176743d9")      # its tag, and its commit where there is no tag
PROGRAM = Path(__file__).with_name("a_turn.py")
STEPS = ("begin", *("advance",) * 5, "extend", *("advance",) * 3, "change", "look", "look")
OF_MONITOR = ("register", "tick 1", "tick 2", "amend", "tick 3", "mute", "tick 4", "tick 5", "tick 5")

_COMPUTED_OTHERWISE = re.compile(r"[^:]+/(rounds|revisions)/[0-9]+/estimate\.json: estimates\[.*recomputed")


@dataclass(slots=True, kw_only=True)
class Turns:
    """What came of one ledger."""

    what: str
    where: str
    first: str                     # the version of the first turn
    steps: int
    as_alone: bool                 # the outcome is that of this version alone
    named: list[str] = field(default_factory=list)           # by this version's `verify`; but for
    computed_otherwise: int = 0    # estimates of 1.0.0 in an evaluation that this version began
    named_by_earlier: list[str] = field(default_factory=list)     # by that of 1.0.0

    @property
    def well(self) -> bool:
        """Whether nothing differs and nothing is named."""
        return self.as_alone and not self.named


def code_of(names: tuple[str, ...], folder: Path) -> Path:
    """The files of the first of these tags and commits that there is, in a folder of their own."""
    known = [name for name in names if not subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], cwd=ROOT, stdout=subprocess.DEVNULL
    ).returncode]
    if not known:
        raise FileNotFoundError(f"{ROOT} is no clone that has {' or '.join(names)}: fetch the history")
    commit = known[0]
    folder.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return folder


class Version:
    """A process of one version, which does what it is told. A context manager."""

    def __init__(self, code: Path) -> None:
        self.code = code

    def __enter__(self) -> "Version":
        environment = {**os.environ, "PYTHONPATH": str(self.code)}
        environment.pop("ASSAY_STORE", None)
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], env=environment, cwd=self.code, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def does(self, store: str, folder: Path, step: str) -> Any:
        """What a step came to. Raises RuntimeError where the process ended."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write(json.dumps([store, str(folder), step]) + "\n")
        asked.flush()
        line = told.readline()
        if not line:
            raise RuntimeError(f"{step}, by the code in {self.code}: it ended with {self._process.wait()}")
        return json.loads(line)


def take_turns(folder: Path, where: str, new_store: Callable[[str], str]) -> list[Turns]:
    """Every ledger, with either version first; new_store: the address of a store of this name."""
    found = []
    with Version(code_of(VERSION_1_0_0, folder / "1.0.0")) as earlier, Version(ROOT) as this:
        for version in (earlier, this):
            if not Path(version.does("", folder, "where")).is_relative_to(version.code):
                raise RuntimeError(f"the code that runs is not that in {version.code}")
        for what, steps in (("evaluation", STEPS), ("auto", STEPS), ("monitor", OF_MONITOR)):
            alone = _outcome(folder / f"{what}-alone", new_store(f"{what}-alone"), what, steps, [this], this)
            orders = {"1.0.0": [earlier, this], "this": [this, earlier], "this, twice": [this, this, earlier]}
            for first, versions in orders.items():
                name = re.sub("[^a-z0-9]+", "-", f"{what}-{first}-first")
                here, store = folder / name, new_store(name)
                outcome = _outcome(here, store, what, steps, versions, this)
                differences = this.does(store, here, f"verify {what}")
                otherwise = [text for text in differences if _COMPUTED_OTHERWISE.match(text)]
                found.append(Turns(
                    what=what, where=where, first=first, steps=len(steps), as_alone=outcome == alone,
                    named=[text for text in differences if text not in otherwise],
                    computed_otherwise=len(otherwise),
                    named_by_earlier=earlier.does(store, here, f"verify {what}"),
                ))
    return found


def _outcome(
    folder: Path, store: str, what: str, steps: tuple[str, ...], versions: list[Version], last: Version
) -> Any:
    folder.mkdir(parents=True)
    (folder / "specs.json").write_text(json.dumps(_write(folder, what)))
    for turn, step in enumerate(steps):
        versions[turn % len(versions)].does(store, folder, step)
    # this version comes last, as it does where somebody has moved on to it
    last.does(store, folder, steps[-1])
    return last.does(store, folder, f"outcome {what}")


def _write(folder: Path, what: str) -> Mapping[str, Any]:
    """The files of an evaluation and of a monitor; their specs."""
    from doubles.small_pool import spec_json, write_small_pool
    from doubles.stream import monitor_data, write_stream

    predictions, labels = write_small_pool(folder, n=60)
    evaluation = spec_json(
        predictions, labels, n=60, budget={"labels": 9}, batch_size=3, limit={"min": 0.2},
        desk={"kind": "folder", "path": str(folder / "desk"), "ask_again": False},
        method="auto" if what == "auto" else "passive",
    )
    for key in ("n", "target"):
        evaluation.pop(key, None)
    evaluation["pool"].pop("segments", None)     # 1.0.0 refuses what this version says of them
    write_stream(folder / "stream", 5, drop_from=3, worse=0.45, items=80)
    monitor = monitor_data(folder / "stream", quiet_labels=20, follow_ups=1)
    monitor["alerts"] = {"tell": ["breach", "recovery", "missing"]}
    return {"evaluation": evaluation, "monitor": {**monitor, "budget": {"labels": 40}, "batch_size": 20}}
