"""One key that makes no sense takes down what it belongs to and nothing else; requests that anybody sends."""

import asyncio
import logging
from collections import Counter

import httpx
import pytest
from doubles.stream import a_monitor, after, write_stream
from doubles.world import World

from assay.evalcore.errors import AssayError
from assay.flows.evaluation.advance import advance
from assay.flows.listen.receiver import Figures, Wakes, receiver_app
from assay.flows.listen.seldom import Seldom
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.serve.app import MOST_WATCHED_BY_ONE, Service
from assay.flows.serve.stores import Access, ServedStore, access_to, spec_without_paths
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.life import OtherFormat, read_spec
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore, StoreError

SMALL = {"n": 60, "budget": {"labels": 6}, "batch_size": 3}
NONSENSE = {
    "brackets": b"[" * 200_000, "objects": b'{"a":' * 100_000, "digits": b"9" * 6_000, "nothing": b"",
    "not text": b"\xff\xfe\x00", "another record": b'{"spec":{},"versions":{},"format":1}\n',
}


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """A store with a whole evaluation and a whole monitor."""
    world = World(tmp_path_factory.mktemp("whole"), **SMALL)
    world.run()
    folder = tmp_path_factory.mktemp("stream")
    write_stream(folder, 1, items=60)
    register(world.store, a_monitor(folder, quiet_labels=20))
    tick(world.store, "stream", moment=after(1))
    return {key: world.store.get(key) for key in world.store.keys("")}


def damaged_store(values, key, blob):
    """The same, with copies `broken` of both, one key of which holds something else."""
    store = MemoryStore()
    for one, value in values.items():
        if not one.startswith("index/"):
            store.put(one, value)
            for name, copy in (("small/", "broken/"), ("monitors/stream/", "monitors/broken/")):
                if one.startswith(name):
                    other = one.replace(name, copy, 1)
                    store.put(other, blob if other == key else value.replace(b'"small"', b'"broken"'))
    return store


def asked(app, *paths, **headers):
    async def ask():
        transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(path, headers=headers) for path in paths]

    return asyncio.run(ask())


def served(store):
    stores = {"team": ServedStore(alias="team", store=store)}
    return Service(stores, Access(stores=frozenset(stores)))


@pytest.mark.parametrize("what", NONSENSE)
@pytest.mark.parametrize("key", ["broken/spec.json", "monitors/broken/spec.json"])
def test_the_pages_of_all_others_are_there(values, key, what):
    store = damaged_store(values, key, NONSENSE[what])
    home, figures, labels, compared = asked(
        served(store).app(), "/", "/metrics", "/labels", "/compare?of=team/small&of=team/broken"
    )
    assert (home.status_code, figures.status_code, labels.status_code) == (200, 200, 200)
    assert compared.status_code in (200, 500)
    assert "the service's log says why" not in compared.text, "an error of ours, which says why itself"
    assert "small" in home.text
    assert "damaged" in home.text


def test_a_key_of_many_gigabytes_is_not_read_and_the_pages_of_all_others_are_there(values, tmp_path):
    store = LocalStore(tmp_path / "ledger")
    for key, blob in values.items():
        if key.startswith("small/"):
            store.put(key, blob)
    for name in ("huge/spec.json", "huge/pool/manifest.json"):
        path = tmp_path / "ledger" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as opened:
            opened.truncate(1 << 40)     # no room is taken
    with pytest.raises(StoreError, match=r"huge/spec\.json has 1,099,511,627,776 bytes.*restore this key"):
        open_evaluation(store, "huge")
    home, figures = asked(served(store).app(), "/", "/metrics")
    assert (home.status_code, figures.status_code) == (200, 200)
    assert "small" in home.text
    assert "damaged" in home.text


@pytest.mark.parametrize("what", NONSENSE)
def test_commands_name_the_key_and_end_in_an_error_of_ours(values, what):
    store = damaged_store(values, "broken/spec.json", NONSENSE[what])
    for read in (open_evaluation, advance):
        with pytest.raises(DamagedRecord, match=r"broken/spec\.json"):
            read(store, "broken")
    assert "broken/spec.json" in {one.key for one in verify(store, "broken").differences}
    store = damaged_store(values, "monitors/broken/spec.json", NONSENSE[what])
    with pytest.raises(AssayError):
        tick(store, "broken", moment=after(1))
    assert "monitors/broken/spec.json" in {one.key for one in verify_monitor(store, "broken").differences}


