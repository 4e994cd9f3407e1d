"""As much of Langfuse as the desk uses, held to the interface that Langfuse publishes.

Every request and every reply is checked against `langfuse_interface.json`: the names and types of what the
desk asks, of the OpenAPI description of version 4.16. Nobody has seen a server answer so. What the
description does not say is as the code of that version does it: queues have distinct names, scores and
entries of a queue have not; a page has at most 100 rows; a score that somebody gives is shared by all who see
the trace.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from doubles.http_double import HttpDouble, Reply
from jsonschema import Draft202012Validator

INTERFACE = json.loads(Path(__file__).with_name("langfuse_interface.json").read_text(encoding="utf-8"))
PUBLIC, SECRET = "pk-lf-1", "sk-lf-0123456789"
Object = dict[str, Any]


class LangfuseDouble(HttpDouble):
    """One project: its queues and their entries, configurations, traces and scores."""

    root = "/api/public/"

    def __init__(self, *, third: bool = True) -> None:
        """third: whether scores are listed at `v3/scores`."""
        super().__init__()
        self.third = third
        self.queues: list[Object] = []
        self.configs: list[Object] = []
        self.entries: list[Object] = []
        self.traces: dict[str, Object] = {}
        self.scores: list[Object] = []
        self.page = 100
        self._seconds = 0

    def refused(self, headers: Mapping[str, str]) -> Reply | None:
        right = f"Basic {b64encode(f'{PUBLIC}:{SECRET}'.encode()).decode()}"
        if headers.get("Authorization") == right:
            return None
        return 401, json.dumps({"error": "UnauthorizedError", "message": "Invalid credentials"})

    def routed(self, method: str, path: list[str], query: dict[str, list[str]], sent: Any) -> Reply:
        template = ["{queueId}" if n == 1 else "{itemId}" if n == 3 else part for n, part in enumerate(path)]
        name = f"{method} {'/'.join(template if path[0] == 'annotation-queues' else path)}"
        operation = INTERFACE["operations"].get(name)
        if operation is None or (not self.third and name == "GET v3/scores"):
            return 404, json.dumps({"message": "Not Found"})
        unknown = query.keys() - set(operation["query"])
        assert not unknown, f"{name}: {unknown}"
        if "body" in operation:
            _fits(operation["body"], sent)
        status, reply = self._answered(name, path, {key: values[0] for key, values in query.items()}, sent)
        if status == 200:
            _fits(operation["replies"]["200"], reply)
        return status, json.dumps(reply)

    def annotate(self, trace: str, name: str, value: Any, user: str | None = "ada") -> None:
        """Somebody gives an answer on the page of a trace; there is one of each name, which all share."""
        (config,) = (config for config in self.configs if config["name"] == name)
        old = next((s for s in self.scores if (s["traceId"], s["name"]) == (trace, name)), None)
        now = self._now()
        score = old or {"id": f"s{len(self.scores)}", "createdAt": now, "traceId": trace, "name": name}
        score |= {
            "value": value, "authorUserId": user, "updatedAt": now, "dataType": config["dataType"],
            "source": "ANNOTATION", "configId": config["id"],
        }
        if old is None:
            self.scores.append(score)

    def complete(self, trace: str) -> None:
        """Somebody completes the entry that leads to a trace: the first that is open."""
        entry = next(e for e in self.entries if (e["objectId"], e["status"]) == (trace, "PENDING"))
        now = self._now()
        entry |= {"status": "COMPLETED", "completedAt": now, "updatedAt": now}

    def _answered(self, name: str, path: list[str], query: dict[str, str], sent: Any) -> tuple[int, Object]:
        match name.split():
            case "GET", "projects":
                owner = {"id": "O", "name": "us"}
                return 200, {"data": [{"id": "P", "name": "labels", "organization": owner, "metadata": {}}]}
            case "GET", "annotation-queues":
                return self._page(self.queues, query)
            case "POST", "annotation-queues":
                if any(queue["name"] == sent["name"] for queue in self.queues):
                    return 400, {"message": "A queue with this name already exists."}
                if not {config["id"] for config in self.configs} >= set(sent["scoreConfigIds"]):
                    return 400, {"message": "At least one of the score config IDs cannot be found"}
                return 200, self._kept(self.queues, sent)
            case "GET", "score-configs":
                return self._page(self.configs, query)
            case "POST", "score-configs":
                assert 1 <= len(sent["name"]) <= 35
                return 200, self._kept(self.configs, {"projectId": "P", "isArchived": False, **sent})
            case "POST", "otel/v1/traces":
                for span in sent["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                    assert len(bytes.fromhex(span["traceId"])) == 16
                    assert len(bytes.fromhex(span["spanId"])) == 8
                    attributes = {each["key"]: each["value"]["stringValue"] for each in span["attributes"]}
                    self.traces[span["traceId"]] = {**span, "attributes": attributes}
                return 200, {}
            case "GET", "v3/scores":
                return 200, self._third_scores(query)
            case "GET", "v2/scores":
                rows = [
                    {**self._score(score), "traceId": score["traceId"], **_second(score)}
                    for score in self.scores if score["name"] == query["name"]
                ]
                return self._page(rows, query)
        entries = [entry for entry in self.entries if entry["queueId"] == path[1]]
        if not any(queue["id"] == path[1] for queue in self.queues):
            return 404, {"message": "Annotation queue not found"}
        match name.split()[0]:
            case "GET":
                return self._page(entries, query)
            case "POST":
                return 200, self._kept(self.entries, {
                    "queueId": path[1], "status": "PENDING", "completedAt": None, **sent
                })
        there = [entry for entry in entries if entry["id"] == path[3]]
        self.entries = [entry for entry in self.entries if entry not in there]
        return (200, {"success": True, "message": "deleted"}) if there else (404, {"message": "not found"})

    def _page(self, rows: list[Object], query: dict[str, str]) -> tuple[int, Object]:
        page, limit = int(query.get("page", 1)), int(query.get("limit", 50))
        if limit > 100:
            return 400, {"message": "limit"}
        limit = min(limit, self.page)
        newest = rows[::-1][(page - 1) * limit : page * limit]
        pages = -(-len(rows) // limit)
        meta = {"page": page, "limit": limit, "totalItems": len(rows), "totalPages": pages}
        return 200, {"data": newest, "meta": meta}

    def _third_scores(self, query: dict[str, str]) -> Object:
        names, traces = query["name"].split(","), query["traceId"].split(",")
        rows = [
            {**self._score(score), "projectId": "P", "value": score["value"],
             "subject": {"kind": "trace", "id": score["traceId"]}}
            for score in self.scores if score["name"] in names and score["traceId"] in traces
        ]
        start, limit = int(query.get("cursor", 0)), min(int(query["limit"]), self.page)
        further = {"cursor": str(start + limit)} if start + limit < len(rows) else {}
        return {"data": rows[start : start + limit], "meta": {"limit": limit, **further}}

    def _score(self, score: Object) -> Object:
        kept = ("id", "name", "source", "createdAt", "updatedAt", "authorUserId", "configId", "dataType")
        return {
            **{key: score[key] for key in kept}, "timestamp": score["updatedAt"], "environment": "default",
            "comment": None, "metadata": {}, "queueId": None,
        }

    def _kept(self, rows: list[Object], sent: Object) -> Object:
        now = self._now()
        rows.append({"id": f"{len(rows)}-{now[-7:-1]}", "createdAt": now, "updatedAt": now, **sent})
        return rows[-1]

    def _now(self) -> str:
        self._seconds += 1
        return f"2026-11-29T12:00:00.{self._seconds:06d}Z"


def _second(score: Object) -> Object:
    """The value as version 2 lists it: texts have a key of their own."""
    match score["dataType"]:
        case "NUMERIC":
            return {"value": score["value"]}
        case "TEXT":
            return {"stringValue": score["value"]}
    return {"value": 0, "stringValue": score["value"]}


def _fits(schema: Object, value: Any) -> None:
    errors = _validator(json.dumps(schema)).iter_errors(value)
    problems = [f"{error.json_path}: {error.message}" for error in errors]
    assert not problems, problems


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator({**json.loads(schema), "$defs": INTERFACE["$defs"]})
