"""What a spec demands that asks for the best of several systems, or whose rows are of one system each."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.best_of import pairs_of
from assay.evalcore.measures.contenders import of_contender
from assay.evalcore.measures.measure import OutcomeMeasure, side_by_side
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.questions import SeveralQuestions
from assay.tasks.spec.pool import Contenders

if TYPE_CHECKING:
    from assay.tasks.spec.consistency import WholeSpec

# methods whose cells keep the rows of each system apart; and those whose draws race, the first ones
RACING = ("auto", "recalibrated", "guesses")
BY_CONTENDER = (*RACING, "passive", "stratified", "stratified-neyman")

Problem = tuple[str, str]


def contradictions_of_best(spec: "WholeSpec") -> Iterator[Problem]:
    """(key, what is wrong with it) for each; nothing where neither is asked for."""
    pool, target = spec.pool, spec.target
    if pool.contenders is None and target.best_of is None:
        return
    key = "target.best_of" if target.best_of is not None else "pool.contenders"
    kind = spec.labels.outcome
    if spec.of_monitor:
        yield key, "is of an evaluation: a monitor watches values against a limit; leave it out"
        return
    if kind is None or isinstance(kind, SeveralQuestions):
        yield key, "needs several systems, and one question with labels: {classes: [...]} or {grades: [...]}"
        return
    if spec.warm_start is not None:
        yield "warm_start", f"teaches a model of one system, and `{key}` is of several; leave it out"
    if pool.contenders is not None:
        yield from _of_contenders(spec, pool.contenders, kind)
    if target.best_of is not None:
        yield from _of_best(spec, kind)


def _of_contenders(spec: "WholeSpec", rows: Contenders, kind: OutcomeKind) -> Iterator[Problem]:
    pool = spec.pool
    if pool.systems is not None or pool.thresholds is not None:
        yield "pool.contenders", "says that a row is of one system, and `systems` that it is of all; keep one"
    two = spec.labels.two_answers is not None
    if two != (len(rows.columns) == 2):
        yield "pool.contenders.columns", (
            "names one column, and `prefer` compares two answers; name the system of each, in order" if two
            else "names two columns, and only labels: {prefer: [...]} compare two answers; name one"
        )
    for column in rows.columns:
        if column in spec.pool.display:
            yield "pool.display", f"names {column!r}, which says whose answer it is; people must not see it"
    for i, choice in enumerate(spec.measure):
        if two and choice.name != "win_rate":
            yield f"measure[{i}]", "of comparisons between several systems is win_rate; leave others out"
        try:
            of_contender(choice.outcome_measure(kind, 1), 0)
        except BadInput as error:
            yield f"measure[{i}]", str(error)
    if not kind.parts and not all(map(isfinite, kind.value_range)):
        yield "labels.number", "needs `min` and `max` where rows are of one system each"
    if pool.segments:
        yield "pool.segments", "are not told apart by system so far; leave them out, or begin one for each"
    if "guaranteed=true" in spec.method:
        yield "interval", "cannot be guaranteed of one system's rows; leave it out"
    elif spec.method.partition(":")[0] not in BY_CONTENDER:
        yield "method", (f"is {spec.method!r}, whose cells mix the rows of systems; use "
                         f"{', '.join(BY_CONTENDER[:-1])} or {BY_CONTENDER[-1]}")


def _of_best(spec: "WholeSpec", kind: OutcomeKind) -> Iterator[Problem]:
    names, rows = spec.pool.system_names, spec.pool.contenders
    if len(names) < 2:
        yield "target.best_of", "needs several systems: name them under pool.systems, or pool.contenders"
        return
    plain, _, settings = spec.method.partition(":")
    if plain not in BY_CONTENDER or settings not in ("", "guaranteed=true"):
        yield "method", (f"is {spec.method!r}, whose labels do not race and whose looks are not counted; use "
                         f"{', '.join(BY_CONTENDER[:-1])} or {BY_CONTENDER[-1]}")
    if spec.about == "population":
        yield "about", "is 'population', and the best is named of the pool's items; leave one of the two out"
    if spec.drive is not None:
        yield "drive", "is for estimates; where the best of several systems is asked for, their race drives"
    lead = spec.measure[0]
    try:
        by_system = [
            lead.outcome_measure(kind, 1, s) if rows is None
            else of_contender(lead.outcome_measure(kind, 1), s)
            for s in range(len(names))
        ]
    except BadInput as error:
        if rows is None:     # of rows of systems `_of_contenders` says it
            yield "measure[0]", str(error)
        return
    try:
        pairs_of(every_pair(by_system))
    except BadInput as error:
        yield "measure[0]", str(error)


def every_pair(by_system: Sequence[OutcomeMeasure]) -> tuple[OutcomeMeasure, ...]:
    """One measure of every system, and the difference of every two."""
    return side_by_side([by_system], all_pairs=True)