def test_a_desk_that_runs_scripts_is_an_error_of_the_ledger(values):
    desk = b'"kind":"label-studio","url":"javascript:x"'
    spec = values["small/spec.json"].replace(b'"kind":"simulated"', desk)
    store = damaged_store(values, "broken/spec.json", spec.replace(b'"small"', b'"broken"'))
    (page,) = asked(served(store).app(), "/evaluations/team/broken")
    assert page.status_code == 500
    assert "restore this key" in page.text
    assert 'href="javascript:' not in page.text


@pytest.mark.parametrize(("writer", "named"), [
    ("1.0.0", "a version later than"), ("0.1", "a version later than"), ("\u202e", "a version later than"),
    ("9.1.0", "assay-evaluation 9.1.0 reads it"),
])
def test_a_format_that_is_not_known_names_a_version_that_can_read_it(writer, named):
    store = MemoryStore()
    store.put("x/spec.json", b'{"format":9,"spec":{},"versions":{"assay":"%s"}}\n' % writer.encode())
    with pytest.raises(OtherFormat, match=named):
        read_spec(Ledger(store, "x"))


# Requests.

def test_one_token_leaves_room_for_others_who_watch(values):
    store, stores = damaged_store(values, "", b""), {}
    stores["team"] = ServedStore(alias="team", store=store)
    service = Service(stores, access_to(stores, f"{'a' * 20}\n{'b' * 20}", None))
    app = service.app()
    path = "/evaluations/team/small/events"

    async def watch(token):
        """The status of a stream's beginning."""
        told = asyncio.Future()

        async def send(message):
            if message["type"] == "http.response.start" and not told.done():
                told.set_result(message["status"])

        async def receive():
            await asyncio.sleep(3600)

        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(b"host", b"x"), (b"authorization", b"Bearer " + token.encode())], "scheme": "http",
            "server": ("x", 80), "client": ("127.0.0.1", 1), "http_version": "1.1", "root_path": "",
            "asgi": {"version": "3.0"},
        }
        return asyncio.ensure_future(app(scope, receive, send)), await asyncio.wait_for(told, 20)

    async def ask():
        streams = await asyncio.gather(*(watch("a" * 20) for _ in range(3 * MOST_WATCHED_BY_ONE)))
        streams.append(await watch("b" * 20))
        for task, _ in streams:
            task.cancel()
        await asyncio.gather(*(task for task, _ in streams), return_exceptions=True)
        return [status for _, status in streams]

    *of_one, of_another = asyncio.run(ask())
    assert Counter(of_one) == {200: MOST_WATCHED_BY_ONE, 503: 2 * MOST_WATCHED_BY_ONE}
    assert of_another == 200
    assert service._watching.total() == 0


def test_a_length_beside_a_transfer_encoding_is_refused(values):
    stores = {"team": ServedStore(alias="team", store=damaged_store(values, "", b""))}
    app = Service(stores, Access(stores=frozenset(stores))).app()
    (page,) = asked(app, "/", **{"content-length": "4", "transfer-encoding": "chunked"})
    assert page.status_code == 400


def test_figures_of_the_receiver_are_for_hosts_of_this_machine(values):
    store = damaged_store(values, "", b"")
    with Wakes(lambda name: None) as wakes:
        app = receiver_app(wakes, b"s" * 16, Figures(store))
        assert [asked(app, "/metrics", host=host)[0].status_code for host in (
            "127.0.0.1:8080", "localhost", "rebound.example.com",
        )] == [200, 200, 421]


def test_lines_that_anybody_can_cause_are_one_a_minute_and_counted():
    now = 0.0
    rare = Seldom(lambda: now)
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "h11.py", 1, "Invalid request", (), None)
    assert [rare.filter(record) for _ in range(1000)] == [True, *[False] * 999]
    other = logging.LogRecord("uvicorn.error", logging.ERROR, "server.py", 9, "%s", ("broken",), None)
    assert rare.filter(other)
    now = 61.0
    assert rare.filter(record)
    assert record.getMessage() == "Invalid request (and 999 more like it)"


def test_a_spec_that_is_shown_has_no_address_of_a_store():
    spec = {"pool": {"source": "s3://secret-bucket/a/pool.parquet"},
            "reference": ["gs://b/c.csv", "rows.csv"],
            "desk": {"kind": "label-studio", "url": "https://labels.example.com/x"}}
    assert spec_without_paths(spec) == {
        "pool": {"source": "…/pool.parquet"}, "reference": ["…/c.csv", "rows.csv"],
        "desk": {"kind": "label-studio", "url": "https://labels.example.com/x"},
    }
