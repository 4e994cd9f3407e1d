"""Pages over HTTP, from a real server: what each says as a page and as JSON, tags, long lists, live rounds;
and the attacks that it withstands."""

import base64
import json
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest
from doubles.counted_store import CountedStore
from doubles.served import HOSTILE, a_store, answer_some, fill, one_waiting
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families
from services.serving import serving

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import advance
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.mute import mute
from assay.flows.serve.server import Served, serve_pages
from assay.flows.serve.stores import access_to, read_only_store
from assay.tasks.ledger import layout

JSON = {"Accept": "application/json"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
TEAM, OTHER, ALL = "t" * 24, "o" * 24, "a" * 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def store(folder):
    values = fill(folder, 24, 10, windows=60)
    store = a_store(values)
    until = datetime(2126, 1, 1, tzinfo=UTC)
    mute(store, "monitor-01", until=until, reason=HOSTILE, moment=datetime.now(UTC))
    return store


@pytest.fixture(scope="module")
def open_to_all(store):
    with (
        serving({"team": read_only_store("team", store)}) as address,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def by_token(store):
    stores = {"team": read_only_store("team", store), "other": read_only_store("other", a_store({}))}
    access = access_to(stores, f"team {TEAM}\nother {OTHER}\n# all\n{ALL}\n", None)
    with serving(stores, access) as address, httpx.Client(base_url=address, timeout=120) as client:
        yield client


def names(client, query, kind="evaluations"):
    key = kind.removesuffix("s")
    return [one[key] for one in client.get(f"/?{query}", headers=JSON).json()[kind]]


def test_home_has_everything_and_what_needs_people_first(open_to_all):
    told = open_to_all.get("/", headers=JSON).json()
    assert (told["total"], told["pages"], told["stores"]) == (35, 1, ["team"])
    assert len(told["evaluations"]) == 24
    assert len(told["monitors"]) == 10
    assert [one["name"] for one in told["damaged"]] == ["broken-0001"]
    page = open_to_all.get("/", headers=BROWSER).text
    listed = re.findall(r'<th scope="row"><a href="/(\w+)/team/([^"]+)"', page)
    assert len(listed) == 35
    breaches = {f"{one['evaluation']}" for one in told["evaluations"] if one["verdict"] == "breach"}
    breaches |= {one["monitor"] for one in told["monitors"] if one["verdict"] == "breach"}
    assert breaches
    assert {name for _, name in listed[: len(breaches)]} == breaches
    assert listed[len(breaches)][1] in ("broken-0001", *(f"monitor-{n:02d}" for n in range(10)))
    breached = next(one for one in told["monitors"] if one["monitor"] == "monitor-01")
    assert (breached["state"], breached["verdict"], breached["budget"]) == ("breach", "breach", 3000)
    assert breached["muted_until"].startswith("2126")
    assert "muted until 2126" in page


def test_the_list_is_searched_filtered_sorted_and_refuses_what_it_does_not_know(open_to_all):
    assert len(names(open_to_all, "q=model-0003")) == 1
    assert names(open_to_all, "kind=monitor") == []
    assert len(names(open_to_all, "kind=monitor", "monitors")) == 10
    waiting = names(open_to_all, "show=waiting&kind=evaluation")
    assert {one.partition("-")[0] for one in waiting} == {"waiting"}
    in_order = names(open_to_all, "sort=name")
    assert in_order == sorted(in_order)
    found = names(open_to_all, "q=ada&team=search&sort=name")
    assert found
    assert found == [one for one in in_order if one in found]
    for wrong in ("sort=secret", "show=1", "page=0", "page=x", "page=2", "nothing=1", "q=a&q=b",
                  f"q={'x' * 201}", f"page=000000001{'9' * 5_000}"):
        reply = open_to_all.get(f"/?{wrong}", headers=JSON)
        assert reply.status_code in (400, 404), wrong
        assert set(reply.json()["error"]) == {"kind", "message", "exit_code"}


def test_an_evaluation_is_its_report_as_a_page_and_as_json(open_to_all):
    (name, *_) = names(open_to_all, "show=breach&kind=evaluation")
    page = open_to_all.get(f"/evaluations/team/{name}", headers=BROWSER).text
    for section in ("How far to trust the interval", "How the estimate settled", "Begin one like it"):
        assert section in page
    assert "assay begin" in page
    report = open_to_all.get(f"/evaluations/team/{name}", headers=JSON).json()
    assert report["evaluation"] == name
    assert report["verdict"] == "breach"
    assert report["history"]
    spec = open_to_all.get(f"/evaluations/team/{name}/spec").text
    assert "source: …/predictions.csv" in spec


def test_people_who_answer_are_numbers_and_are_counted(open_to_all):
    (name, *_) = names(open_to_all, "show=waiting&kind=evaluation")
    page = open_to_all.get(f"/evaluations/team/{name}", headers=BROWSER).text
    assert len(re.findall(r"person-[0-9a-f]{8}", page)) == 2
    assert "12 answers so far" in page
    assert "grace" not in page.replace("grace@example.com", "")
    standing = open_to_all.get(f"/evaluations/team/{name}", headers=JSON).json()
    assert standing["waiting_for"]["items"] == 20


def test_a_monitor_has_history_windows_evidence_and_mutes(open_to_all):
    reply = open_to_all.get("/monitors/team/monitor-01", headers=JSON)
    told = reply.json()
    assert len(told["windows"]) == 50
    assert told["windows"][-1]["window"] == "2026-11-25"
    assert reply.headers["x-total-count"] == "60"
    assert 'rel="next"' in reply.headers["link"]
    further = open_to_all.get("/monitors/team/monitor-01?page=2", headers=JSON).json()
    assert [one["window"] for one in further["windows"] + told["windows"]] == sorted(
        one["window"] for one in further["windows"] + told["windows"]
    )
    page = open_to_all.get("/monitors/team/monitor-01", headers=BROWSER).text
    for words in ("Alerts are muted until", "Evidence, as of window 2026-11-25", "page 1 of 2", "in breach"):
        assert words in page
    window = "/monitors/team/monitor-01/windows/2026-11-25"
    assert "Window 2026-11-25" in open_to_all.get(window, headers=BROWSER).text
    assert open_to_all.get(window, headers=JSON).json()["state"] == "breach"


def test_evaluations_are_compared_and_labels_are_summed(open_to_all):
    several = names(open_to_all, "show=finished&kind=evaluation")[:2]
    query = "&".join(f"of=team/{name}" for name in several)
    page = open_to_all.get(f"/compare?{query}", headers=BROWSER).text
    assert "Reading them side by side" in page
    told = open_to_all.get(f"/compare?{query}", headers=JSON).json()
    assert [one["evaluation"] for one in told["evaluations"]] == several
    alone = open_to_all.get(f"/compare?of=team/{several[0]}", headers=JSON)
    assert alone.status_code == 400
    assert "has one system" in alone.json()["error"]["message"]
    assert "Choose up to twelve" in open_to_all.get("/compare", headers=BROWSER).text
    labels = open_to_all.get("/labels", headers=JSON).json()
    assert labels["labels"] == sum(one["labels"] for one in labels["bought"])
    assert all(one["cost"] == pytest.approx(0.25 * one["labels"]) for one in labels["bought"])
    assert "By team" in open_to_all.get("/labels", headers=BROWSER).text


def test_every_json_fits_the_published_schema_of_its_address(open_to_all):
    described = open_to_all.get("/openapi.json").json()
    (name, *_) = names(open_to_all, "show=finished&kind=evaluation")
    (waiting, *_) = names(open_to_all, "show=waiting&kind=evaluation")
    for address, path in (
        ("/", "/"), ("/labels", "/labels"),
        (f"/evaluations/team/{name}", "/evaluations/{store}/{name}"),
        (f"/evaluations/team/{waiting}", "/evaluations/{store}/{name}"),
        ("/monitors/team/monitor-02", "/monitors/{store}/{name}"),
        ("/monitors/team/monitor-00/windows/2026-11-25", "/monitors/{store}/{name}/windows/{window}"),
    ):
        content = described["paths"][path]["get"]["responses"]["200"]["content"]
        schema = {**content["application/json"]["schema"], "components": described["components"]}
        told = open_to_all.get(address, headers=JSON)
        assert told.status_code == 200, address
        Draft202012Validator(schema).validate(told.json())


def test_a_page_that_did_not_change_is_not_sent_again(open_to_all):
    for path in ("/", "/monitors/team/monitor-03", "/labels"):
        first = open_to_all.get(path, headers=BROWSER)
        again = open_to_all.get(path, headers=BROWSER | {"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), path
        as_json = open_to_all.get(path, headers=JSON | {"If-None-Match": first.headers["etag"]})
        assert as_json.status_code == 200
        assert "Accept" in first.headers["vary"]
    style = re.search(r'href="(/static/[^"]+)"', open_to_all.get("/").text)[1]
    assert "immutable" in open_to_all.get(style).headers["cache-control"]


def test_prometheus_reads_the_figures_of_all(open_to_all):
    found = {}
    for family in text_string_to_metric_families(open_to_all.get("/metrics").text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    of = {"store", "name", "kind", "measure", "owner", "team"}
    for name in ("assay_value", "assay_lower", "assay_upper", "assay_labels", "assay_labels_budget",
                 "assay_labels_bought", "assay_age_seconds", "assay_price_per_label"):
        assert {key for sample in found[name] for key in sample.labels} == of, name
    assert {sample.labels["kind"] for sample in found["assay_value"]} == {"evaluation", "monitor"}
    assert {s.labels["state"] for s in found["assay_state"]} >= {"waiting", "finished", "breach"}
    assert found["assay_monitor_windows"][0].labels["store"] == "team"
    assert open_to_all.get("/healthz").json() == {"status": "up"}


def test_rounds_are_told_while_people_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.flows.serve.app.LOOK_SECONDS", 0.2)
    live = one_waiting(tmp_path)
    with (
        serving({"team": read_only_store("team", live)}) as address,
        httpx.stream("GET", f"{address}/evaluations/team/live/events", timeout=120) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = reply.iter_lines()
        assert next(lines) == "retry: 5000"
        answer_some(tmp_path / "desk" / "live", tmp_path / "labels.csv", share=1.0)
        advance(live, "live")
        event = next(line for line in lines if line.startswith("event:"))
        told = json.loads(next(lines).removeprefix("data: "))
    assert event in ("event: changed", "event: finished")
    assert set(told) == {"state", "rounds", "labels"}


def test_the_ledger_is_only_read(store, open_to_all):
    before = dict(store._values)
    for path in ("/", "/labels", "/metrics", "/monitors/team/monitor-04", "/compare"):
        assert open_to_all.get(path).status_code == 200
    assert store._values == before


def test_a_home_page_takes_fewer_than_twice_the_calls_of_status(store):
    from assay.flows.record.finished import standings
    from assay.flows.serve.home import StoreView

    counted = CountedStore(a_store(dict(store._values)))
    standings(counted)
    for n in range(10):
        read_monitor_history(counted, f"monitor-{n:02d}")
    of_status = counted.calls
    seconds = iter(range(0, 1000, 10))
    view = StoreView(read_only_store("team", counted), clock=lambda: float(next(seconds)))
    view.look()
    assert counted.calls - of_status < 2 * of_status
    before = counted.calls
    assert len(view._look().entries) == 35
    assert counted.calls - before < of_status


def test_the_windows_of_a_damaged_monitor_are_no_evaluations(store):
    from assay.flows.serve.home import StoreView

    values = {k: v for k, v in store._values.items() if k.startswith("monitors/monitor-00/")}
    evaluation = next(k for k in store._values if "-model-0001/" in k).split("/")[0]
    window = next(k for k in values if "/windows/" in k).split("/windows/")[1].split("/")[0]
    values |= {
        k.replace(evaluation, f"monitor-00-{window}", 1): v
        for k, v in store._values.items() if k.startswith(f"{evaluation}/")
    }
    whole = StoreView(read_only_store("team", a_store(values))).look().entries
    assert [one.name for one in whole] == ["monitor-00"]
    values[layout.spec(layout.monitor_ledger("monitor-00"))] = b"{"
    found = StoreView(read_only_store("team", a_store(values))).look().entries
    assert [(one.kind, one.name, one.state) for one in found] == [("monitor", "monitor-00", "damaged")]


@pytest.mark.services
def test_on_s3_a_home_page_takes_fewer_than_twice_the_requests_of_status(tmp_path, s3):
    from assay.flows.record.finished import standings
    from assay.flows.serve.home import StoreView
    from assay.tasks.ledger.stores.opening import open_store

    store = open_store(s3.new_url("served"))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda one: store.put(*one), fill(tmp_path, 9, 3, windows=6).items()))
    requests = []

    def many(work):
        before = len(requests)
        work()
        return len(requests) - before

    def ask_status():
        assert len(standings(store)) == 9
        for n in range(3):
            read_monitor_history(store, f"monitor-{n:02d}")

    client = store._connected()      # every request that it sends, those of long listings too
    client.meta.events.register("before-send.s3", lambda **_: requests.append(1))
    of_status = many(ask_status)
    seconds = iter(range(0, 1000, 10))
    view = StoreView(read_only_store("team", store), clock=lambda: float(next(seconds)))
    assert many(view.look) < 2 * of_status
    assert many(view._look) < of_status
    assert len(view._look().entries) == 12
    assert of_status > 30


# Attacks.

def test_without_a_token_nobody_else_can_reach_it(store):
    stores = {"team": read_only_store("team", store)}
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        with pytest.raises(BadInput, match="ASSAY_SERVE_TOKEN"):
            serve_pages(Served(stores=stores, access=access_to(stores, "", None), host=host, port=0))


def test_a_browser_led_here_by_another_name_sees_nothing(open_to_all, by_token):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "10.0.0.1"):
        assert open_to_all.get("/", headers={"Host": host}).status_code == 421, host
    for host in ("localhost:8090", "127.0.0.1", "[::1]:8090", "127.9.9.9"):
        assert open_to_all.get("/", headers={"Host": host}).status_code == 200, host
    named = {"Host": "assay.example", "Authorization": f"Bearer {ALL}"}
    assert by_token.get("/", headers=named).status_code == 200


def test_only_who_has_a_token_sees_anything(by_token):
    for given in ({}, {"Authorization": ""}, {"Authorization": f"Bearer {ALL}x"}, {"Authorization": ALL},
                  {"Authorization": f"Bearer {ALL[:-1]}"}, {"Authorization": "Basic !!!"},
                  {"Authorization": f"Bearer {ALL.upper()}"}, {"X-Forwarded-User": "ada"},
                  {"Cookie": f"token={ALL}"}):
        for path in ("/", "/metrics", "/openapi.json", "/labels", "/evaluations/team/x", "/static/x"):
            reply = by_token.get(path, headers=given)
            assert reply.status_code == 401, (given, path)
            assert ALL not in reply.text
            assert reply.headers["www-authenticate"].startswith("Basic")
    assert by_token.get("/healthz").status_code == 200
    basic = base64.b64encode(f"anybody:{ALL}".encode()).decode()
    assert by_token.get("/", headers={"Authorization": f"Basic {basic}"}).status_code == 200
    twice = [("Authorization", f"Bearer {OTHER}"), ("Authorization", f"Bearer {ALL}")]
    assert by_token.get("/", headers=twice).status_code == 401


def test_a_team_sees_its_store_and_hears_of_no_other(by_token):
    mine, theirs = {"Authorization": f"Bearer {TEAM}"}, {"Authorization": f"Bearer {OTHER}"}
    assert by_token.get("/", headers=mine | JSON).json()["stores"] == ["team"]
    told = by_token.get("/", headers=theirs | JSON).json()
    assert (told["stores"], told["total"]) == (["other"], 0)
    assert "assay_value{" not in by_token.get("/metrics", headers=theirs).text
    real = by_token.get("/monitors/team/monitor-01", headers=theirs | JSON)
    none = by_token.get("/monitors/none/monitor-01", headers=theirs | JSON)
    assert (real.status_code, none.status_code) == (404, 404)
    assert real.text.replace("team", "none") == none.text
    for path in ("/evaluations/team/kept-model-0001/events", "/evaluations/team/kept-model-0001/spec",
                 "/compare?of=team/kept-model-0001&of=other/x", "/?store=team"):
        assert by_token.get(path, headers=theirs).status_code == 404, path
    tag = by_token.get("/labels", headers=mine).headers["etag"]
    assert by_token.get("/labels", headers=theirs | {"If-None-Match": tag}).status_code == 200


def test_behind_a_proxy_the_header_is_needed_and_with_a_token_both(store):
    stores = {"team": read_only_store("team", store)}
    user, token = {"X-Forwarded-User": "ada"}, {"Authorization": f"Bearer {ALL}"}
    with serving(stores, access_to(stores, "", "X-Forwarded-User")) as address:
        assert httpx.get(address, timeout=120).status_code == 401
        assert httpx.get(address, timeout=120, headers={"X-Forwarded-User": ""}).status_code == 401
        assert httpx.get(address, timeout=120, headers=user).status_code == 200
        twice = [("X-Forwarded-User", "ada"), ("X-Forwarded-User", "")]
        assert httpx.get(address, timeout=120, headers=twice).status_code == 401
    with serving(stores, access_to(stores, ALL, "X-Forwarded-User")) as address:
        told = [httpx.get(address, timeout=120, headers=one) for one in (user, token, user | token)]
        assert [reply.status_code for reply in told] == [401, 401, 200]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_nothing_can_be_changed(open_to_all, method):
    for path in ("/", "/labels", "/evaluations/team/x", "/metrics", "/healthz", "/nowhere", "/static/x"):
        reply = open_to_all.request(method, path)
        assert (reply.status_code, reply.headers["allow"]) == (405, "GET, HEAD"), path
    assert open_to_all.head("/").status_code == 200


def test_hostile_names_and_texts_are_text_and_no_page_runs_a_script_of_its_own(open_to_all):
    waiting = names(open_to_all, "show=waiting&kind=evaluation")[0]
    failed = next(n for n in names(open_to_all, "kind=monitor", "monitors") if n == "monitor-08")
    for path in ("/", f"/?q={HOSTILE}", f"/evaluations/team/{waiting}", f"/monitors/team/{failed}",
                 "/monitors/team/monitor-01", f"/monitors/{HOSTILE}/x", "/?sort=<script>"):
        reply = open_to_all.get(path, headers=BROWSER)
        assert "<script>" not in reply.text.replace('<script src="/static/', ""), path
        assert "\u202e" not in reply.text
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<[^>]+\s(on\w+|style)=", reply.text), path
        assert "<style" not in reply.text
        for header in ("x-content-type-options", "x-frame-options", "referrer-policy"):
            assert header in reply.headers
    refused = open_to_all.get("/?sort=<script>", headers=JSON)
    assert refused.headers["content-type"] == "application/json"


def test_no_path_and_no_address_of_this_machine_is_on_any_page(tmp_path, folder, store):
    from doubles.served import write_store

    place = tmp_path / "secret-place"
    write_store(store._values, place / "ledger")
    (place / "ledger" / "monitors" / "monitor-05" / "spec.json").write_bytes(b"{")
    from assay.tasks.ledger import open_store

    with serving({"team": read_only_store("team", open_store(str(place / "ledger")))}) as address:
        client = httpx.Client(base_url=address, timeout=120)
        several = names(client, "show=finished&kind=evaluation")[:2]
        paths = ["/", "/labels", "/metrics", "/compare", "/monitors/team/monitor-05", "/monitors/team/none",
                 f"/evaluations/team/{several[0]}", f"/evaluations/team/{several[0]}/spec",
                 "/evaluations/team/broken-0001",
                 f"/evaluations/team/{names(client, 'show=waiting&kind=evaluation')[0]}"]
        for path in paths:
            for accept in (JSON, BROWSER):
                reply = client.get(path, headers=accept)
                assert "secret-place" not in reply.text, path
                assert str(folder) not in reply.text, path
                assert "Traceback" not in reply.text
        client.close()


@pytest.mark.parametrize("name", [
    "..%2F..%2Fetc", "%2e%2e", "a%20b", "index", "monitors", "x" * 101, "a%00b", "%ff", "..;/x",
    "a%0d%0aSet-Cookie:x",
])
def test_names_that_are_no_names_are_not_looked_for(open_to_all, name):
    for kind in ("evaluations", "monitors"):
        reply = open_to_all.get(f"/{kind}/team/{name}", headers=JSON)
        assert reply.status_code == 404
        assert "set-cookie" not in reply.headers


def connection_to(client):
    url = client.base_url
    return socket.create_connection((url.host, url.port), timeout=120)


def test_clients_that_send_nothing_are_cut_off_and_hold_up_nobody(open_to_all, monkeypatch):
    monkeypatch.setattr("assay.flows.listen.connections.HEADER_SECONDS", 0.5)
    silent = [connection_to(open_to_all) for _ in range(100)]
    for one in silent:
        one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half")
    assert open_to_all.get("/healthz", timeout=60).status_code == 200
    for one in silent:
        assert one.recv(100) == b""
        one.close()


def test_clients_that_take_nothing_are_cut_off(open_to_all, monkeypatch):
    monkeypatch.setattr("assay.flows.serve.server.TAKE_SECONDS", 0.5)
    slow = connection_to(open_to_all)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    asked = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    slow.sendall(asked * 200)
    ended, gone = time.monotonic() + 60, False
    while not gone and time.monotonic() < ended:
        try:
            slow.sendall(asked)
            time.sleep(0.1)
        except OSError:
            gone = True      # the other end is
    assert gone
    slow.close()
    assert open_to_all.get("/healthz").status_code == 200


def test_too_many_who_watch_are_told_to_come_back(open_to_all, monkeypatch):
    monkeypatch.setattr("assay.flows.serve.app.MOST_WATCHING", 0)
    waiting = names(open_to_all, "show=waiting&kind=evaluation")[0]
    reply = open_to_all.get(f"/evaluations/team/{waiting}/events")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "10")


def test_the_command_says_what_is_wrong_before_it_serves(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ASSAY_SERVE_TOKEN", raising=False)
    (tmp_path / "ledger").mkdir()
    where = str(tmp_path / "ledger")
    tokens = tmp_path / "tokens"
    tokens.write_text("short\n")
    for arguments, said in (
        (["--host", "0.0.0.0", where], "ASSAY_SERVE_TOKEN"),
        (["--token-file", str(tokens), where], "16 printable"),
        (["--store", "No=x"], "an alias is"),
        (["--store", "a=x", "--store", "a=y"], "two stores"),
        (["--trust-header", "X User", where], "no name of a header"),
    ):
        assert run_command_line(["serve", *arguments, "--port", "0"]) == 2, arguments
        assert said in capsys.readouterr().err
    monkeypatch.setenv("ASSAY_SERVE_TOKEN", "e" * 20)
    tokens.write_text("f" * 20)
    assert run_command_line(["serve", "--token-file", str(tokens), where]) == 2
    assert "once" in capsys.readouterr().err
