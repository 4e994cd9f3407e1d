"""Runs on pools by lot, with the views and the worlds of every look kept in a folder."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.evalcore.measures.registry import usual
from assay.evalcore.randomness import stream
from assay.evalcore.replay.oracle import oracle
from assay.evalcore.replay.pool import prepare
from assay.evalcore.types import Floats
from benchmarks.contenders import REPORT_DRAWS, contender
from benchmarks.interval_trials.label_sets import effective_terms, looks
from benchmarks.interval_trials.view import View, joined, view_of
from benchmarks.interval_trials.worlds import worlds_of
from benchmarks.lottery import Ticket, draw

BUDGETS = (50, 100, 200, 300, 500)
WORLDS_AT = (100, 300)
BATCH, LARGEST, FIRST = 25, 60_000, 5000
CLASSES = ("below 1%", "1 to 10%", "above 10%")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """One pool."""

    pool: int
    kind: str
    group: str                                   # which of CLASSES
    truth: float
    budgets: tuple[int, ...]
    oracle: tuple[float, ...]                    # half-width at each budget
    views: tuple[View, ...]                      # at each budget
    terms: tuple[Floats, ...]                    # effective terms of the design's variance, (R,) each
    worlds: dict[int, list[tuple[Floats, View]]]   # of the first repeats, by budget


def group_of(share: float) -> str:
    """The class of a pool by its share of positives."""
    return CLASSES[int(share >= 0.01) + int(share > 0.1)]


def tickets(each: int) -> Iterator[tuple[int, Ticket]]:
    """The first pools from FIRST on, `each` of a class; without hidden positives.

    Pools above LARGEST items, or with no predicted positive, are left out.
    """
    missing = dict.fromkeys(CLASSES, each)
    index = FIRST
    while any(missing.values()):
        ticket = draw(index)
        group = group_of(float(ticket.pool.label.mean()))
        sized = 2 * BUDGETS[0] < len(ticket.pool.label) <= LARGEST and ticket.pool.prediction.any()
        if sized and ticket.kind != "hidden" and missing[group]:
            missing[group] -= 1
            yield index, ticket
        index += 1


def collect(
    index: int, ticket: Ticket, group: str, repeats: int, *, n_worlds: int = 0, with_worlds: int = 0,
    asked: Sequence[str] = ("f1",), judged: int = 0, budgets: Sequence[int] = BUDGETS,
) -> Result:
    """Run one pool; worlds for the first `with_worlds` repeats.

    asked: the measures asked for, in order; judged: the number of the one that intervals are made for.
    """
    how, measures = contender("recalibrated"), [usual(name) for name in asked]
    measure = measures[judged]
    cells, by_label = prepare(how, ticket.pool)
    budgets = tuple(b for b in budgets if b < 0.9 * cells.n_items)
    best = oracle(measure, cells, by_label)
    rng = stream(11, f"interval trials/{index}")
    views, terms, worlds = [], [], {}
    for look in looks(how, cells, by_label, measures, budgets, repeats=repeats, batch=BATCH, seed=index):
        parts = []
        for part, e in look.state.evidence():
            view, post = view_of(e, measure, judged, REPORT_DRAWS, rng)
            parts.append(view)
            for r in range(part.start, min(part.stop, with_worlds)):
                if look.budget in WORLDS_AT:
                    own = slice(r - part.start, r - part.start + 1)
                    alone = type(post)(**{
                        name: getattr(post, name)[own] for name in type(post).__slots__
                    })
                    worlds.setdefault(look.budget, []).append(
                        worlds_of(look, r, e.rows(own), alone, n_worlds, rng)
                    )
        views.append(joined(parts))
        slope = look.rounds[-1].design.gradient / cells.n_items
        terms.append(effective_terms(look, slope))
    return Result(
        pool=index, kind=ticket.kind, group=group,
        truth=float(measure.of_confusion(ticket.pool.confusion())), budgets=budgets,
        oracle=tuple(best.half_width(b) for b in budgets), views=tuple(views), terms=tuple(terms),
        worlds=worlds,
    )


def load(folder: Path) -> list[Result]:
    """Every pool in the folder."""
    return [pickle.loads(path.read_bytes()) for path in sorted(folder.glob("*.pickle"))]


def save(folder: Path, result: Result) -> None:
    """Keep one pool."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{result.pool}.pickle").write_bytes(pickle.dumps(result))
