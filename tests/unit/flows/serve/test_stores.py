"""Stores by alias, tokens by store, and what messages say of a machine."""

import pytest

from assay.evalcore.errors import BadInput
from assay.flows.serve.app import wants_json
from assay.flows.serve.guard import is_own_host, token_of
from assay.flows.serve.stores import (
    access_to,
    read_only_store,
    served_stores,
    spec_without_paths,
    without_paths,
)
from assay.tasks.ledger.stores.store import MemoryStore, StoreError

TOKEN = "t" * 20


def test_a_store_has_the_last_part_of_its_address_for_an_alias(tmp_path):
    found = served_stores([str(tmp_path / "Team Ledger"), "s3://bucket/search"], ["ads=s3://bucket/other/ads"])
    assert list(found) == ["team-ledger", "search", "ads"]
    for plain, named, said in (
        ([], [], "no store"), (["x", "y/x"], [], "two stores"), ([], ["x"], "ALIAS=STORE"),
        ([], ["../x=y"], "alias is"), ([], ["x=http://y"], "not a kind"),
    ):
        with pytest.raises(BadInput, match=said):
            served_stores(plain, named)


def test_a_served_store_is_only_looked_at():
    inner = MemoryStore()
    inner.put("a", b"1")
    store = read_only_store("x", inner).store
    assert store.get("a") == b"1"
    for work in (lambda: store.put("b", b""), lambda: store.discard("index/a")):
        with pytest.raises(StoreError, match="only looked at"):
            work()


def test_tokens_open_all_stores_or_those_they_are_for():
    stores = {name: read_only_store(name, MemoryStore()) for name in ("a", "b", "c")}
    access = access_to(stores, f"{TOKEN}\n\n# team\na {TOKEN}a   # a's\na,b {TOKEN}b\n", None)
    for given, seen in ((TOKEN, {"a", "b", "c"}), (TOKEN + "a", {"a"}), (TOKEN + "b", {"a", "b"})):
        assert access.seen_by(given, None) == seen
    for given in (None, "", "x", TOKEN + "c", "\udcff"):
        assert access.seen_by(given, None) is None
    assert access_to(stores, " \n", None).open_to_all
    for text, said in (("d " + TOKEN, "no store is called 'd'"), ("short", "at least 16"),
                       (f"a b {TOKEN}", "write TOKEN"), ("é" * 20, "ASCII")):
        with pytest.raises(BadInput, match=said) as refused:
            access_to(stores, text, None)
        assert TOKEN not in str(refused.value)


def test_tokens_come_as_bearer_or_as_the_password_of_a_browser():
    assert token_of("Bearer abc") == "abc"
    assert token_of("bearer  abc ") == "abc"
    assert token_of("Basic dXNlcjphOmI=") == "a:b"
    for wrong in ("", "abc", "Digest abc", "Basic ====", "Basic /w=="):
        assert token_of(wrong) is None


@pytest.mark.parametrize(("host", "own"), [
    ("127.0.0.1", True), ("127.0.0.1:80", True), ("localhost:8090", True), ("[::1]:8", True),
    ("LOCALHOST", True), ("", False), ("127.0.0.1.nip.io", False), ("10.0.0.1", False), ("[::2]", False),
    ("0.0.0.0", False),
])
def test_hosts_of_this_machine(host, own):
    assert is_own_host(host) is own


@pytest.mark.parametrize(("accept", "json"), [
    ("", False), ("*/*", False), ("application/json", True), ("text/html,application/json;q=0.9", False),
    ("application/json;q=0.9,text/html;q=0.1", True), ("application/json;q=x", False),
    ("application/*", True),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
])
def test_json_is_sent_to_who_prefers_it(accept, json):
    assert wants_json(accept) is json


def test_messages_and_specs_name_no_place_of_the_machine(tmp_path):
    one = served_stores([str(tmp_path / "ledger")], [])["ledger"]
    said = without_paths(f"{tmp_path}/ledger: cannot read '/home/ada/x y/z.csv', see https://a.b/c/d", [one])
    assert str(tmp_path) not in said
    assert "/home" not in said
    assert "https://a.b/c/d" in said
    assert "the store ledger" in said
    spec = {
        "name": "/n", "store": "/home/ada/ledger", "labels": {"classes": ["/a/b", "c"]},
        "pool": {"source": "/data/x.parquet", "image": "…/x"},
        "desk": {"path": "~/desk", "labels": "C:\\x\\l.csv"}, "outcomes": {"source": "file:///a/b.csv"},
    }
    assert spec_without_paths(spec) == {
        "name": "/n", "store": "…/ledger", "labels": {"classes": ["/a/b", "c"]},
        "pool": {"source": "…/x.parquet", "image": "…/x"},
        "desk": {"path": "…/desk", "labels": "…/l.csv"}, "outcomes": {"source": "…/b.csv"},
    }
