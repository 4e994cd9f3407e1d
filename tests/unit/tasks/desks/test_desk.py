"""What desks without a server keep: by round and asking, under keys of the layout, validated when read."""

from dataclasses import dataclass

import pytest

from assay.tasks.desks.desk import Batch, KeptBatches
from assay.tasks.ledger import layout
from assay.tasks.ledger.record import DamagedRecord
from assay.tasks.ledger.stores.store import MemoryStore


@dataclass(frozen=True, kw_only=True)
class Posted:
    items: tuple[str, ...]


def kept_in(store):
    return KeptBatches(store, "caller", "e", Posted)


def batch(round, asking=1):
    return Batch(evaluation="e", round=round, asking=asking, items=())


def test_posts_are_kept_by_round_and_asking_and_once():
    store = MemoryStore()
    kept = kept_in(store)
    for place in (batch(2, asking=2), batch(2), batch(1), batch(1)):
        kept.keep_post(place, ["b", "a"], Posted(items=("b", "a")))
    kept.request_more(batch(3), ["a"], 2)     # no post: nothing was asked in round 3
    assert kept.askings() == [(1, 1), (2, 1), (2, 2)]
    assert kept.posts(1, 1) == [Posted(items=("b", "a"))]
    assert kept.posts(3, 1) == []
    read = [layout.parse_key(key) for key in store.keys("")]
    assert all(read)
    assert [key.kind for key in read].count(layout.desk_post) == 3


def test_an_item_is_asked_of_as_many_people_as_the_last_request_says():
    kept = kept_in(MemoryStore())
    kept.request_more(batch(1), ["a", "b"], 2)
    kept.request_more(batch(1), ["b"], 3)
    assert kept.people_asked(1, 1) == {"a": 2, "b": 3}
    assert kept.people_asked(1, 2) == {}


def test_a_damaged_post_is_named():
    store = MemoryStore()
    key = layout.desk_post("caller", "e", 1, 1, "0" * 64)
    store.put(key, b'{"items":"a"}\n')
    with pytest.raises(DamagedRecord, match=f"{key}: items: "):
        kept_in(store).posts(1, 1)
