"""A store that reads each key once."""

import pytest
from doubles.counted_store import CountedStore

from assay.tasks.ledger.stores.store import KeyMissing, MemoryStore, Remembering


@pytest.fixture
def inner():
    store = CountedStore(MemoryStore())
    store.put("e/rounds/0001/plan", b"1")
    store.put("index/open/e/entry", b"")
    store.calls = 0
    return store


def test_evidence_is_read_once(inner):
    store = Remembering(inner, {"e/spec": b"known"})
    assert store.get("e/spec") == b"known"
    assert inner.calls == 0
    for _ in range(3):
        assert store.get("e/rounds/0001/plan") == b"1"
        assert store.exists("e/rounds/0001/plan")
    assert inner.calls == 1
    assert store.put("e/other", b"mine") == b"mine"
    assert store.get("e/other") == b"mine"
    assert inner.calls == 2


def test_what_another_put_first_is_what_is_remembered(inner):
    inner.put("e/labels", b"theirs")
    store = Remembering(inner)
    assert store.put("e/labels", b"ours") == store.get("e/labels") == b"theirs"


def test_what_may_be_removed_is_never_remembered(inner):
    store = Remembering(inner)
    assert store.get("index/open/e/entry") == b""
    store.discard("index/open/e/entry")
    assert not store.exists("index/open/e/entry")
    with pytest.raises(KeyMissing):
        store.get("index/open/e/entry")


def test_after_looking_around_what_is_missing_needs_no_call_until_looking_away(inner):
    store = Remembering(inner)
    store.list_once("e/rounds/0001/")
    store.put("e/rounds/0001/mine", b"m")
    inner.put("e/rounds/0001/theirs", b"t")
    inner.calls = 0
    assert list(store.keys("e/rounds/0001/")) == ["e/rounds/0001/mine", "e/rounds/0001/plan"]
    assert list(store.keys("e/rounds/0001/m")) == ["e/rounds/0001/mine"]
    assert not store.exists("e/rounds/0001/theirs")
    with pytest.raises(KeyMissing):
        store.get("e/rounds/0001/theirs")
    assert inner.calls == 0
    store.forget_listings()
    assert store.get("e/rounds/0001/theirs") == b"t"
    assert "e/rounds/0001/theirs" in list(store.keys("e/rounds/"))
