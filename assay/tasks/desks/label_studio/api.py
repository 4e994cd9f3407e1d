"""Label Studio over the wire: the SDK's sign-in and connection, and raw JSON.

The SDK is used for what it does well (tokens: legacy ones as they are, personal access tokens exchanged and
renewed) and held back from what it does badly:

- it re-sends requests on its own, POSTs included, and one lost reply then makes three copies: `max_retries=0`
  everywhere, and only reads are tried again, here, with growing random pauses;
- its types disagree with themselves from one reply to the next, so replies are read as plain JSON, and what
  is used of them is checked here: a reply of another shape is refused, whoever gave it;
- the text of its errors holds headers and a session cookie: `replies` says what may be repeated.

What a write's failure means: refused (the server said no), unreachable (it was never sent) or ambiguous
(it was sent and may yet happen). Only the last needs care, and only posting needs to know: see `send`.

Importing the SDK takes seconds, so it is done when the first desk is opened and not before.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeGuard

import httpx

from assay.evalcore.errors import needs
from assay.evalcore.json_values import JsonMapping, JsonObject
from assay.tasks.desks.desk import AmbiguousPost, DeskUnreachable
from assay.tasks.desks.replies import (
    NEVER_SENT,
    Product,
    Replies,
    checked_address,
    checked_token,
    client_of,
    pause,
)
from assay.tasks.effects import retrying
from assay.tasks.secrets import quiet_libraries

TOKEN_VARIABLE = "LABEL_STUDIO_API_KEY"  # noqa: S105 - a name, not a secret
LABEL_STUDIO = Product(name="Label Studio", token_variable=TOKEN_VARIABLE, tokens="Account & Settings")
TASK_PAGE_SIZE = 200   # tasks of a page
PROJECT_PAGE_SIZE = 100   # projects of a page


_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})   # maybe processed, maybe not
Condition = tuple[str, str, str, object]   # field, operator, type, value: one filter of the task list
Listed: TypeAlias = Mapping[str, Any]   # a task, project or webhook as the server lists it; `id` is a number


class LabelStudioApi:
    """One server, one token. Reads are retried; every write is one attempt."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, read_attempts: int = 4) -> None:
        """`url` as in the spec; `timeout` in seconds for one reply. Nothing is sent yet."""
        with needs("label-studio", "desks in Label Studio"):
            from label_studio_sdk import LabelStudio
            from label_studio_sdk.core.api_error import ApiError

        quiet_libraries()
        self.url = checked_address(url)
        self._replies = Replies(LABEL_STUDIO, self.url, checked_token(LABEL_STUDIO, token))
        self._api_error = ApiError
        self._read_attempts = read_attempts
        http = client_of(LABEL_STUDIO, timeout)
        try:
            client: Any = LabelStudio(  # type: ignore[no-untyped-call]
                base_url=self.url + "/", api_key=token, max_retries=0, timeout=timeout, httpx_client=http
            )
        except ApiError as error:   # a personal access token is dated: an expired one fails here
            raise self._replies.refusal(error.status_code or 401, error.body) from None
        self._wrapper = client._client_wrapper

    def get_json(self, path: str, params: JsonMapping | None = None) -> Any:
        """GET, tried a few times. The JSON, or DeskUnreachable, DeskRefused or NotThere."""
        return retrying(DeskUnreachable, self._read_attempts, pause)(self._read_once, path, params)

    def send(self, method: str, path: str, body: object = None) -> Any:
        """One attempt to change something. The JSON (None if there is none).

        Raises DeskUnreachable if it was never sent, AmbiguousPost if it was sent and its fate is unknown,
        DeskRefused or NotThere if the server said no.
        """
        self._sign_in()
        try:
            response = self._request(path, method=method, json=body)
        except NEVER_SENT as error:
            raise self._replies.unreachable(error) from None
        except httpx.HTTPError as error:
            raise self._replies.ambiguous(f"{type(error).__name__} while waiting for the reply") from None
        if response.status_code in _TRY_AGAIN or response.status_code >= 500:
            raise self._replies.ambiguous(f"it answered {response.status_code}")
        return self._replies.answer(response)

    def change(self, method: str, path: str, body: object = None) -> Any:
        """`send` for a change that may safely be made twice: an unknown fate is just DeskUnreachable."""
        try:
            return self.send(method, path, body)
        except AmbiguousPost as error:
            raise DeskUnreachable(str(error)) from None

    def read_object(self, path: str, params: JsonMapping | None = None) -> Listed:
        """`read`, where the reply must be one object. DeskRefused if it is something else."""
        reply = self.get_json(path, params)
        if not isinstance(reply, dict):
            raise self._replies.strange(path)
        return reply

    def tasks(self, project: int, *conditions: Condition) -> list[Listed]:
        """Every task of the project that meets all conditions, in order of id.

        Each has whole numbers as `id` and `project`; `data` is an object, `annotations` a list of objects.
        """
        return _read_steadily(lambda: self._all_tasks(project, conditions))

    def count(self, project: int, *conditions: Condition) -> int:
        """The number of tasks of the project that meet all conditions, as Label Studio counts them: one
        request for a page of a single task. Raises DeskRefused or DeskUnreachable."""
        return self._task_page(project, list(conditions), "task_only", 1)[1]

    def projects(self, title: str | None = None) -> list[Listed]:
        """Id, title and description of every project, or of those whose title contains `title`."""
        return _read_steadily(lambda: self._all_projects(title))

    def webhooks(self, project: int) -> list[Listed]:
        """Every webhook that Label Studio has registered for the project, as the plain JSON objects of its
        reply. Raises DeskRefused for a reply of another shape, and DeskUnreachable."""
        path = "api/webhooks/"
        return self._listed(path, self.get_json(path, {"project": project}))

    def _all_tasks(self, project: int, conditions: tuple[Condition, ...]) -> tuple[list[Listed], int]:
        """The tasks, and how many there were before the first page was read.

        Paged by key, until a page is empty: an offset skips rows when something before it is deleted
        meanwhile, and a page may be short because the server gives fewer than it was asked for.
        """
        tasks: list[Listed] = []
        before = None
        while True:
            last_id = int(tasks[-1]["id"]) if tasks else 0
            beyond: Condition = ("id", "greater", "Number", last_id)
            rows, total = self._task_page(project, [*conditions, beyond], "all", TASK_PAGE_SIZE)
            before = total if before is None else before
            if not rows:
                return tasks, before
            if int(rows[0]["id"]) <= last_id:   # or this would never end
                raise self._replies.strange("api/tasks/")
            tasks += rows

    def _all_projects(self, title: str | None) -> tuple[list[Listed], int]:
        """The projects, and how many there were before the first page was read."""
        params: JsonObject = {
            "include": "id,title,description", "ordering": "id", "page_size": PROJECT_PAGE_SIZE
        }
        if title is not None:
            params["title"] = title
        path, projects = "api/projects/", dict[int, Listed]()
        page, before = 1, None
        while True:
            reply = self.read_object(path, {**params, "page": page})
            rows = self._listed(path, reply.get("results"))
            before = self._total(path, reply.get("count")) if before is None else before
            new = {int(row["id"]): row for row in rows if int(row["id"]) not in projects}
            projects |= new
            if not reply.get("next"):
                return list(projects.values()), before
            if not new:   # or this would never end
                raise self._replies.strange(path)
            page += 1

    def _task_page(
        self, project: int, conditions: list[Condition], fields: str, size: int
    ) -> tuple[list[Listed], int]:
        """The first tasks that meet all conditions, in order of id, and how many meet them."""
        items = [
            {"filter": f"filter:tasks:{field}", "operator": operator, "type": kind, "value": value}
            for field, operator, kind, value in conditions
        ]
        query = {"filters": {"conjunction": "and", "items": items}, "ordering": ["tasks:id"]}
        path = "api/tasks/"
        reply = self.read_object(path, {
            "project": project, "page": 1, "page_size": size, "fields": fields, "query": json.dumps(query)
        })
        rows = self._listed(path, reply.get("tasks"))
        if fields == "all" and not all(map(_is_task, rows)):
            raise self._replies.strange(path)
        return sorted(rows, key=lambda task: int(task["id"])), self._total(path, reply.get("total"))

    def _listed(self, path: str, rows: object) -> list[Listed]:
        """The rows of a list, each an object with a number. DeskRefused if they are something else."""
        if isinstance(rows, list) and all(isinstance(row, dict) and _whole(row.get("id")) for row in rows):
            return rows
        raise self._replies.strange(path)

    def _total(self, path: str, total: object) -> int:
        if not _whole(total):
            raise self._replies.strange(path)
        return int(total)

    def _read_once(self, path: str, params: JsonMapping | None) -> Any:
        self._sign_in()
        try:
            response = self._request(path, method="GET", params=dict(params or {}))
        except httpx.HTTPError as error:
            raise self._replies.unreachable(error) from None
        if response.status_code in _TRY_AGAIN or response.status_code >= 500:
            raise self._replies.busy(response)
        return self._replies.answer(response)

    def _sign_in(self) -> None:
        """Have a valid access token before the request proper, so that its failure is not the request's."""
        try:
            self._wrapper.get_headers()
        except self._api_error as error:
            if (error.status_code or 0) >= 500:
                raise DeskUnreachable(
                    f"Label Studio at {self.url} answered {error.status_code} to signing in; try again later"
                ) from None
            raise self._replies.refusal(error.status_code or 401, error.body) from None
        except httpx.HTTPError as error:
            raise self._replies.unreachable(error) from None
        except (ValueError, TypeError, ArithmeticError, OSError, RecursionError):   # no JSON, or no token
            raise DeskUnreachable(
                f"Label Studio at {self.url} answered signing in with something that is no access token; "
                "check desk.url, and try again later"
            ) from None

    def _request(self, path: str, **options: object) -> httpx.Response:
        response: httpx.Response = self._wrapper.httpx_client.request(
            path, request_options={"max_retries": 0}, **options
        )
        return response


def _read_steadily(read: Callable[[], tuple[list[Listed], int]]) -> list[Listed]:
    """What a read of several pages found; read once more where it is not as many as there were before."""
    rows, before = read()
    return rows if len(rows) == before else read()[0]


def _is_task(row: Listed) -> bool:
    """Whether what is used of a task is what it should be."""
    answers, overlap = row.get("annotations"), row.get("overlap")
    if answers is not None and not (isinstance(answers, list) and all(isinstance(a, dict) for a in answers)):
        return False
    return _whole(row.get("project")) and isinstance(row.get("data"), dict) and _whole(overlap or 0)


def _whole(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool)
