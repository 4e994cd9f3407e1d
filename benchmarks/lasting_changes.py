"""Signals on ordinary, cut, collapsed and lastingly changed windows: `python -m benchmarks.lasting_changes`.

Streams of 30 windows of about 1,000 predictions, F1 of a positive class. The rule of today learns from
windows in which a signal was not raised; the rule before learned from all of them. Writes
docs/measured/monitoring-unusual.csv and its section of docs/measured/monitoring.md.
"""

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.profile import Profile, Traffic, profile_of
from assay.evalcore.monitoring.signals import Watched, signals
from assay.evalcore.reproducible import stream
from benchmarks.pages import read_page, write_page

FOLDER = Path(__file__).parent.parent / "docs" / "measured"
PAGE, TABLE = FOLDER / "monitoring.md", FOLDER / "monitoring-unusual.csv"
HEADING = "## Unusual windows"
WINDOWS, CHANGED, RATE, FEWEST = 30, 20, 0.01, 5
F1 = measure("f1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A stream; what is looked for in it, from window CHANGED on."""

    name: str
    window: Callable[[int, np.random.Generator], Traffic]
    signal: str      # that should be raised; nothing where none should


def ordinary(rng: np.random.Generator, shift: float = 0.0, share: float = 1.0) -> Traffic:
    """Scores of a normal population, calibrated probabilities."""
    n = int(rng.poisson(1000 * share))
    score = rng.standard_normal(n) + shift
    p = 1 / (1 + np.exp(-2 * score))
    return Traffic(score=score, probability=p, prediction=(p > 0.5).astype(int))


def moving(_: int, rng: np.random.Generator) -> Traffic:
    """Traffic that moves from window to window."""
    return ordinary(rng, 0.3 * float(rng.standard_normal()))


def lasting(k: int, rng: np.random.Generator) -> Traffic:
    """Scores that are higher by a standard deviation from window CHANGED on."""
    return ordinary(rng, 1.0 if k >= CHANGED else 0.0)


def after_an_outlier(k: int, rng: np.random.Generator) -> Traffic:
    """One unusual window, and a smaller change that lasts ten windows later."""
    return ordinary(rng, 2.0 if k == CHANGED - 10 else 0.5 if k >= CHANGED else 0.0)


def cut(k: int, rng: np.random.Generator) -> Traffic:
    """A file that was cut: 40% of its rows are there."""
    return ordinary(rng, share=0.4 if k == CHANGED else 1.0)


def collapsed(k: int, rng: np.random.Generator) -> Traffic:
    """No positive is predicted any more."""
    made = ordinary(rng)
    return replace(made, prediction=np.zeros(len(made.score), int)) if k >= CHANGED else made


SCENARIOS = (
    Scenario(name="nothing changes", window=lambda _, rng: ordinary(rng), signal=""),
    Scenario(name="nothing changes, and traffic moves", window=moving, signal=""),
    Scenario(name="scores rise by a standard deviation, and stay", window=lasting, signal="psi"),
    Scenario(name="by half of one, ten windows after an outlier", window=after_an_outlier, signal="psi"),
    Scenario(name="a file is cut to 40%", window=cut, signal="rows"),
    Scenario(name="no positive is predicted any more", window=collapsed, signal="collapse"),
)


def raised_in(profiles: list[Profile], *, learns_from_all: bool) -> list[frozenset[str]]:
    """The signals raised in each window of a stream, in order."""
    watched: list[Watched] = []
    found = []
    for profile in profiles:
        new = Watched(profile=profile)
        names = frozenset(
            one.name for one in signals([*watched, new], rate=RATE, fewest=FEWEST) if one.raised
        )
        found.append(names)
        watched.append(replace(new, apart=frozenset() if learns_from_all else names))
    return found


def measured(scenario: Scenario, repeats: int) -> list[dict[str, str | float]]:
    """A row for each rule."""
    seen: dict[bool, list[list[frozenset[str]]]] = {True: [], False: []}
    for r in range(repeats):
        rng = stream(51, scenario.name, r, "windows")
        traffics = [scenario.window(k, rng) for k in range(WINDOWS)]
        first = profile_of(traffics[0], F1)
        profiles = [profile_of(one, F1, first) for one in traffics]
        for rule in seen:
            seen[rule].append(raised_in(profiles, learns_from_all=rule))
    rows = []
    for rule, streams in seen.items():
        quiet = [bool(names) for one in streams for names in one[FEWEST + 1:CHANGED]]
        row: dict[str, str | float] = {
            "stream": scenario.name, "learns from": "all windows" if rule else "ordinary windows",
            "streams": repeats, "signal": scenario.signal or "any",
            "any raised before": round(float(np.mean(quiet)), 4),
        }
        for title, k in (("first window", CHANGED), ("second", CHANGED + 1), ("tenth", CHANGED + 9)):
            hits = [bool(one[k]) if not scenario.signal else scenario.signal in one[k] for one in streams]
            row[title] = round(float(np.mean(hits)), 4)
        rows.append(row)
    return rows


def section(rows: list[dict[str, str | float]], repeats: int) -> str:
    """The section of the page."""
    names = list(rows[0])
    table = "\n".join([
        "| " + " | ".join(names) + " |", "|" + " --- |" * len(names),
        *("| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows),
    ])
    return f"""{HEADING}

Made by `python -m benchmarks.lasting_changes`: {repeats} streams of {WINDOWS} windows of about 1,000
predictions, `signal_rate` {RATE}, a change in window {CHANGED + 1}. Last: the share of streams whose signal
is raised in its first, second and tenth window. [As CSV](monitoring-unusual.csv).

{table}

A file that was cut is one window, so nothing is raised after it. Where traffic moves by 0.3 of a standard
deviation from window to window, ordinary windows are raised less often than `signal_rate`.
"""


def main() -> None:
    """Measure, and write table and section."""
    parser = argparse.ArgumentParser(description="Signals on unusual windows.")
    parser.add_argument("--repeats", type=int, default=400)
    repeats = parser.parse_args().repeats
    rows = [row for scenario in SCENARIOS for row in measured(scenario, repeats)]
    with TABLE.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    before = read_page(PAGE).partition(f"\n{HEADING}\n")[0].rstrip()
    write_page(PAGE, f"{before}\n\n{section(rows, repeats)}")


if __name__ == "__main__":
    main()
