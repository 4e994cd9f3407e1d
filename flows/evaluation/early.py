"""Which round is to be closed early, when somebody asks for it."""

import logging

from assay.evalcore.errors import BadInput
from assay.evalcore.plurals import plural
from assay.flows.record.fold import Fold
from assay.tasks.ledger.ending import Ending

_log = logging.getLogger("assay.advance")


class NoRoundToClose(BadInput):
    """A round was to be closed early, and none is open."""


def round_to_close(evaluation: str, folded: Fold, named: int | None) -> int | None:
    """The number of the round to close, which is the open one; None if the round named is closed already.

    named: the round that somebody asked for; None: the open one. Raises NoRoundToClose.
    """
    if named is not None and 1 <= named <= folded.state.round:
        _log.info("%s: round %d is closed already", evaluation, named)
        return None
    if folded.open_round is None:
        raise NoRoundToClose(
            f"evaluation {evaluation!r} has no round open: nobody is being asked anything; run "
            "`assay advance` to plan the next one"
        )
    number = folded.open_round.number
    if named not in (None, number):
        raise NoRoundToClose(f"round {named} of evaluation {evaluation!r} is not open: round {number} is")
    return number


def refuse_unless_closed(evaluation: str, ending: Ending, named: int | None) -> None:
    """For a finished evaluation. Raises NoRoundToClose unless the round named is one of its rounds."""
    if named is None or not 1 <= named <= ending.rounds:
        raise NoRoundToClose(
            f"evaluation {evaluation!r} is finished after {plural(ending.rounds, 'round')}: no round is open"
        )
