"""People who label in a real Label Studio, through its public API, each signed in as somebody else."""

import re
import secrets
from typing import Any

import httpx

CONTROL = "label"


class Person:
    """One signed-in person; `label`, `skip` and the rest act on a task of Label Studio by its id."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self.number = self._ask("GET", "/api/current-user/whoami")["id"]

    def has_answered(self, task: dict[str, Any]) -> bool:
        return any(answer["completed_by"] == self.number for answer in task["annotations"])

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """All tasks of the project with annotations and drafts (small projects only)."""
        params = {"project": project, "page_size": 500, "fields": "all"}
        found = self._ask("GET", "/api/tasks/", params=params)
        return sorted(found["tasks"], key=lambda task: task["id"])

    def label(self, task: int, choice: str) -> int:
        return self.answer(task, [choice_result(choice)])

    def answer(self, task: int, result: Any, **extra: Any) -> int:
        """Submit any result at all: nothing on the server checks it. The annotation's id."""
        return self._ask("POST", f"/api/tasks/{task}/annotations/", json={"result": result, **extra})["id"]

    def skip(self, task: int, result: Any = ()) -> int:
        return self.answer(task, list(result), was_cancelled=True)

    def relabel(self, annotation: int, choice: str) -> None:
        self._ask("PATCH", f"/api/annotations/{annotation}/", json={"result": [choice_result(choice)]})

    def edit_data(self, task: int, data: dict[str, Any]) -> None:
        self._ask("PATCH", f"/api/tasks/{task}/", json={"data": data})

    def withdraw(self, annotation: int) -> None:
        self._ask("DELETE", f"/api/annotations/{annotation}/")

    def draft(self, task: int, choice: str) -> None:
        self._ask("POST", f"/api/tasks/{task}/drafts", json={"result": [choice_result(choice)]})

    def delete_task(self, task: int) -> None:
        self._ask("DELETE", f"/api/tasks/{task}/")

    def delete_project(self, project: int) -> None:
        self._ask("DELETE", f"/api/projects/{project}/")

    def rename_project(self, project: int, title: str) -> None:
        self._ask("PATCH", f"/api/projects/{project}/", json={"title": title})

    def import_tasks(self, project: int, data: list[dict[str, Any]]) -> None:
        self._ask("POST", f"/api/projects/{project}/import", json=[{"data": one} for one in data])

    def projects(self, mark: str) -> list[dict[str, Any]]:
        params = {"page_size": 1000, "include": "id,title,description"}
        found = self._ask("GET", "/api/projects/", params=params)
        return [one for one in found["results"] if mark in (one["description"] or "")]

    def next_task(self, project: int) -> int | None:
        """The task Label Studio would show this person next, or None when there is none for them."""
        response = self._client.get(f"/api/projects/{project}/next")
        return None if response.status_code == 404 else response.json()["id"]

    def personal_access_token(self) -> str:
        return self._ask("POST", "/api/token/")["token"]

    def allow_personal_access_tokens(self) -> None:
        both = {"api_tokens_enabled": True, "legacy_api_tokens_enabled": True}
        self._ask("POST", "/api/jwt/settings", json=both)

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        csrf = self._client.cookies.get("csrftoken")
        headers = {"X-CSRFToken": csrf} if csrf else {}
        response = self._client.request(method, path, headers=headers, **options)
        assert response.status_code < 300, f"{method} {path}: {response.status_code} {response.text[:500]}"
        return response.json() if response.content else None


def owner(url: str, token: str) -> Person:
    """The owner of the server, by token."""
    headers = {"Authorization": f"Token {token}"}
    return Person(httpx.Client(base_url=url, headers=headers, timeout=150, trust_env=False))


def new_person(url: str, token: str) -> Person:
    """Somebody new, through the invitation link: people created by the API cannot sign in."""
    invite = httpx.get(
        f"{url}/api/invite", headers={"Authorization": f"Token {token}"}, timeout=150, trust_env=False
    ).json()["invite_url"]
    client = httpx.Client(base_url=url, timeout=150, follow_redirects=True, trust_env=False)
    page = client.get(invite)
    form = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert form is not None, "the signup page has no form"
    done = client.post(page.url, data={
        "csrfmiddlewaretoken": form.group(1), "email": f"p{secrets.token_hex(6)}@example.com",
        "password": secrets.token_urlsafe(12), "allow_newsletters": "false",
    }, headers={"Referer": str(page.url)})
    assert done.status_code == 200, f"signup: {done.status_code}"
    assert "sessionid" in client.cookies, "signup did not sign in"
    return Person(client)


def choice_result(choice: str) -> dict[str, Any]:
    """What the labelling page submits for one choice."""
    value = {"choices": [choice]}
    return {"from_name": CONTROL, "to_name": "shown_name_a", "type": "choices", "value": value}
