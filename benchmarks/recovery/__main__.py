"""The recovery suite: `python -m benchmarks.recovery PART`, with tests/ on the path (see the Makefile).

    kills     processes of `assay run`, of a monitor and of sweeps, killed with SIGKILL until so many deaths
              are reached, in several places (see places.py)
    faults    one service fails once, at so many requests of an evaluation, for every kind of fault
    every     a store that is cut off, or fails, at each of its operations, in lives of every kind
    turns     version 1.0.0 and this one take turns on one ledger
    fuzz      stored bytes changed at random, key by key
    away      Prefect's API is away for an hour
    schedules Prefect is down for a day, and a schedule is paused; with servers of this version and another
    many      sweeps over many open evaluations
    page      docs/measured/recovery.md, from the results so far

Everything tried is one line of the results (--results), so that a part can be run again or go on later.
"""

import argparse
import json
import logging
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.pages import read_page, write_page
from benchmarks.recovery.page import page
from benchmarks.recovery.places import PLACES, label_studio_of, s3_of, share_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / ".cache" / "recovery.jsonl"
PAGE = ROOT / "docs" / "measured" / "recovery.md"
PORTION = 2_000     # changes of stored bytes in one portion of the results
MOST_KILLS = 12     # of one evaluation, so that many evaluations are killed


def main(arguments: list[str] | None = None) -> int:
    """Run one part of the suite; 0 if nothing was lost, doubled or wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery", description=__doc__)
    parser.add_argument("part", choices=[
        "kills", "faults", "every", "turns", "fuzz", "away", "schedules", "many", "page",
    ])
    parser.add_argument("--kills", type=int, default=30, help="processes to kill in all")
    parser.add_argument("--places", default=",".join(PLACES), help="where they are killed (see places.py)")
    parser.add_argument("--times", type=int, default=3, help="requests at which each fault is tried")
    parser.add_argument("--services", default="disk,s3,label-studio,prefect", help="of `faults` and `many`")
    parser.add_argument("--evaluations", type=int, default=200, help="of `many`")
    parser.add_argument("--slice", type=int, default=1, help="of `every`: one in so many operations")
    parser.add_argument("--mutations", type=int, default=20_000, help="of `fuzz`")
    parser.add_argument("--minutes", type=float, default=60.0, help="of `away`")
    parser.add_argument("--server", default=sys.executable, metavar="PYTHON",
                        help="of `schedules`: of an environment with the server's version of Prefect")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args(arguments)
    chosen.results.parent.mkdir(parents=True, exist_ok=True)
    if chosen.part == "page":
        earlier = read_page(chosen.page) if chosen.page.exists() else ""
        write_page(chosen.page, page(_read(chosen.results), earlier))
        return 0
    results = _results(chosen)
    wrong = 0
    for line, text in results:
        with chosen.results.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(line) + "\n")
        wrong += not line.pop("well", True)
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    return 1 if wrong else 0


def _results(chosen: argparse.Namespace) -> Iterator[tuple[dict[str, Any], str]]:
    if chosen.part == "kills":
        return run_kills(chosen.kills, chosen.seed, chosen.places.split(","), chosen.results)
    if chosen.part == "every":
        return run_every(chosen.slice, chosen.results)
    if chosen.part == "turns":
        return run_turns(set(chosen.services.split(",")))
    if chosen.part == "fuzz":
        return run_fuzz(chosen.mutations, chosen.seed, chosen.results)
    if chosen.part == "away":
        return run_away(chosen.minutes)
    if chosen.part == "schedules":
        return run_schedules(chosen.server)
    if chosen.part == "many":
        return run_many(chosen.evaluations, set(chosen.services.split(",")))
    return run_faults(chosen.times, chosen.seed, set(chosen.services.split(",")))


def run_kills(
    kills: int, seed: int, places: list[str], results: Path
) -> Iterator[tuple[dict[str, Any], str]]:
    """Until so many processes were killed in all, those of the results so far included.

    Each evaluation, or monitor, is checked when it is done. Every place has its share of the kills.
    """
    before = [one for one in _read(results) if one["part"] == "kills"]
    for name in places:
        done = [one for one in before if one["place"] == name]
        due, count = share_of(name, kills), sum(len(one["kills"]) for one in done)
        if count >= due:
            continue
        with _folder() as folder, ExitStack() as running:
            survive = PLACES[name].open(folder, seed + len(done), running)
            number = len(done)
            while count < due:
                survivor = survive(number, min(due - count, MOST_KILLS))
                number, count = number + 1, count + len(survivor.kills)
                well = survivor.as_if_nothing_had_happened
                yield {"part": "kills", "place": name, "seed": seed, "well": well, **asdict(survivor)}, (
                    f"{name} {number}: {count} of {due} kills, {len(survivor.kills)} in this one, "
                    f"{survivor.seconds:.0f} s; {'as if nothing had happened' if well else survivor}"
                )


def _read(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def run_faults(times: int, seed: int, services: set[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every kind of fault, at so many requests."""
    import assay.tasks.desks.label_studio.api
    import assay.tasks.effects

    assay.tasks.effects.FIRST_WAIT = 0.01   # retries as in production, without the pauses
    assay.tasks.desks.replies.FIRST_PAUSE = 0.1
    for trial in _trials(times, random.Random(seed), services):
        well = trial.as_if_nothing_had_happened
        outcome = trial.happened if well else trial
        yield {"part": "faults", "well": well, **asdict(trial)}, (
            f"{trial.kind.service} {trial.kind.fault}: {outcome if trial.injected else 'never met'}"
        )


