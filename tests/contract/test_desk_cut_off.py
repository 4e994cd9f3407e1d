"""A process that dies at any write to a server where people label, before it was done or after: the next one
finds what is there, and everybody is asked everything once."""

from collections.abc import Callable
from typing import Literal

import pytest
from doubles.desks import labelling
from doubles.http_double import HttpDouble, serving
from doubles.langfuse import PUBLIC, SECRET, LangfuseDouble
from doubles.phoenix import PhoenixDouble

from assay.evalcore.annotators.answers import NumberAnswers
from assay.tasks.desks.desk import AmbiguousPost, Batch, Desk, DeskUnreachable, Item
from assay.tasks.desks.langfuse.api import LangfuseApi
from assay.tasks.desks.langfuse.desk import LangfuseDesk
from assay.tasks.desks.phoenix.api import PhoenixApi
from assay.tasks.desks.phoenix.desk import PhoenixDesk

ASKED = labelling(evaluation="june", answers=NumberAnswers(low=0, high=5), display=("text",))
BATCH = Batch(evaluation="june", round=1, items=[
    Item(item_id=str(n), shown={"text": f"text {n}"}) for n in range(3)
])
Opened = Callable[[str], Desk]


def langfuse(url: str) -> Desk:
    return LangfuseDesk(LangfuseApi(url, PUBLIC, SECRET, read_attempts=1), ASKED, annotators_per_item=2)


def phoenix(url: str) -> Desk:
    return PhoenixDesk(PhoenixApi(url, read_attempts=1), ASKED)


def there(double: HttpDouble) -> dict[str, object]:
    """What people see at a server: names, and the traces or spans that they are led to."""
    if isinstance(double, PhoenixDouble):
        spans = {name: sorted(spans) for name, spans in double.spans.items()}
        return {"spans": spans, "configs": sorted(double.configs), "projects": sorted(double.projects)}
    assert isinstance(double, LangfuseDouble)
    return {
        "queues": [queue["name"] for queue in double.queues],
        "configs": {config["name"] for config in double.configs}, "traces": sorted(double.traces),
        "entries": sorted(entry["objectId"] for entry in double.entries),
    }


def asks(desk: Desk) -> None:
    desk.prepare()
    desk.post(BATCH, desk.missing(BATCH))
    desk.collect(BATCH)


@pytest.mark.parametrize(("new", "opened"), [(LangfuseDouble, langfuse), (PhoenixDouble, phoenix)])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_whoever_dies_at_a_write_leaves_what_the_next_completes(
    new: Callable[[], HttpDouble], opened: Opened, moment: Literal["before", "after"]
):
    smooth = new()
    with serving(smooth) as url:
        asks(opened(url))
    assert smooth.writes > 3
    for number in range(1, smooth.writes + 1):
        double = new()
        double.cut = (number, moment)
        with serving(double) as url:
            try:
                asks(opened(url))
            except (AmbiguousPost, DeskUnreachable):
                asks(opened(url))
            assert opened(url).missing(BATCH) == []
        assert there(double) == there(smooth), f"cut {moment} write {number}"
