"""The inline driver: advance, wait for people, again, until the evaluation stops.

For demos and short runs with somebody watching. It holds no state: interrupt it at any time and run it
again, here or elsewhere, or leave the rest to the scheduled sweep.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.estimate import OnRound
from assay.flows.record.standing import Standing
from assay.tasks.desks.protocol import Desk, DeskUnreachable
from assay.tasks.ledger.stores.protocol import Store, StoreUnreachable
from assay.tasks.settings import Settings

_log = logging.getLogger("assay.evaluate")
_GROWTH = 1.5
AWAY = 600.0   # seconds of nothing but unreachable stores or desks after which waiting makes no sense


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait between two looks, and in all. Seconds."""

    first: float              # after something has changed
    longest: float            # after nothing has for a while
    in_all: float | None      # give up waiting (not the evaluation) after this; None: never

    @staticmethod
    def from_settings(in_all: float | None = None) -> "Patience":
        """As the environment has it."""
        settings = Settings()
        return Patience(
            first=settings.poll_first, longest=max(settings.poll_first, settings.poll_longest), in_all=in_all
        )


def drive(
    store: Store,
    evaluation: str,
    desk: Desk | None = None,
    *,
    patience: Patience,
    on_round: OnRound | None = None,
    on_wait: Callable[[Standing], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Standing:
    """Advance until the evaluation is finished or the waiting time is over; returns where it then stands.

    If a store or desk cannot be reached, wait and try again; after ten minutes raise its error.
    """
    started = last_reached = clock()
    wait = patience.first
    before: tuple[object, ...] | None = None
    while True:
        try:
            standing = advance(store, evaluation, desk, on_round=on_round)
            last_reached = clock()
        except (DeskUnreachable, StoreUnreachable) as error:
            if before is None or clock() - last_reached > AWAY:
                raise
            _log.warning("%s; looking again in %.0f s", error, wait)
        else:
            if standing.state == "finished":
                return standing
            if on_wait:
                on_wait(standing)
            if patience.in_all is not None and clock() - started + wait > patience.in_all:
                return standing
            now = (standing.rounds, standing.waiting_for)
            if now != before:
                wait, before = patience.first, now
        sleep(wait)
        wait = min(wait * _GROWTH, patience.longest)
