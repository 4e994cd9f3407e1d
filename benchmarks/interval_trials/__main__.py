"""Trials of intervals for `recalibrated`: narrower at honest coverage, or not?

    python -m benchmarks.interval_trials --cache .cache/interval-trials

Runs of `recalibrated` on pools by lot from number 5000 on, and on look-alikes of the two pools on which it
falls short, from 5170 on.  The labels stay as they are; only the interval changes.  What the intervals are
made of is kept in the cache, pool by pool, so that a trial is judged in seconds.  Prints the tables that
docs/ideas.md holds.
"""

import argparse
from pathlib import Path

from benchmarks.interval_trials.collect import collect, group_of, load, save, tickets
from benchmarks.interval_trials.look_alikes import DIGITS, look_alikes
from benchmarks.interval_trials.tables import tables

EVERY = ("f1", "accuracy", "precision", "recall", "specificity", "balanced_accuracy", "cohen_kappa", "mcc")
WORLDS = 24


def main() -> None:
    """Run what is not in the cache, and print the tables."""
    parser = argparse.ArgumentParser(description="Trials of intervals.")
    parser.add_argument("--pools", type=int, default=8, help="of each class")
    parser.add_argument("--look-alikes", type=int, default=4, help="of each kind")
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--with-worlds", type=int, default=2, help="repeats that get worlds")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="only print what the cache holds")
    given = parser.parse_args()
    for index, ticket in () if given.show else tickets(given.pools):
        if not (given.cache / f"{index}.pickle").exists():
            group = group_of(float(ticket.pool.label.mean()))
            save(given.cache, collect(
                index, ticket, group, given.repeats, n_worlds=WORLDS, with_worlds=given.with_worlds))
    for index, group, ticket in () if given.show else look_alikes(given.look_alikes):
        if not (given.cache / f"{index}.pickle").exists():
            own = {} if group == DIGITS else {"asked": EVERY, "judged": EVERY.index("specificity")}
            save(given.cache, collect(index, ticket, group, 3 * given.repeats, budgets=(50, 100), **own))
    print(tables(load(given.cache)))


if __name__ == "__main__":
    main()
