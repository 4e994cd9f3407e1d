"""The plan of a round recomputed: its draws and items, the gold mixed in, which answers are asked again."""

from collections.abc import Iterator

import pyarrow as pa

from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.seen import known_labels
from assay.evalcore.types import Floats
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.ledger.checks.differences import column_differences
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.pool.frozen import FrozenRow, scores_of
from assay.tasks.pool.index import PoolIndex
from assay.tasks.pool.shown import in_digits, shown_hashes

_DRAWN = ("cell", "rank", "ask", "probability")


def draw_differences(stored: RoundPlan, computed: RoundPlan) -> Iterator[str]:
    """The draws, and the design that the plan carries."""
    then, now = ({name: getattr(plan, name) for name in _DRAWN} for plan in (stored, computed))
    yield from column_differences(then, now)
    for text in column_differences(stored.design.to_columns(), computed.design.to_columns()):
        yield f"design carried: {text}"


def item_differences(opened: Opened, index: PoolIndex, folded: Fold, planned: PlannedRound) -> Iterator[str]:
    """Ids, predictions, segments, known labels and shown fields, read again by cell and rank."""
    known = known_labels(folded.state)
    display = opened.spec.pool.display
    for t, row in enumerate(index.rows(planned.plan.cell, planned.plan.rank)):
        asked = bool(planned.plan.ask[t])
        address = (int(planned.plan.cell[t]), int(planned.plan.rank[t]))
        shown = planned.shown[t]
        inherited = opened.label_beforehand(row.item_id, row.shown_hash) if asked else None
        to_show = asked and not opened.all_known
        compared = (
            ("item_id", planned.item_id[t], row.item_id),
            ("prediction", _entry(planned.prediction, t), row.prediction),
            ("probabilities", _row(planned.probabilities, t), row.probabilities),
            ("predictions", _row(planned.predictions, t), row.predictions),
            ("by_system", _row(planned.by_system, t), row.by_system),
            ("judges", _row(planned.judges, t), row.judges),
            ("score", _entry(planned.scores, t), of_curve(row)),
            ("cluster", None if planned.clusters is None else planned.clusters[t], row.cluster),
            ("label", planned.known[t], known.get(address)),
            ("segments", dict(planned.segments[t]), dict(row.segments)),
            ("inherited label", planned.inherited.get(t), inherited),
            ("fields shown", None if shown is None else list(shown), sorted(display) if to_show else None),
        )
        for what, stored, computed in compared:
            if stored != computed:
                yield f"draw {t}: {what} is {stored!r}, recomputed {computed!r}"
        if shown and set(shown) == set(display):
            fields = [pa.array([shown[field]], pa.string()) for field in display]
            [hashed] = in_digits(shown_hashes(pa.array([row.item_id], pa.string()), fields))
            if hashed != row.shown_hash:
                yield f"draw {t}: what was shown of {row.item_id!r} is not what was frozen"


def _entry(values: Floats | None, t: int) -> float | None:
    return None if values is None else float(values[t])


def _row(table: Floats | None, t: int) -> tuple[float, ...] | None:
    return None if table is None else tuple(table[t].tolist())


def of_curve(row: FrozenRow) -> float | None:
    """The score of an item that a plan has to hold."""
    found = scores_of([row])
    return None if found is None else float(found[0])


def people_differences(
    opened: Opened, annotating: Annotating, folded: Fold, planned: PlannedRound
) -> Iterator[str]:
    """The gold mixed in, and the answers to be asked again."""
    asked = [planned.item_id[t] for t in planned.to_people()]
    if planned.gold != (gold := annotating.choose(folded, asked)):
        yield f"the gold mixed in is {planned.gold!r}, recomputed {gold!r}"
    if planned.again != annotating.surprises(folded, planned):
        yield "the answers to be asked again are not those recomputed"
    alone = opened.spec.desk.again.when == "always"
    if planned.again_alone != alone:
        yield f"answers are asked again of a single person: {planned.again_alone}, the spec has {alone}"
