"""The record of how people do: written once somebody else answers, and what it costs until then."""

from dataclasses import replace

import pytest
from doubles.world import World

from assay.flows.evaluation.advance import advance
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import layout


class CountedReads:
    """A store that counts the reads of answers; everything goes to `inner`."""

    def __init__(self, inner):
        self._inner, self.answers = inner, 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def get(self, key):
        self.answers += layout.annotation.match(key) is not None
        return self._inner.get(key)


class OneRoundAtATime:
    """A desk on which the items of one round only are answered; by somebody else from `another_from` on."""

    def __init__(self, inner, another_from=None):
        self._inner, self.until, self._another_from = inner, 0, another_from

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def collect(self, batch):
        collected = self._inner.collect(batch)
        if batch.round > self.until:
            return replace(collected, annotations=[])
        if self._another_from is not None and batch.round >= self._another_from:
            other = [replace(one, annotator="another") for one in collected.annotations]
            return replace(collected, annotations=other)
        return collected


def reads_by_round(world) -> list[int]:
    """Each round closed by an `advance` of its own; the answers that each of them read."""
    standing, reads = world.run(), []
    while standing.state != "finished":
        world.desk.until += 1
        store = CountedReads(world.store)
        standing = advance(store, world.spec.name, world.desk)
        reads.append(store.answers)
    return reads


def records(world):
    found = map(layout.annotators.match, world.store.keys("small/"))
    return [values[1] for values in found if values is not None]


def a_world(folder, another_from=None):
    world = World(folder, n=120, budget={"labels": 30}, batch_size=5)
    world.desk = OneRoundAtATime(world.desk, another_from)
    return world


def test_closing_a_round_reads_its_own_answers_and_one_more_while_one_person_answers(tmp_path):
    world = a_world(tmp_path)
    reads = reads_by_round(world)
    assert len(reads) == 6
    assert max(reads) <= 5 + 1, reads
    assert records(world) == []
    assert verify(world.store, "small").verified


@pytest.mark.parametrize("first", [2, 4])
def test_the_record_begins_with_the_round_in_which_somebody_else_answers(tmp_path, first):
    world = a_world(tmp_path, another_from=first)
    reads_by_round(world)
    assert records(world) == list(range(first, 7))
    assert verify(world.store, "small").verified
