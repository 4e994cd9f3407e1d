"""Calls to a desk, as effects: retried where a repeat is harmless, and never where it is not."""

from collections.abc import Sequence

from assay.tasks.desks.protocol import Batch, Collected, Desk, Item
from assay.tasks.effects.calls import effect, retried


@effect("prepare-desk")
def prepare_desk(desk: Desk) -> None:
    """See Desk.prepare."""
    desk.prepare()


@effect("post-items", retries=0)
def post_items(desk: Desk, batch: Batch, items: Sequence[Item]) -> None:
    """See Desk.post. One attempt: its reply may be lost, and a second one could make copies."""
    desk.post(batch, items)


@effect("collect-answers")
def collect_answers(desk: Desk, batch: Batch) -> Collected:
    """See Desk.collect."""
    return desk.collect(batch)


@effect("request-more-answers")
def request_more(desk: Desk, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
    """See Desk.request_more."""
    desk.request_more(batch, item_ids, annotators)


@retried
def missing_items(desk: Desk, batch: Batch) -> list[Item]:
    """See Desk.missing."""
    return desk.missing(batch)
