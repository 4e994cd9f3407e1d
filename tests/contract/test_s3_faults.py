"""What S3Store does when the network or the server misbehaves: a real server behind a proxy that does."""

import threading
import traceback
from collections.abc import Callable, Iterator

import pytest
from services.faulty_proxy import (
    FaultyProxy,
    claim_success,
    cut_reply,
    drop_reply,
    faulty_proxy,
    s3_error,
    say,
)
from services.s3 import S3Server, free_ports

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores import s3 as s3_store
from assay.tasks.ledger.stores.s3 import S3Store
from assay.tasks.ledger.stores.store import KeyMissing, Store, StoreError, StoreUnreachable

pytestmark = pytest.mark.services
CONFLICT = s3_error(409, "ConditionalRequestConflict")
SLOW_DOWN = s3_error(503, "SlowDown")
BROKEN = s3_error(500, "InternalError")


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    with faulty_proxy(s3.endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        yield proxy


@pytest.fixture
def store(s3: S3Server, proxy: FaultyProxy) -> Store:
    return open_store(s3.new_url("faults"))


def complaint(error: pytest.ExceptionInfo[BaseException]) -> str:
    """All that a log could show of it, chained errors included."""
    return "".join(traceback.format_exception(error.value))


# --- faults that pass -------------------------------------------------------------------------------------


def test_a_put_whose_reply_was_lost_is_still_ours(store: Store, proxy: FaultyProxy):
    # The library sends it again; the 412 it then gets is about our own first attempt.
    proxy.next("PUT", drop_reply)
    assert store.put("e/plan", b"ours") == b"ours"
    assert proxy.seen["PUT"] == 2
    assert store.get("e/plan") == b"ours"


def test_a_put_that_lost_and_whose_reply_was_lost_is_told_the_winner(store: Store, proxy: FaultyProxy):
    store.put("e/plan", b"winner")
    proxy.next("PUT", drop_reply)
    assert store.put("e/plan", b"loser") == b"winner"


def test_a_conflict_decides_nothing_and_is_sent_again(store: Store, proxy: FaultyProxy):
    proxy.next("PUT", CONFLICT, CONFLICT)
    assert store.put("e/plan", b"ours") == b"ours"
    assert proxy.seen["PUT"] == 3


def test_a_conflict_with_the_winner_ends_with_the_winners_bytes(store: Store, proxy: FaultyProxy):
    store.put("e/plan", b"winner")
    proxy.next("PUT", CONFLICT)
    assert store.put("e/plan", b"loser") == b"winner"


@pytest.mark.parametrize("fault", [SLOW_DOWN, BROKEN, s3_error(503, "ServiceUnavailable")])
def test_a_server_that_is_busy_for_a_moment_goes_unnoticed(store: Store, proxy: FaultyProxy, fault):
    proxy.next("PUT", fault)
    assert store.put("e/plan", b"ours") == b"ours"
    proxy.next("GET", fault)
    assert store.get("e/plan") == b"ours"
    proxy.next("GET", fault)
    assert list(store.keys("e/")) == ["e/plan"]
    proxy.next("HEAD", fault)
    assert store.size("e/plan") == 4


@pytest.mark.parametrize("fault", [cut_reply, drop_reply])
def test_a_value_whose_reading_breaks_off_is_read_again(store: Store, proxy: FaultyProxy, fault):
    value = bytes(range(256)) * 4000
    store.put("e/part", value)
    proxy.next("GET", fault, fault)
    assert store.get("e/part") == value
    proxy.next("GET", fault)
    assert store.get_range("e/part", 1000, 300_000) == value[1000:301_000]


def test_a_key_discarded_between_losing_and_reading_is_created_again(store: Store, proxy: FaultyProxy):
    # The first put is told 412 for a key that is gone when it is read.
    proxy.next("PUT", s3_error(412, "PreconditionFailed"))
    assert store.put("index/open/e", b"ours") == b"ours"


# --- faults that stay -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [CONFLICT, s3_error(412, "PreconditionFailed")])
def test_a_put_that_is_never_decided_ends_with_an_error(
    store: Store, proxy: FaultyProxy, fault, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(s3_store, "CONFLICT_ATTEMPTS", 3)
    proxy.next("PUT", fault, fault, fault)
    with pytest.raises(StoreError, match="'e/plan'"):
        store.put("e/plan", b"ours")
    assert proxy.seen["PUT"] == 3


def test_a_server_that_stays_broken_is_given_up_after_a_bounded_number_of_attempts(
    store: Store, proxy: FaultyProxy
):
    proxy.next("PUT", *[BROKEN] * 50)
    with pytest.raises(StoreUnreachable, match="overloaded or failing"):
        store.put("e/plan", b"ours")
    assert proxy.seen["PUT"] == s3_store.REQUEST_ATTEMPTS
    assert not store.exists("e/plan")


def test_a_connection_that_always_breaks_off_is_given_up(store: Store, proxy: FaultyProxy):
    store.put("e/part", b"x" * 1000)
    proxy.next("GET", *[cut_reply] * s3_store.READ_ATTEMPTS)
    with pytest.raises(StoreUnreachable, match="'e/part' broke off"):
        store.get("e/part")


def test_check_finds_out_a_server_that_ignores_the_condition(store: Store, proxy: FaultyProxy):
    proxy.next("PUT", claim_success, claim_success)
    with pytest.raises(StoreError, match="ignores If-None-Match"):
        store.check()


def test_a_server_without_conditional_writes_is_named_as_such(store: Store, proxy: FaultyProxy):
    proxy.next("PUT", s3_error(501, "NotImplemented"))
    with pytest.raises(StoreError, match="needs conditional writes"):
        store.put("e/plan", b"ours")


SIGN_IN = say(200, b"<html><body>sign in</body></html>", "text/html")


@pytest.mark.parametrize(("method", "act"), [
    ("PUT", lambda store: store.put("e/plan", b"ours")), ("GET", lambda store: store.get("e/plan")),
    ("HEAD", lambda store: store.exists("e/plan")), ("GET", lambda store: list(store.keys("e/"))),
    ("GET", lambda store: list(store.folders("e/"))),
], ids=["put", "get", "exists", "keys", "folders"])
def test_a_page_to_sign_in_is_no_value_no_success_and_no_empty_ledger(store, proxy, method, act):
    store.put("e/there", b"1")
    proxy.next(method, SIGN_IN)
    with pytest.raises(StoreUnreachable, match="no S3 server gives"):
        act(store)
    assert list(store.keys("e/")) == ["e/there"]


@pytest.mark.parametrize("token", ["", "<NextContinuationToken>again</NextContinuationToken>"])
def test_a_listing_without_an_end_is_an_error(store: Store, proxy: FaultyProxy, token: str):
    store.put("e/there", b"1")
    page = f"<ListBucketResult><IsTruncated>true</IsTruncated>{token}</ListBucketResult>".encode()
    proxy.next("GET", *[say(200, page, "application/xml")] * 4)
    with pytest.raises(StoreUnreachable, match="has no end"):
        list(store.keys("e/"))


@pytest.mark.parametrize("code", ["AccessDenied", "ExpiredToken", "RequestTimeTooSkewed"])
def test_a_refusal_is_not_mistaken_for_a_missing_key(store: Store, proxy: FaultyProxy, code: str):
    assert not store.exists("e/plan")
    proxy.next("GET", s3_error(403, code))
    with pytest.raises(StoreUnreachable, match=code):
        store.get("e/plan")
    proxy.next("HEAD", s3_error(403, code))
    with pytest.raises(StoreUnreachable, match="AWS_ACCESS_KEY_ID"):
        store.exists("e/plan")


# --- mistakes of a user -----------------------------------------------------------------------------------


CALLS: list[Callable[[Store], object]] = [
    lambda store: store.check(),
    lambda store: store.put("a", b""),
    lambda store: store.get("a"),
    lambda store: store.exists("a"),
    lambda store: list(store.keys()),
]
SECRET = "Correct-Horse-Battery-Staple"


def test_a_missing_bucket_is_named_and_is_not_created_by_writing_to_it(s3: S3Server):
    # SeaweedFS, asked with an administrator's key, would create it on the spot.
    for call in CALLS:
        with pytest.raises(BadInput, match="no bucket 'assay-nowhere'") as error:
            call(open_store("s3://assay-nowhere/x"))
        assert s3.endpoint in str(error.value)
    assert [bucket["Name"] for bucket in s3.client().list_buckets()["Buckets"]] == [s3.bucket]


@pytest.mark.parametrize("variable", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"])
def test_wrong_credentials_are_told_without_repeating_them(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch, variable: str
):
    monkeypatch.setenv(variable, SECRET)
    for call in CALLS:
        with pytest.raises(StoreUnreachable, match="the credentials; check AWS_ACCESS_KEY_ID") as error:
            call(open_store(s3.url))
        assert s3.endpoint in str(error.value)
        assert repr(s3.bucket) in str(error.value)
        for secret in (SECRET, s3.secret_key):
            assert secret not in complaint(error)


def test_missing_credentials_are_asked_for(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreUnreachable, match=r"no usable credentials .* set AWS_ACCESS_KEY_ID") as error:
        open_store(s3.url).check()
    assert s3.secret_key not in complaint(error)


def test_an_unknown_profile_is_asked_for(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    with pytest.raises(StoreUnreachable, match="or AWS_PROFILE"):
        open_store(s3.url).check()


def test_an_endpoint_where_nothing_listens_is_named_without_its_password(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
):
    port = free_ports(1)[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://someone:{SECRET}@127.0.0.1:{port}")
    with pytest.raises(StoreUnreachable, match=f"127.0.0.1:{port}; check AWS_ENDPOINT_URL_S3") as error:
        open_store(s3.url).check()
    assert SECRET not in complaint(error)


@pytest.mark.parametrize("endpoint", ["nonsense", f"://{SECRET}", f"http://u:{SECRET}@[::1"])
def test_an_endpoint_that_is_no_url_is_refused(s3: S3Server, monkeypatch: pytest.MonkeyPatch, endpoint: str):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    with pytest.raises(BadInput, match="check AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL") as error:
        open_store(s3.url).check()
    assert SECRET not in complaint(error)


def test_new_credentials_are_used_by_the_next_store(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(StoreUnreachable):
        open_store(s3.url).check()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.secret_key)
    open_store(s3.url).check()


def test_what_a_console_leaves_behind_is_not_a_key(s3: S3Server):
    store = open_store(s3.new_url("console"))
    assert isinstance(store, S3Store)
    client = s3.client()
    for name in ("e/", ".probe/left-by-a-crash", "e/.hidden"):
        client.put_object(Bucket=s3.bucket, Key=f"{store.prefix}/{name}", Body=b"")
    store.put("e/spec.json", b"1")
    assert list(store.keys()) == ["e/spec.json"]


def test_one_store_serves_many_threads(s3: S3Server):
    store = open_store(s3.new_url("threads"))
    wrong: list[BaseException] = []

    def work(number: int) -> None:
        try:
            assert store.put(f"t/{number}", b"%d" % number) == b"%d" % number
            assert store.get(f"t/{number}") == b"%d" % number
            with pytest.raises(KeyMissing):
                store.get(f"t/{number}/none")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
