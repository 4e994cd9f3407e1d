"""What every store promises, put to a folder, to a real S3 server and to the double in memory alike."""

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from services.racing import blob_of, race_in_processes, race_in_threads

from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.s3 import S3Store
from assay.tasks.ledger.stores.store import BadKey, KeyMissing, MemoryStore, Store

S3 = pytest.param("s3", marks=pytest.mark.services)
Reopen = Callable[[], Store]


@pytest.fixture(params=["memory", "local", S3])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Reopen:
    """Opens the same, at first empty, place again and again."""
    if request.param == "memory":
        memory = MemoryStore()
        return lambda: memory
    if request.param == "local":
        return lambda: open_store(f"file://{tmp_path}/ledger")
    url = request.getfixturevalue("s3").new_url("contract")
    return lambda: open_store(url)


@pytest.fixture
def store(reopen: Reopen) -> Store:
    return reopen()


# --- writing and reading ----------------------------------------------------------------------------------


def test_every_store_is_a_store(store: Store):
    assert isinstance(store, Store)


def test_the_first_put_wins_and_later_ones_are_told_what_won(store: Store, reopen: Reopen):
    assert store.put("e/spec.json", b"first") == b"first"
    assert store.put("e/spec.json", b"second") == b"first"
    other = reopen()
    assert other.put("e/spec.json", b"third, and longer") == b"first"
    assert other.get("e/spec.json") == b"first"


@pytest.mark.parametrize("blob", [b"", bytes(range(256)), b"\r\n" * 40, b"x" * 3_000_001])
def test_values_come_back_byte_for_byte(store: Store, blob: bytes):
    assert store.put("a/b", blob) == blob
    assert store.put("a/b", b"other") == blob
    assert store.get("a/b") == blob
    assert store.size("a/b") == len(blob)


def test_an_empty_value_exists_and_a_missing_one_does_not(store: Store):
    store.put("a/empty", b"")
    assert store.exists("a/empty")
    assert not store.exists("a/emp")
    assert not store.exists("a")
    assert not store.exists("a/empty/below")


@pytest.mark.parametrize("key", ["nothing/here", "a", "a/b.json/c"])
def test_reading_what_was_never_put_names_the_key(store: Store, key: str):
    store.put("a/b.json", b"1")
    reads: list[Callable[[], object]] = [
        lambda: store.get(key),
        lambda: store.size(key),
        lambda: store.get_range(key, 0, 1),
        lambda: store.get_range(key, 0, 0),
    ]
    for read in reads:
        with pytest.raises(KeyMissing, match=repr(key)):
            read()


@pytest.mark.parametrize("value", [b"", b"0123456789"])
def test_a_range_is_what_a_slice_would_be(store: Store, value: bytes):
    store.put("a/digits", value)
    for start, length in [(0, 10), (0, 3), (3, 4), (9, 1), (8, 99), (10, 1), (50, 5), (4, 0), (0, 0)]:
        assert store.get_range("a/digits", start, length) == value[start : start + length], (start, length)


def test_a_range_cannot_be_negative(store: Store):
    store.put("a/digits", b"0123456789")
    for start, length in [(-1, 2), (0, -1)]:
        with pytest.raises(ValueError, match="cannot start"):
            store.get_range("a/digits", start, length)


def test_folders_are_named_and_not_looked_into(store: Store):
    for key in ("a/b/c", "a/b/d", "a/e", "f/g", "h"):
        store.put(key, b"")
    assert list(store.folders()) == ["a", "f"]
    assert list(store.folders("a/")) == ["b"]
    assert list(store.folders("a/b/")) == list(store.folders("nothing/")) == []
    with pytest.raises(BadKey, match="end it with"):
        store.folders("a")


def test_a_folder_of_the_index_that_lost_its_last_key_takes_another(store: Store):
    store.put("index/open/e/1", b"")
    store.put("index/open/f/1", b"")
    store.discard("index/open/e/1")
    assert list(store.keys("index/open/")) == ["index/open/f/1"]
    assert store.put("index/open/e/2", b"2") == b"2"


# --- keys -------------------------------------------------------------------------------------------------

