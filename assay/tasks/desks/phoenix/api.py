"""Phoenix over the wire, as its REST interface of version 1 describes it (`/openapi.json`).

What was found on a server of version 20: a project that is made twice is an error of the server, and closes
the connection; spans that are posted again are refused, all that came with them too; spans are queued, and
listed a moment later. So reads are tried again, writes are one attempt, and `PhoenixDesk` looks first.
"""

from collections.abc import Mapping
from typing import Any

import httpx

from assay.tasks.desks.desk import DeskUnreachable
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

TOKEN_VARIABLE = "PHOENIX_API_KEY"   # noqa: S105 - the name of a variable
PHOENIX = Product(name="Phoenix", token_variable=TOKEN_VARIABLE, tokens="Settings, API Keys", plain=True)
PAGE_SIZE = 1000
MOST_PAGES = 10_000


class PhoenixApi:
    """One server, and a token where it asks for one. Reads are retried; every write is one attempt."""

    def __init__(self, url: str, token: str = "", *, timeout: float = 60.0, read_attempts: int = 4) -> None:
        """`url` as in the spec; `timeout` in seconds for one reply. Nothing is sent yet."""
        quiet_libraries()
        self.url = checked_address(url)
        self._replies = Replies(PHOENIX, self.url, token)
        self._read_attempts = read_attempts
        headers = {"Authorization": f"Bearer {checked_token(PHOENIX, token)}"} if token else {}
        # a connection each: the server closes one on which it has failed, and says so to nobody
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = client_of(PHOENIX, timeout, headers=headers, limits=limits)

    def rows(self, path: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All rows of a list, page by page. DeskUnreachable, DeskRefused, or NotThere where the list is of
        something that does not exist."""
        rows: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            reply = self.read(path, {**params, **({"cursor": cursor} if cursor else {})})
            page, following = reply.get("data"), reply.get("next_cursor")
            if not isinstance(page, list) or not all(isinstance(row, dict) for row in page):
                raise self._replies.strange(path)
            rows += page
            if not following or following == cursor or params.get("limit") == 1:
                return rows
            cursor = str(following)
        raise self._replies.strange(path)

    def read(self, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """GET, tried a few times. An object of JSON; DeskUnreachable, DeskRefused or NotThere."""
        reading = retrying(DeskUnreachable, self._read_attempts, pause)
        reply: dict[str, Any] = reading(self._read_once, path, params)
        return reply

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """One attempt to change something: the status and the JSON of the reply; 400 and 409 are replies too.

        Raises DeskUnreachable if it was never sent, AmbiguousPost if its fate is unknown, else DeskRefused.
        """
        try:
            response = self._request(method, path, json=body)
        except NEVER_SENT as error:
            raise self._replies.unreachable(error) from None
        except httpx.HTTPError as error:
            raise self._replies.ambiguous(f"{type(error).__name__} while waiting for the reply") from None
        if response.status_code >= 500 or response.status_code in (408, 425, 429):
            raise self._replies.ambiguous(f"it answered {response.status_code}")
        if response.status_code in (400, 409):
            try:
                answer = response.json()
            except ValueError:
                answer = {}
            return response.status_code, answer if isinstance(answer, dict) else {}
        return response.status_code, self._replies.answer(response) or {}

    def _read_once(self, path: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        try:
            response = self._request("GET", path, params=dict(params or {}))
        except httpx.HTTPError as error:
            raise self._replies.unreachable(error) from None
        if response.status_code >= 500 or response.status_code in (408, 425, 429):
            raise self._replies.busy(response)
        reply = self._replies.answer(response)
        if not isinstance(reply, dict):
            raise self._replies.strange(path)
        return reply

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._client.request(method, f"{self.url}/v1/{path}", **options)
