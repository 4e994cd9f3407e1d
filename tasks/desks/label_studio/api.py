"""Label Studio over the wire: the SDK's sign-in and connection, and raw JSON.

The SDK is used for what it does well (tokens: legacy ones as they are, personal access tokens exchanged and
renewed) and held back from what it does badly:

- it re-sends requests on its own, POSTs included, and one lost reply then makes three copies: `max_retries=0`
  everywhere, and only reads are tried again, here, with growing random pauses;
- its types disagree with themselves from one reply to the next, so replies are read as plain JSON;
- the text of its errors holds headers and a session cookie: `replies` says what may be repeated.

What a write's failure means: refused (the server said no), unreachable (it was never sent) or ambiguous
(it was sent and may yet happen). Only the last needs care, and only posting needs to know: see `send`.

Importing the SDK takes seconds, so it is done when the first desk is opened and not before.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import httpx
import tenacity

from assay.evalcore.errors import BadInput, needs
from assay.evalcore.types import JsonObject
from assay.tasks.desks.label_studio.replies import Busy, Replies, checked_address, checked_token
from assay.tasks.desks.protocol import AmbiguousPost, DeskRefused, DeskUnreachable
from assay.tasks.effects.retrying import retrying
from assay.tasks.quiet_libraries import quiet_libraries

PAGE_SIZE = 200
PROJECT_PAGE_SIZE = 100

FIRST_PAUSE = 0.5      # seconds before a read is tried again, drawn between 0 and this, which then doubles
LONGEST_PAUSE = 8.0

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})   # maybe processed, maybe not
Condition = tuple[str, str, str, Any]   # field, operator, type, value: one filter of the task list
Listed: TypeAlias = Mapping[str, Any]   # a task or project as the server lists it, unchecked


class LabelStudioApi:
    """One server, one token. Reads are retried; every write is one attempt."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, read_attempts: int = 4) -> None:
        """`url` as in the spec; `timeout` in seconds for one reply. Nothing is sent yet."""
        with needs("label-studio", "desks in Label Studio"):
            from label_studio_sdk import LabelStudio
            from label_studio_sdk.core.api_error import ApiError

        quiet_libraries()
        self.url = checked_address(url)
        self._replies = Replies(self.url, checked_token(token))
        self._api_error = ApiError
        self._read_attempts = read_attempts
        # Redirects are not followed: a POST would silently become a GET.
        try:
            http = httpx.Client(timeout=httpx.Timeout(timeout, connect=10.0), follow_redirects=False)
        except (ValueError, ImportError):
            raise BadInput(
                "the environment's proxy (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY) cannot be used; give it as "
                "http://HOST:PORT, or name the host of Label Studio in NO_PROXY"
            ) from None
        try:
            client: Any = LabelStudio(  # type: ignore[no-untyped-call]
                base_url=self.url + "/", api_key=token, max_retries=0, timeout=timeout, httpx_client=http
            )
        except ApiError as error:   # a personal access token is dated: an expired one fails here
            raise self._replies.refusal(error.status_code or 401, error.body) from None
        self._wrapper = client._client_wrapper

    def read(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """GET, tried a few times. The JSON, or DeskUnreachable, DeskRefused or NotThere."""
        return retrying(DeskUnreachable, self._read_attempts, _pause)(self._read_once, path, params)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """One attempt to change something. The JSON (None if there is none).

        Raises DeskUnreachable if it was never sent, AmbiguousPost if it was sent and its fate is unknown,
        DeskRefused or NotThere if the server said no.
        """
        self._sign_in()
        try:
            response = self._request(path, method=method, json=body)
        except _NEVER_SENT as error:
            raise self._replies.unreachable(error) from None
        except httpx.HTTPError as error:
            raise self._replies.ambiguous(f"{type(error).__name__} while waiting for the reply") from None
        if response.status_code in _TRY_AGAIN or response.status_code >= 500:
            raise self._replies.ambiguous(f"it answered {response.status_code}")
        return self._replies.answer(response)

    def change(self, method: str, path: str, body: Any = None) -> Any:
        """`send` for a change that may safely be made twice: an unknown fate is just DeskUnreachable."""
        try:
            return self.send(method, path, body)
        except AmbiguousPost as error:
            raise DeskUnreachable(str(error)) from None

    def tasks(self, project: int, *conditions: Condition) -> Iterator[Listed]:
        """Every task of the project that meets all conditions, with its annotations, in order of id.

        Paged by key: an offset skips rows when something before it is deleted meanwhile.
        """
        last = 0
        while True:
            beyond: Condition = ("id", "greater", "Number", last)
            page = self._task_page(project, [*conditions, beyond], "all", PAGE_SIZE)
            rows = sorted(page["tasks"], key=lambda task: int(task["id"]))
            yield from rows
            if len(rows) < PAGE_SIZE:
                return
            last = int(rows[-1]["id"])

    def count(self, project: int, *conditions: Condition) -> int:
        """How many tasks of the project meet all conditions."""
        return int(self._task_page(project, list(conditions), "task_only", 1)["total"])

    def projects(self, title: str | None = None) -> Iterator[Listed]:
        """Id, title and description of every project, or of those whose title contains `title`."""
        params: JsonObject = {
            "include": "id,title,description", "ordering": "id", "page_size": PROJECT_PAGE_SIZE
        }
        if title is not None:
            params["title"] = title
        page = 1
        while True:
            found = self.read("api/projects/", {**params, "page": page})
            yield from found["results"]
            if not found.get("next"):
                return
            page += 1

    def _task_page(
        self, project: int, conditions: list[Condition], fields: str, size: int
    ) -> Listed:
        items = [
            {"filter": f"filter:tasks:{field}", "operator": operator, "type": kind, "value": value}
            for field, operator, kind, value in conditions
        ]
        query = {"filters": {"conjunction": "and", "items": items}, "ordering": ["tasks:id"]}
        found = self.read("api/tasks/", {
            "project": project, "page": 1, "page_size": size, "fields": fields, "query": json.dumps(query)
        })
        if not isinstance(found, dict) or not isinstance(found.get("tasks"), list):
            raise DeskRefused(f"{self.url} answered a list of tasks with something else; is it Label Studio?")
        return found

    def _read_once(self, path: str, params: Mapping[str, Any] | None) -> Any:
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
        except ValueError:   # the sign-in's reply was no JSON
            raise DeskUnreachable(
                f"Label Studio at {self.url} answered signing in with something that is not JSON; "
                "check desk.url, and try again later"
            ) from None

    def _request(self, path: str, **options: Any) -> httpx.Response:
        response: httpx.Response = self._wrapper.httpx_client.request(
            path, request_options={"max_retries": 0}, **options
        )
        return response

def _pause(state: tenacity.RetryCallState) -> float:
    """Seconds before the next attempt: random and growing, and no less than the server asked for."""
    drawn = tenacity.wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)(state)
    error = state.outcome.exception() if state.outcome else None
    return max(drawn, error.seconds) if isinstance(error, Busy) else drawn