def _trials(times: int, draw: random.Random, services: set[str]) -> Iterator[Any]:
    from benchmarks.recovery import desk_faults, store_faults
    from benchmarks.recovery.prefect_faults import PrefectStage

    with _folder() as folder:
        if "disk" in services:
            disk = store_faults.DiskStage(folder / "disk")
            for n in range(4 * times):
                yield disk.trial(share=(n + draw.random()) / (4 * times) * 0.95)
        if "s3" in services:
            with s3_of(folder) as s3, store_faults.s3_stage(folder / "store", s3) as store:
                for name in store_faults.ANY_REQUEST:
                    for at in store.positions(name, times, draw):
                        yield store.trial(name, at)
                for name in ("answers 500", "answers 503 SlowDown"):
                    for at in store.positions(name, times, draw):
                        yield store.trial(name, at, stays=True)
        if "label-studio" in services:
            with label_studio_of() as server, desk_faults.desk_stage(folder / "desk", server) as desk:
                for name in desk_faults.ANY_REQUEST:
                    for at in desk.positions(times, draw):
                        yield desk.trial(name, at)
                for _ in range(times):
                    yield desk.late_commit()
                    yield desk.later_commit()
                    yield desk.deleted_project()
                for _ in range(times):
                    yield desk.restart(draw)
        if "prefect" in services:
            prefect = PrefectStage(folder / "prefect")
            for _ in range(times):
                yield prefect.trial(draw)


def run_every(slice_of: int, results: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Every life, killed and failing at each operation, or at one in so many; what is done is left out."""
    import assay.tasks.effects
    from benchmarks.recovery.every_operation import studied_lives

    assay.tasks.effects.FIRST_WAIT = 0.0   # retries as in production, without the pauses
    logging.disable(logging.WARNING)       # a line for each retry
    done = {(line["life"], line["how"]) for line in _read(results) if line["part"] == "every"}
    with _folder() as folder:
        for studied in studied_lives(folder, slice_of, done):
            yield {"part": "every", "well": not studied.wrong, **asdict(studied)}, (
                f"{studied.life}, {studied.how}: {studied.tried} of {studied.operations}; "
                f"{studied.wrong[:3] or 'the same end'}"
            )


def run_turns(services: set[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Two versions on one ledger, in a folder and on S3."""
    from benchmarks.recovery.two_versions import take_turns

    with _folder() as folder, ExitStack() as running:
        places = {"folder": lambda name: str(folder / "stores" / name)}
        if "s3" in services:
            s3 = running.enter_context(s3_of(folder))
            os.environ.update(s3.environment)
            places["S3"] = s3.new_url
        for where, new_store in places.items():
            for one in take_turns(folder / where, where, new_store):
                yield {"part": "turns", "well": one.well, **asdict(one)}, str(one)


def run_away(minutes: float) -> Iterator[tuple[dict[str, Any], str]]:
    """Prefect's API is away for so many minutes, and comes back."""
    from benchmarks.recovery.prefect_away import away

    with _folder() as folder:
        outage = away(folder, minutes)
        yield {"part": "away", "well": outage.well, **asdict(outage)}, str(outage)


def run_schedules(server: str) -> Iterator[tuple[dict[str, Any], str]]:
    """A schedule that is a day late, and one that is paused; server: the interpreter of its environment."""
    from benchmarks.recovery.prefect_schedules import tried

    with _folder() as folder:
        scheduled = tried(folder, server)
        yield {"part": "schedules", "well": scheduled.well, **asdict(scheduled)}, str(scheduled)


def run_fuzz(mutations: int, seed: int, results: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """So many changes of stored bytes, in portions; those that are done are left out."""
    import assay.tasks.effects
    from benchmarks.recovery.fuzz import fuzz

    assay.tasks.effects.FIRST_WAIT = 0.0
    logging.disable(logging.ERROR)         # a line for each change that a run of a monitor meets
    done = {line["seed"] for line in _read(results) if line["part"] == "fuzz"}
    for number in range(-(-mutations // PORTION)):
        if seed + number in done:
            continue
        with _folder() as folder:
            found = fuzz(folder, min(PORTION, mutations - number * PORTION), seed + number)
        yield {"part": "fuzz", "seed": seed + number, "well": not found.wrong, **asdict(found)}, (
            f"{sum(found.tried.values())} changes of {len(found.tried)} kinds of keys: {found.named} named, "
            f"{found.harmless} harmless; {found.wrong[:3] or 'nothing else'}"
        )


def run_many(evaluations: int, services: set[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Sweeps over so many open evaluations, on a folder and on S3."""
    from benchmarks.recovery.many import measured_sweeps

    with _folder() as folder, ExitStack() as running:
        stores = {}
        if "disk" in services:
            stores["local folder"] = str(folder / "ledger")
        if "s3" in services:
            s3 = running.enter_context(s3_of(folder))
            os.environ.update(s3.environment)
            stores["S3"] = s3.new_url("many")
        for name, where in stores.items():
            for line in measured_sweeps(folder / name.replace(" ", "-"), where, evaluations):
                yield {"part": "many", "store": name, **line}, f"{name}: {line}"


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-recovery-") as folder:
        yield Path(folder)


if __name__ == "__main__":
    raise SystemExit(main())
