"""The caller's desk over HTTP: a program that has the desk's token asks for items, and tells answers."""

import csv
import time
from contextlib import contextmanager, suppress

import httpx
import pytest
from doubles.small_pool import small_spec
from services.serving import beside

from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.listen.desk import desk_openapi, desk_token
from assay.flows.listen.receiver import Receiver, serve
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.ledger.stores.store import MemoryStore, StoreUnreachable
from assay.tasks.spec.evaluation import Spec

SECRET = "s3cret-of-the-receiver"
PATIENCE = 120.0   # seconds


@contextmanager
def receiving(store):
    options = Receiver(host="127.0.0.1", port=0)
    with beside(lambda **told: serve(store, SECRET, options, **told)) as url:
        yield url


def begun(tmp_path, store, **changes):
    """An evaluation with the caller's desk, and the truth of its items."""
    spec = small_spec(
        tmp_path, n=80, name="spam", desk={"kind": "caller", **changes.pop("desk", {})},
        budget={"labels": 18}, batch_size=6, **changes,
    )
    begin_evaluation(store, spec)
    with (tmp_path / "labels.csv").open(newline="") as opened:
        return {row["item_id"]: row["label"] for row in csv.DictReader(opened)}


def client_of(url, name="spam"):
    headers = {"Authorization": f"Bearer {desk_token(SECRET.encode(), name)}"}
    return httpx.Client(base_url=f"{url}/desks/{name}", headers=headers, timeout=PATIENCE)


