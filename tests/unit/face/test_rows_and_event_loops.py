"""Rows as dictionaries, lazy frames, and evaluations inside an event loop."""

import asyncio

import polars
import pytest

import assay

ROWS = [{"item_id": f"i{i}", "score": i / 100, "truth": "yes" if i > 47 else "no"} for i in range(100)]
QUESTION = {"outcome": ["yes", "no"], "score": "score", "threshold": 0.5, "measures": ["f1"], "target": 0.1,
            "budget": 60, "oracle": "truth", "name": "rows"}


@pytest.mark.parametrize("data", [ROWS, tuple(ROWS), polars.DataFrame(ROWS).lazy()],
                         ids=["a list", "a tuple", "a lazy frame"])
def test_rows_and_lazy_frames_are_frames(data):
    expected = assay.evaluate(polars.DataFrame(ROWS), **QUESTION)
    found = assay.evaluate(data, **QUESTION)
    assert (found.value, found.lower, found.upper) == (expected.value, expected.lower, expected.upper)


def test_a_column_of_several_types_in_rows_is_named():
    with pytest.raises(assay.errors.BadInput, match=r"column 'score': values are not .*: row 101: 'high'"):
        assay.evaluate([*ROWS, {"item_id": "last", "score": "high", "truth": "no"}], **QUESTION)


def test_in_an_event_loop_labels_are_awaited_so_many_at_once_in_that_loop():
    truth = {row["item_id"]: row["truth"] for row in ROWS}
    loops, running, most = set(), 0, 0

    async def label_of(row):
        nonlocal running, most
        loops.add(asyncio.get_running_loop())
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0)
        running -= 1
        return truth[row["item_id"]]

    async def evaluated():
        loop = asyncio.get_running_loop()
        return loop, await assay.aevaluate(ROWS, **QUESTION | {"oracle": label_of}, concurrency=3)

    loop, result = asyncio.run(evaluated())
    expected = assay.evaluate(ROWS, **QUESTION)
    assert (result.value, result.lower, result.labels) == (expected.value, expected.lower, expected.labels)
    assert (loops, most) == ({loop}, 3)


def test_what_the_oracle_raises_ends_it_and_cancels_what_is_awaited():
    ended = []

    async def label_of(row):
        if row["item_id"] == "i0":
            raise ConnectionError("the model does not answer")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(row["item_id"])

    with pytest.raises(ConnectionError, match="does not answer"):
        asyncio.run(assay.aevaluate(ROWS, **QUESTION | {"oracle": label_of, "budget": 100, "batch_size": 100,
                                                        "target": None}))
    assert len(ended) <= 16
    with pytest.raises(assay.errors.BadInput, match="concurrency"):
        asyncio.run(assay.aevaluate(ROWS, **QUESTION, concurrency=0))


def test_coroutines_of_judges_run_in_that_loop_too_so_many_at_once():
    loops, running, most = set(), 0, 0

    async def judge(row):
        nonlocal running, most
        loops.add(asyncio.get_running_loop())
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0)
        running -= 1
        return row["score"]

    async def evaluated():
        return asyncio.get_running_loop(), await assay.aevaluate(
            ROWS, oracle=lambda row: row["score"], judge=judge, prediction="score", measures="mean",
            outcome={"number": {"min": 0, "max": 1}}, name="judged", budget=40, concurrency=4,
        )

    loop, result = asyncio.run(evaluated())
    assert result.labels > 0
    assert (loops, most) == ({loop}, 4)


def test_who_stops_waiting_ends_the_evaluation():
    asked = []

    async def label_of(row):
        asked.append(row["item_id"])
        await asyncio.sleep(60)

    async def stopped():
        task = asyncio.create_task(assay.aevaluate(ROWS, **QUESTION | {"oracle": label_of}, concurrency=2))
        while not asked:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(stopped())       # and so does the thread, or this would wait for it
    assert len(asked) == 2
