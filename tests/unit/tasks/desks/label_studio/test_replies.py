"""What the desk makes of replies: pages that are shorter than asked for, tasks that go while they are read,
and JSON of other shapes than Label Studio gives."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from doubles.desks import label_studio_desk

from assay.evalcore.annotators.answers import class_answers
from assay.evalcore.errors import AssayError
from assay.tasks.desks.desk import Batch, DeskRefused, Item
from assay.tasks.desks.label_studio.api import LABEL_STUDIO, LabelStudioApi
from assay.tasks.desks.label_studio.desk import LabelStudioDesk
from assay.tasks.desks.replies import Replies
from assay.tasks.ledger import record

CLASSES = class_answers("yes", "no")
NOTHING = b""


class Double:
    """As much of Label Studio as the desk uses. `most`: tasks on a page, whatever is asked for."""

    def __init__(self) -> None:
        self.url = "http://label-studio.example"
        self.most = 100
        self.projects: list[dict[str, Any]] = []
        self.tasks: dict[int, dict[str, Any]] = {}
        self.hooks: list[dict[str, Any]] = []
        self.before_page: dict[int, list[int]] = {}    # tasks that are deleted once the page is counted
        self.pages = 0
        self.instead: dict[str, bytes] = {}            # "METHOD path" -> the body of what it answers

    def answer(self, method: str, whole: str, body: bytes) -> bytes:
        path, query = urlsplit(whole).path, parse_qs(urlsplit(whole).query)
        if (said := self.instead.get(f"{method} {re.sub('[0-9]+', 'N', path)}")) is not None:
            return said
        return json.dumps(self._value(method, path, query, json.loads(body or b"null"))).encode()

    def _value(self, method: str, path: str, query: dict[str, list[str]], sent: Any) -> Any:
        if path == "/api/projects/" and method == "POST":
            self.projects.append({"id": len(self.projects) + 1, **sent})
            return self.projects[-1]
        if path == "/api/projects/":
            return {"count": len(self.projects), "next": None, "results": self.projects}
        if path.endswith("/import"):
            for data in sent:
                number = max(self.tasks, default=0) + 1
                self.tasks[number] = {"id": number, "project": 1, "annotations": [], **data}
            return {"task_count": len(sent)}
        if path.startswith("/api/projects/"):
            return self.projects[0]
        if path == "/api/webhooks/":
            return self.hooks
        if path == "/api/tasks/":
            return self._page(json.loads(query["query"][0])["filters"]["items"], int(query["page_size"][0]))
        return {}

    def _page(self, conditions: list[dict[str, Any]], size: int) -> Any:
        rows = list(self.tasks.values())
        for one in conditions:
            if one["filter"] == "filter:tasks:id":
                greater = one["operator"] == "greater"
                rows = [r for r in rows if (r["id"] > one["value"] if greater else r["id"] == one["value"])]
            else:
                rows = [r for r in rows if r["data"]["assay_batch"] == one["value"]]
        page = rows[: min(size, self.most)]
        self.pages += 1
        for gone in self.before_page.get(self.pages, []):
            self.tasks.pop(gone, None)
        return {"total": len(rows), "tasks": [row for row in page if row["id"] in self.tasks]}


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Double:
    """In place of the network: everything above it is as always."""
    one = Double()

    def reply(_transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        body = one.answer(request.method, str(request.url), request.read())
        return httpx.Response(200, content=body, headers={"Content-Type": "application/json"})

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", reply)
    return one


def desk_at(api: LabelStudioApi) -> LabelStudioDesk:
    return label_studio_desk(api, evaluation="e", answers=CLASSES, display=["text"])


def batch_of(n: int) -> Batch:
    items = [Item(item_id=f"i{k}", shown={"text": f"text {k}"}) for k in range(n)]
    return Batch(evaluation="e", round=1, items=items)


def posted(double: Double, n: int) -> tuple[LabelStudioDesk, Batch]:
    desk, batch = desk_at(LabelStudioApi(double.url, "t" * 40, read_attempts=1)), batch_of(n)
    desk.prepare()
    desk.post(batch, batch.items)
    return desk, batch


def test_a_server_that_gives_shorter_pages_than_asked_for_is_read_to_the_end(double: Double):
    desk, batch = posted(double, 120)
    assert desk.missing(batch) == []
    assert len(desk.collect(batch).present) == 120


def test_a_task_deleted_while_a_page_is_read_takes_no_other_item_with_it(double: Double):
    double.most = 200
    desk, batch = posted(double, 250)
    double.before_page = {double.pages + 1: [7]}
    assert len(desk.collect(batch).present) == 249


def test_what_a_page_left_out_is_found_by_reading_once_more(double: Double):
    desk, batch = posted(double, 90)
    kept, honest = dict(double.tasks), double._page

    def forgetful(conditions: list[dict[str, Any]], size: int) -> Any:
        double._page = honest  # type: ignore[method-assign]
        page = honest(conditions, size)
        return {**page, "tasks": [row for row in page["tasks"] if row["id"] != 5]}

    double._page = forgetful  # type: ignore[method-assign]
    assert desk.missing(batch) == []
    assert kept == double.tasks


def test_a_server_that_ignores_the_filter_is_no_endless_read(double: Double):
    desk, batch = posted(double, 3)
    honest = double._page
    double._page = lambda conditions, size: honest(conditions[:1], size)  # type: ignore[method-assign]
    with pytest.raises(DeskRefused, match="api/tasks/"):
        desk.missing(batch)


STRANGE = [
    NOTHING, b"null", b"[]", b"{}", b'"x"', b"7", b"true", b"[null]", b"[[]]", b'["x"]', b'{"tasks": null}',
    b'{"tasks": [null], "total": 1}', b'{"tasks": [{"id": "x"}], "total": 1}', b'{"tasks": "x", "total": 1}',
    b'{"tasks": [{"id": 1, "project": 1, "data": null, "annotations": []}], "total": 1}',
    b'{"tasks": [{"id": 1, "project": 1, "data": {}, "annotations": [null]}], "total": 1}',
    b'{"tasks": [{"id": 1, "data": {}, "annotations": {}}], "total": 1}',
    b'{"tasks": [], "total": null}', b'{"results": null}', b'{"results": [null], "count": 1, "next": null}',
    b'{"results": [{"title": "x"}], "count": 1, "next": null}', b'{"results": [], "count": "x"}',
    b'{"results": [{"id": 1, "title": null, "description": null}], "count": 1, "next": "again"}',
    b'{"id": null}', b'{"id": [], "title": [], "label_config": {}}', b'{"task_count": "x"}',
    b"[" * 100_000, b'{"id": NaN}', b'{"tasks": [], "total": 1e999}',
    b'[{"id": 1}]', b'[{"id": null, "url": "http://a.example/"}]',
    b'[{"id": 1, "url": "http://a.example/", "headers": []}]',
]
ENDPOINTS = [
    "GET /api/projects/", "POST /api/projects/", "GET /api/projects/N/", "PATCH /api/projects/N/",
    "POST /api/projects/N/import", "GET /api/tasks/", "PATCH /api/tasks/N/", "DELETE /api/tasks/N/",
    "GET /api/webhooks/", "POST /api/webhooks/", "PATCH /api/webhooks/N/",
]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_reply_of_another_shape_is_an_error_of_ours_or_none(double: Double, endpoint: str):
    """Every call of a desk, with every strange reply: nothing but our own errors comes out."""
    api = LabelStudioApi(double.url, "t" * 40, read_attempts=1)
    whole, batch = batch_of(3), batch_of(2)
    for said in STRANGE:
        double.projects, double.tasks, double.hooks = [], {}, [{"id": 4, "url": "http://a.example/"}]
        desk = desk_at(api)
        if not endpoint.startswith("POST /api/projects/"):
            desk.prepare()
            desk.post(batch, batch.items)
            desk.post(batch, batch.items)     # copies, which are removed
        double.instead = {endpoint: said}
        for call in (*calls_of(desk, whole), lambda: desk_at(api).missing(whole)):
            with suppress(AssayError):
                call()
        double.instead = {}


def calls_of(desk: LabelStudioDesk, batch: Batch) -> list[Callable[[], object]]:
    return [
        desk.prepare, desk.place, lambda: desk.post(batch, batch.items), lambda: desk.missing(batch),
        lambda: desk.collect(batch), lambda: desk.request_more(batch, ["i1"], 2),
        lambda: desk.send_hints_to("http://a.example/", "s"),
    ]


def test_an_empty_list_of_tasks_in_another_shape_is_not_taken_for_none(double: Double):
    desk, batch = posted(double, 3)
    for said in (NOTHING, b"[]", b"{}", b'{"tasks": []}'):
        double.instead = {"GET /api/tasks/": said}
        with pytest.raises(DeskRefused, match="api/tasks/ with JSON that Label Studio does not give"):
            desk.missing(batch)


def test_an_answer_with_half_a_character_is_invalid_and_can_be_kept(double: Double):
    desk, batch = posted(double, 1)
    said = [{"from_name": "label", "value": {"choices": ["\ud800"]}}]
    double.tasks[1]["annotations"] = [{"id": 1, "created_at": "2026", "completed_by": 1, "result": said}]
    (answer,) = desk.collect(batch).annotations
    assert answer.kind == "invalid"
    assert b"choices" in record.encode(answer)


def test_a_sign_in_that_is_answered_with_something_else_is_an_error_of_ours(double: Double):
    token = jwt.encode({"exp": 4_000_000_000, "token_type": "refresh"}, "k" * 32)
    odd = jwt.encode({"exp": 1e300}, "k" * 32)
    for said in (*STRANGE, b'{"access": null}', b'{"access": 7}', json.dumps({"access": odd}).encode()):
        double.instead = {"POST /api/token/refresh/": said}
        with pytest.raises(AssayError):
            LabelStudioApi(double.url, token, read_attempts=1).get_json("api/projects/")


def test_a_proxy_that_refuses_or_is_gone_is_told_as_a_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://user:pass@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "elsewhere.example")
    said = Replies(LABEL_STUDIO, "http://label-studio.example", "token")
    refused = str(said.refusal(403, None))
    assert "something between here and Label Studio answered 403" in refused
    assert "go through the proxy proxy.example; let it pass" in refused
    assert "NO_PROXY" in refused
    assert "token" not in refused
    gone = str(said.unreachable(httpx.ConnectError("connection refused")))
    assert "requests to it go through the proxy proxy.example; check desk.url" in gone
    assert "pass" not in gone.replace("passes", "")
    assert "refused the token (403: no)" in str(said.refusal(403, {"detail": "no"}))
    assert "refused the token" not in str(said.refusal(407, {"detail": "no"}))
    monkeypatch.setenv("NO_PROXY", "label-studio.example")
    assert "proxy" not in str(said.unreachable(httpx.ConnectError("connection refused")))
