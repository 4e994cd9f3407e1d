"""The desk at which a program answers, as the faces open it: Python, and HTTP (`flows.listen.desk`)."""

from collections.abc import Mapping
from typing import TypeVar

from assay.evalcore.errors import BadInput
from assay.flows.record.opened import desk_of
from assay.tasks.desks.blind import BlindDesk
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.evaluation import Spec

AnswerT = TypeVar("AnswerT")


def caller_desk(store: Store, spec: Spec) -> CallerDesk:
    """The desk of an evaluation whose items a program asks for. Raises BadInput where people answer at
    another kind of desk. A desk that shuffles systems for blind comparison is looked through."""
    desk = desk_of(store, spec)
    desk = desk.desk if isinstance(desk, BlindDesk) else desk
    if not isinstance(desk, CallerDesk):
        raise BadInput(
            f"evaluation {spec.name!r} asks people at its desk ({spec.desk.kind}); to ask and tell begin one "
            "with desk: {kind: caller}"
        )
    return desk


def by_side(spec: Spec, answers: Mapping[str, AnswerT]) -> dict[str, AnswerT]:
    """The answers as the desk takes them, by item: where two answers are compared, the name of one becomes
    the side on which the item shows it (A or B); everything else stays."""
    pair = spec.labelling.pair
    if pair is None:
        return dict(answers)
    return {item: pair.side(item, answer) for item, answer in answers.items()}
