"""As much of Phoenix as the desk uses, with its traps: what a server of version 20.0 was seen to answer.

A project that is made twice is an error of the server; spans of which one is there already are all refused;
annotations of spans that do not exist are not there. The contract tests run against this and a real server.
"""

import json
from collections.abc import Mapping
from typing import Any

from doubles.http_double import HttpDouble, Reply


class PhoenixDouble(HttpDouble):
    """The projects, spans, annotations and configurations of one server, and the token that it wants."""

    root = "/v1/"

    def __init__(self, token: str = "") -> None:
        super().__init__()
        self.token = token
        self.projects: dict[str, dict[str, Any]] = {}
        self.spans: dict[str, dict[str, dict[str, Any]]] = {}
        self.configs: dict[str, dict[str, Any]] = {}
        self.annotations: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.page = 1000

    def refused(self, headers: Mapping[str, str]) -> Reply | None:
        wrong = self.token and headers.get("Authorization") != f"Bearer {self.token}"
        return (401, "Invalid token") if wrong else None

    def routed(self, method: str, path: list[str], query: dict[str, list[str]], sent: Any) -> Reply:
        match method, path:
            case "GET", ["projects"]:
                return self._listed(list(self.projects.values()), query)
            case "POST", ["projects"]:
                if sent["name"] in self.projects:
                    return 500, "Internal Server Error"
                number = f"P{len(self.projects) + 1}"
                self.projects[sent["name"]] = {"id": number, **sent}
                self.spans[sent["name"]] = {}
                return 200, json.dumps({"data": self.projects[sent["name"]]})
            case "POST", ["annotation_configs"]:
                if sent["name"] in self.configs:
                    return 409, "The name of the annotation configuration is already taken"
                self.configs[sent["name"]] = sent
                return 200, json.dumps({"data": sent})
            case "POST", ["span_annotations"]:
                return self._annotated(sent["data"])
            case _, ["projects", name, *_] if name not in self.projects:
                return 404, f"Project with name {name} not found"
            case "GET", ["projects", name]:
                return 200, json.dumps({"data": self.projects[name]})
            case "PUT", ["projects", name, "annotation_configs", config]:
                there = config in self.configs
                return (200, json.dumps({"data": self.configs[config]})) if there else (404, "")
            case "GET", ["projects", name, "spans"]:
                named = [s for s in self.spans[name].values() if s["name"] in query.get("name", [s["name"]])]
                return self._listed(named, query)
            case "POST", ["projects", name, "spans"]:
                return self._posted(self.spans[name], sent["data"])
            case "GET", ["projects", name, "span_annotations"]:
                spans = set(query["span_ids"]) & self.spans[name].keys()
                if not spans:
                    return 404, "None of the supplied span_ids exist in this project"
                names = query["include_annotation_names"]
                rows = [a for a in self.annotations.values() if a["span_id"] in spans and a["name"] in names]
                return self._listed(rows, query)
        return 405, "Method Not Allowed"

    def _listed(self, rows: list[dict[str, Any]], query: dict[str, list[str]]) -> Reply:
        start = int(query.get("cursor", ["0"])[0])
        end = start + min(self.page, int(query.get("limit", ["100"])[0]))
        following = str(end) if end < len(rows) else None
        return 200, json.dumps({"data": rows[start:end], "next_cursor": following})

    def _posted(self, spans: dict[str, Any], data: list[dict[str, Any]]) -> Reply:
        there = [span["context"] for span in data if span["context"]["span_id"] in spans]
        if there:
            return 400, json.dumps({"error": "duplicate spans", "total_queued": 0, "duplicate_spans": there})
        spans |= {span["context"]["span_id"]: span for span in data}
        return 202, json.dumps({"total_received": len(data), "total_queued": len(data)})

    def _annotated(self, data: list[dict[str, Any]]) -> Reply:
        for sent in data:
            key = sent["span_id"], sent["name"], sent.get("identifier", "")
            moment = f"2026-11-29T12:00:00.{len(self.requests):06d}+00:00"
            first = self.annotations.get(key, {"id": f"A{len(self.annotations)}", "created_at": moment})
            self.annotations[key] = {
                "identifier": "", "user_id": None, "source": "API", **sent, "id": first["id"],
                "created_at": first["created_at"], "updated_at": moment,
            }
        return 200, json.dumps({"data": []})