def asked(client, **params):
    """What waits, once something does or nothing will."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        reply = client.get("/ask", params=params).raise_for_status().json()
        if reply["items"] or reply["state"] == "finished":
            return reply
        time.sleep(0.05)
    raise AssertionError("nothing was asked")


def test_a_program_elsewhere_asks_and_tells_until_the_evaluation_has_finished(tmp_path):
    store = MemoryStore()
    truth = begun(tmp_path, store)
    labelled = []
    with receiving(store) as url, client_of(url) as client:
        while (reply := asked(client))["state"] == "waiting":
            assert set(reply["choices"]) == {"match", "no match"}
            assert reply["choose_several"] is False
            items = [item["item_id"] for item in reply["items"]]
            told = client.post("/tell", json={"answers": {item: truth[item] for item in items}})
            assert told.json() == {"evaluation": "spam", "answers": len(items), "repeated": False}
            labelled += [item for item in items if item not in labelled]
    standing = current_standing(open_evaluation(store, "spam"))
    assert (standing.state, len(labelled)) == ("finished", 18)


def test_a_program_learns_what_several_questions_ask_and_answers_each(tmp_path):
    rows = [f"item-{n},text {n},{n % 10},{n % 10 / 10}" for n in range(40)]
    (tmp_path / "pool.csv").write_text("\n".join(["item_id,text,guessed,sure", *rows]) + "\n")
    store = MemoryStore()
    begin_evaluation(store, Spec.from_json({
        "name": "spam", "desk": {"kind": "caller"}, "budget": {"labels": 12}, "batch_size": 6,
        "pool": {"source": str(tmp_path / "pool.csv"), "id": "item_id", "display": ["text"]},
        "labels": [
            {"name": "size", "number": {"min": 0, "max": 10}, "prediction": "guessed", "measure": "mean"},
            {"name": "right", "question": "Is it right?", "positive": "yes", "negative": "no",
             "score": "sure", "threshold": 0.5, "measure": "accuracy"},
        ],
    }))
    with receiving(store) as url, client_of(url) as client:
        reply = asked(client)
        assert reply["questions"] == [
            {"name": "size", "question": None, "choices": [], "choose_several": False},
            {"name": "right", "question": "Is it right?", "choices": ["yes", "no"], "choose_several": False},
        ]
        answers = {item["item_id"]: {"size": 3, "right": "yes"} for item in reply["items"]}
        assert client.post("/tell", json={"answers": answers}).json()["answers"] == len(answers)
        unknown = {"answers": {reply["items"][0]["item_id"]: {"colour": "red"}}}
        assert client.post("/tell", json=unknown).status_code == 422


def test_an_unchanged_list_is_not_sent_twice_and_each_person_sees_their_own(tmp_path):
    store = MemoryStore()
    truth = begun(tmp_path, store, desk={"annotators_per_item": 2})
    with receiving(store) as url, client_of(url) as client:
        items = [item["item_id"] for item in asked(client)["items"]]
        reply = client.get("/ask")
        tag = {"If-None-Match": reply.headers["ETag"]}
        assert client.get("/ask", headers=tag).status_code == 304
        client.post("/tell", json={"annotator": "ada", "answers": {items[0]: truth[items[0]]}})
        again = client.get("/ask", headers=tag)
        assert again.status_code == 200
        assert [item["answers"] for item in again.json()["items"]] == [1, 0, 0, 0, 0, 0]
        assert items[0] not in [item["item_id"] for item in asked(client, annotator="ada")["items"]]


def test_a_request_that_comes_again_after_a_correction_changes_nothing(tmp_path):
    store = MemoryStore()
    begun(tmp_path, store)
    with receiving(store) as url, client_of(url) as client:
        item = asked(client)["items"][0]["item_id"]
        first = {"json": {"answers": {item: "match"}}, "headers": {"Idempotency-Key": "1"}}
        assert client.post("/tell", **first).json()["repeated"] is False
        client.post("/tell", json={"answers": {item: "no match"}})
        assert client.post("/tell", **first).json()["repeated"] is True
        last = max(key for key in store.keys("desks/caller/spam/") if "/told/" in key)
        assert b'"no match"' in store.get(last)
        other = client.post("/tell", json={"answers": {item: "no match"}}, headers={"Idempotency-Key": "1"})
        assert other.status_code == 422
        assert "other answers" in other.json()["error"]["message"]


@pytest.mark.parametrize("operation", range(1, 9))
def test_whichever_write_is_the_last_the_same_request_completes_it(tmp_path, operation):
    """The process ends after the n-th operation on the store; a new one gets the same request."""
    class Ends(Exception):
        pass

    class Mortal(MemoryStore):
        left = None

        def _count(self):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise Ends

        def put(self, key, blob):
            self._count()
            kept = super().put(key, blob)
            self._count()
            return kept

    from assay.flows.evaluation.advance import advance
    from assay.flows.people.caller import caller_desk

    store = Mortal()
    truth = begun(tmp_path, store)
    advance(store, "spam")
    spec = open_evaluation(store, "spam").spec
    answers = {w.item.item_id: truth[w.item.item_id] for w in caller_desk(store, spec).ask()}
    store.left = operation
    with suppress(Ends):
        caller_desk(store, spec).tell(answers, "ada", "request 1")
    store.left = None
    caller_desk(store, spec).tell(answers, "ada", "request 1")
    assert caller_desk(store, spec).tell(answers, "ada", "request 1") is False
    assert caller_desk(store, spec).ask() == []
    told = [key for key in store.keys("desks/caller/spam/") if "/told/" in key]
    assert len(told) == 1


def test_who_has_no_token_of_this_desk_learns_nothing(tmp_path):
    store = MemoryStore()
    begun(tmp_path, store)
    with receiving(store) as url:
        other = desk_token(SECRET.encode(), "ham")
        for headers in ({}, {"Authorization": f"Bearer {other}"}, {"Authorization": f"Basic {SECRET}"},
                        {"Authorization": f"Bearer {SECRET}"}, {"X-Assay-Secret": SECRET}):
            for name in ("spam", "nothing-of-this-name", "..%2Fetc"):
                reply = httpx.get(f"{url}/desks/{name}/ask", headers=headers)
                assert reply.status_code in (401, 404), (name, headers)
                assert b"match" not in reply.content
        with client_of(url, "nothing-of-this-name") as client:
            assert client.get("/ask").status_code == 404


@pytest.mark.parametrize(("body", "says"), [
    (b"", "no JSON"), (b"[" * 60_000, "no JSON"), (b'{"answers": NaN}', "no JSON"), (b"[]", "at least one"),
    (b'{"answers": {}}', "at least one"), (b'{"answers": {"x": "match"}, "spec": 1}', "at least one"),
    (b'{"answers": {"x": "match"}, "annotator": 7}', "annotator"),
    (b'{"answers": {"x": "match"}}', "has not asked about"), (b'{"answers": {"x": [1]}}', "list of texts"),
    (b'{"answers": {"x": "perhaps"}}', "is no answer"),
])
def test_what_cannot_be_taken_is_refused_in_a_sentence(served, body, says):
    reply = served.post("/tell", content=body)
    assert reply.status_code == 422
    assert says in reply.json()["error"]["message"]


@pytest.mark.parametrize("header", [
    "Transfer-Encoding: chunked", "Authorization: Bearer x", "Idempotency-Key: 2", "X-Assay-Secret: x",
])
@pytest.mark.parametrize("path", ["/desks/spam/tell", "/incidents/x", "/label-studio/x", "/desks/spam/ask"])
def test_a_request_that_two_readers_would_read_differently_is_refused(served, path, header):
    name, _, value = header.partition(": ")
    headers = [*served.headers.items(), ("Idempotency-Key", "1"), ("X-Assay-Secret", SECRET), (name, value)]
    root = httpx.URL(str(served.base_url)).copy_with(raw_path=path.encode())
    assert served.post(root, content=b'{"answers": {}}', headers=headers).status_code == 400


def test_a_store_that_is_away_is_not_described_to_who_asks(tmp_path, monkeypatch, caplog):
    class Away(MemoryStore):
        def exists(self, key):
            raise StoreUnreachable("s3://secret-bucket: 10.1.2.3 refused the credentials")

    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.01)
    with receiving(Away()) as url, client_of(url) as client:
        for reply in (client.get("/ask"), client.post("/tell", json={"answers": {"x": "match"}})):
            assert (reply.status_code, reply.headers["Retry-After"]) == (503, "10")
            assert "the ledger cannot be used now" in reply.text
            assert "secret-bucket" not in reply.text
    assert "secret-bucket" in caplog.text


@pytest.mark.parametrize("path", ["/ask/", "/tell/", "/ask%2F"])
def test_an_address_that_is_not_there_leads_nowhere_else(served, path):
    assert served.get(path).status_code == 404


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    store = MemoryStore()
    begun(tmp_path_factory.mktemp("pool"), store)
    with receiving(store) as url, client_of(url) as client:
        yield client


def test_its_description_names_every_type_that_it_refers_to(served):
    document = httpx.get(str(served.base_url).replace("/desks/spam/", "/desks/openapi.json")).json()
    assert document == desk_openapi()
    text = str(document)
    for name in ("AskedJson", "QuestionJson", "WaitingJson", "TellJson", "ToldJson", "Problem"):
        assert name in document["components"]["schemas"]
    assert "#/$defs/" not in text


def test_the_command_prints_the_token_of_one_desk(monkeypatch, capsys):
    monkeypatch.setenv("ASSAY_WEBHOOK_SECRET", SECRET)
    assert run_command_line(["desk-token", "spam"]) == 0
    assert capsys.readouterr().out.strip() == desk_token(SECRET.encode(), "spam")
    assert run_command_line(["desk-token", "no/name"]) == 2
