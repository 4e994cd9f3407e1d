"""The rows of a labels.parquet: one for each item a round asked, in the order of the plan.

Closing a round and verifying it make these rows by the same function from the same values, so `verify` only
has to compare.
"""

from collections.abc import Collection, Mapping, Sequence

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.decisions import Decision
from assay.tasks.ledger.rounds.answers import digests_by_item
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound


def label_rows(
    planned: PlannedRound, decisions: Mapping[str, Decision], answers: Sequence[Annotation],
    asked_twice: Collection[str],
) -> list[Decided]:
    """What every item of a round came to.

    decisions     of the items people were asked about; a label bought by an earlier evaluation needs none
    answers       the answers they rest on
    asked_twice   items that were asked twice
    """
    digests = digests_by_item(answers)
    return [
        _reused_row(planned, t) if t in planned.inherited else label_row(
            planned, t, decisions[planned.item_id[t]], digests.get(planned.item_id[t], ()),
            asked_twice=planned.item_id[t] in asked_twice,
        )
        for t in planned.asked()
    ]


def label_row(
    planned: PlannedRound, t: int, decision: Decision, annotations: tuple[str, ...], *, asked_twice: bool
) -> Decided:
    """What the item of draw t came to; annotations: names of the answers about it."""
    return Decided(
        item_id=planned.item_id[t], cell=int(planned.plan.cell[t]), rank=int(planned.plan.rank[t]),
        label=decision.label, reason=decision.reason, annotations=annotations,
        askings=2 if asked_twice else 1, share=decision.share,
    )


def _reused_row(planned: PlannedRound, t: int) -> Decided:
    """An item that showed the same before, under the same id: its label stands, and nobody is asked."""
    return Decided(
        item_id=planned.item_id[t], cell=int(planned.plan.cell[t]), rank=int(planned.plan.rank[t]),
        label=planned.inherited[t], reason="reused", annotations=(),
    )


def gold_answers(gold: Collection[str], answers: Sequence[Annotation]) -> dict[str, tuple[str, ...]]:
    """Gold item -> names of the answers about it, where there are any."""
    digests = digests_by_item(answers)
    return {item_id: digests[item_id] for item_id in sorted(gold) if item_id in digests}
