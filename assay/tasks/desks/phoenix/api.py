"""Phoenix over the wire, as its REST interface of version 1 describes it (`/openapi.json`).

What was found on a server of version 20: a project that is made twice is an error of the server, and closes
the connection; spans that are posted again are refused, all that came with them too; spans are queued, and
listed a moment later. So `PhoenixDesk` looks before it writes.
"""

import httpx

from assay.tasks.desks.replies import Product, checked_token
from assay.tasks.desks.rest import MOST_PAGES, Query, RestApi, Row

TOKEN_VARIABLE = "PHOENIX_API_KEY"   # noqa: S105 - the name of a variable
PHOENIX = Product(name="Phoenix", token_variable=TOKEN_VARIABLE, tokens="Settings, API Keys", plain=True)
PHOENIX_PAGE_SIZE = 1000   # rows of a page


class PhoenixApi(RestApi):
    """One server, and a token where it asks for one: reads and writes as `RestApi` makes them."""

    def __init__(self, url: str, token: str = "", *, timeout: float = 60.0, read_attempts: int = 4) -> None:
        """`url` as in the spec; `timeout` in seconds for one reply. Nothing is sent yet."""
        headers = {"Authorization": f"Bearer {checked_token(PHOENIX, token)}"} if token else {}
        # a connection each: the server closes one on which it has failed, and says so to nobody
        limits = httpx.Limits(max_keepalive_connections=0)
        super().__init__(
            PHOENIX, url, "v1", [token], timeout=timeout, read_attempts=read_attempts, headers=headers,
            limits=limits,
        )

    def rows(self, path: str, params: Query) -> list[Row]:
        """All rows of a list, page by page. DeskUnreachable, DeskRefused, or NotThere where the list is of
        something that does not exist."""
        rows: list[Row] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            reply = self.get_json(path, {**params, **({"cursor": cursor} if cursor else {})})
            rows += self.rows_of(path, reply)
            following = reply.get("next_cursor")
            if not following or following == cursor or params.get("limit") == 1:
                return rows
            cursor = str(following)
        raise self.replies.strange(path)