BAD_KEYS = [
    "", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", ".", "./a", "a//b", "a/", "a\\b", "a\nb",
    "a\0b", "a\x7fb", "a\x85b", ".temporary/x", "a/.hidden", "\ud800", "a/" + "x" * 256,
    "é" * 128, "ab/" * 300 + "c",
]  # fmt: skip


def test_bad_keys_are_refused_by_every_method(store: Store):
    calls: list[Callable[[str], object]] = [
        lambda key: store.put(key, b"x"),
        store.get,
        store.size,
        store.exists,
        lambda key: store.get_range(key, 0, 1),
        store.discard,
        lambda key: store.discard("index/" + key) if key else store.discard(key),
    ]
    for key in BAD_KEYS:
        for call in calls:
            with pytest.raises(BadKey):
                call(key)


def test_bad_prefixes_are_refused_at_once(store: Store):
    for prefix in ("/", "..", "../", "a/../b", "a//", ".temp", "a/.", "a\\", "\0"):
        with pytest.raises(BadKey):
            store.keys(prefix)


def test_names_that_other_systems_find_odd_are_fine(store: Store):
    odd = ["x" * 255]
    odd += ["a b", "a+b", "a%20b", "a?b=c&d", "a#b", 'a"b', "a'b", "a<b>", "a*", "~a", "é", "e\u0301", "😀"]
    for name in odd:
        assert store.put(f"odd/{name}", name.encode()) == name.encode()
    assert list(store.keys("odd/")) == sorted(f"odd/{name}" for name in odd)
    for name in odd:
        assert store.get(f"odd/{name}") == name.encode()


def test_keys_are_sorted_by_code_point_not_by_folder(store: Store):
    # '-' < '.' < '/' < '0', so the folder `a/` sorts between `a.b` and `a0`; upper case comes before lower.
    # U+FFEE sorts before U+1F600, though its UTF-16 form sorts after.
    expected = ["o/A", "o/a b", "o/a-b", "o/a.b", "o/a/b", "o/a/c", "o/a0", "o/é", "o/\uffee", "o/😀", "p/a"]
    for key in reversed(expected):
        store.put(key, b"")
    assert list(store.keys()) == expected
    assert list(store.keys("o/a")) == expected[1:7]
    assert list(store.keys("o/a/")) == ["o/a/b", "o/a/c"]
    assert list(store.keys("o/a/b")) == ["o/a/b"]
    assert list(store.keys("p")) == ["p/a"]


def test_a_place_that_does_not_exist_yet_has_no_keys(store: Store):
    assert list(store.keys()) == []
    assert list(store.keys("e/rounds/")) == []
    store.put("e/rounds", b"")
    assert list(store.keys("e/rounds/")) == []


@pytest.mark.services
def test_s3_lists_more_keys_than_one_page_holds(s3):
    store = open_store(s3.new_url("pages"))  # the protocol's page is 1,000 keys
    keys = [f"e/{number:04d}" for number in range(1100)]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda key: store.put(key, b"1") == b"1", keys))
    assert list(store.keys("e/")) == keys


@pytest.mark.services
def test_pages_of_three_keys_are_the_same_listing(s3, monkeypatch):
    url = s3.new_url("small-pages")
    keys = [f"e/{number:02d}/x" for number in range(10)]
    for key in keys:
        open_store(url).put(key, b"1")
    call = S3Store._call

    def paged(self, operation, key, **arguments):
        if operation == "list_objects_v2":
            pages.append(key)
            arguments["MaxKeys"] = 3
        return call(self, operation, key, **arguments)

    pages: list[str] = []
    monkeypatch.setattr(S3Store, "_call", paged)
    assert list(open_store(url).keys("e/")) == keys
    assert list(open_store(url).folders("e/")) == [key[2:4] for key in keys]
    assert len(pages) >= 8


# --- the index --------------------------------------------------------------------------------------------


def test_index_keys_can_be_discarded_and_made_again(store: Store):
    store.put("index/open/e", b"1")
    store.discard("index/open/e")
    assert not store.exists("index/open/e")
    assert list(store.keys()) == []
    store.discard("index/open/e")  # a missing one is no error
    store.discard("index/never/there")
    assert store.put("index/open/e", b"2") == b"2"


@pytest.mark.parametrize("key", ["e/spec.json", "indexes/open/e", "index"])
def test_evidence_is_never_discarded(store: Store, key: str):
    store.put(key, b"1")
    with pytest.raises(BadKey, match="evidence"):
        store.discard(key)
    assert store.get(key) == b"1"


def test_a_check_passes_leaves_no_key_and_can_be_repeated(store: Store):
    store.check()
    store.check()
    assert list(store.keys()) == []


# --- races ------------------------------------------------------------------------------------------------

RACES = [f"race/{number:02d}" for number in range(20)]


def assert_one_winner_each(store: Store, told: list[list[bytes]]) -> None:
    for key, answers in zip(RACES, told, strict=True):
        winner = store.get(key)
        assert set(answers) == {winner}  # every loser was told the winner's bytes
        assert [answers[writer] == blob_of(writer, key) for writer in range(8)].count(True) == 1


def test_of_8_threads_exactly_one_wins_20_times(reopen: Reopen):
    stores = [reopen() for _ in range(8)]
    assert_one_winner_each(stores[0], race_in_threads(stores, RACES, lanes=5))


def test_of_8_processes_exactly_one_wins_20_times(tmp_path: Path):
    url = f"file://{tmp_path}/ledger"
    assert_one_winner_each(open_store(url), race_in_processes(url, 8, RACES))
    assert list(open_store(url).keys()) == RACES


# --- agreement --------------------------------------------------------------------------------------------

# Values end in `.v` and folders never do, so that no key is a folder of another: S3 alone would allow that.
part = st.text(st.sampled_from("ab-0 é😀~"), min_size=1, max_size=3)
plain_key = st.lists(part, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".v")
known_key = st.sampled_from(["a.v", "a/a.v", "a-a.v", "index/a.v", "index/b.v"])
index_key = plain_key.map("index/".__add__)
any_key = st.one_of(known_key, known_key, plain_key, index_key, st.sampled_from(BAD_KEYS))
blobs = st.binary(max_size=20)


class Agreement(RuleBasedStateMachine):
    """Sends each call to every store and compares the answers, or the kinds of refusal."""

    def __init__(self, stores: list[Store]) -> None:
        super().__init__()
        self.stores = stores

    def agree(self, call: Callable[[Store], object]) -> None:
        answers = [self.answer(call, store) for store in self.stores]
        assert all(answer == answers[0] for answer in answers), answers

    @staticmethod
    def answer(call: Callable[[Store], object], store: Store) -> object:
        try:
            return call(store)
        except (KeyMissing, BadKey) as refused:
            return type(refused)

    @rule(key=any_key, blob=blobs)
    def put(self, key: str, blob: bytes) -> None:
        self.agree(lambda store: store.put(key, blob))

    @rule(key=any_key)
    def get(self, key: str) -> None:
        self.agree(lambda store: store.get(key))

    @rule(key=any_key, start=st.integers(0, 25), length=st.integers(0, 25))
    def get_range(self, key: str, start: int, length: int) -> None:
        self.agree(lambda store: store.get_range(key, start, length))

    @rule(key=any_key)
    def look(self, key: str) -> None:
        self.agree(lambda store: (store.exists(key), store.exists(key) and store.size(key)))

    @rule(key=any_key)
    def discard(self, key: str) -> None:
        self.agree(lambda store: store.discard(key))

    @rule(prefix=st.one_of(st.just(""), part, plain_key, plain_key.map(lambda key: key[:-3])))
    def keys(self, prefix: str) -> None:
        self.agree(lambda store: list(store.keys(prefix)))


def agreement(make_stores: Callable[[], list[Store]], examples: int) -> None:
    run_state_machine_as_test(
        lambda: Agreement(make_stores()),
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_folder_and_memory_always_agree(tmp_path: Path):
    agreement(lambda: [MemoryStore(), open_store(tempfile.mkdtemp(dir=tmp_path))], examples=40)


@pytest.mark.services
def test_s3_and_memory_always_agree(s3):
    agreement(lambda: [MemoryStore(), open_store(s3.new_url("agreement"))], examples=8)
