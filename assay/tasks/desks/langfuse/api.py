"""Langfuse over the wire, as its public interface describes it (`/api/public`, OpenAPI).

Written from the published description of version 4.16, without a server. Scores are read from `v3/scores`,
and from `v2/scores` where a server does not have that yet.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.desks.replies import NotThere, Product, checked_token
from assay.tasks.desks.rest import MOST_PAGES, Query, RestApi, Row

PUBLIC_VARIABLE = "LANGFUSE_PUBLIC_KEY"
SECRET_VARIABLE = "LANGFUSE_SECRET_KEY"   # noqa: S105 - the name of a variable
LANGFUSE = Product(name="Langfuse", token_variable=SECRET_VARIABLE, tokens="Project Settings, API Keys")
LANGFUSE_PAGE_SIZE = 100   # rows of a page, the most that it gives
MOST_TRACES = 50     # whose scores are asked for at once, in an address
_KEPT = ("id", "name", "value", "stringValue", "dataType", "comment", "source", "queueId", "createdAt",
         "updatedAt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One answer that somebody gave on a page of Langfuse, whichever list it came from."""

    trace: str        # the id of the trace
    author: str       # the id of the account; "" where a program wrote it
    value: object     # a text, or a number
    record: Row       # what is kept of it


class LangfuseApi(RestApi):
    """One project of a server, by its two keys: reads and writes as `RestApi` makes them."""

    def __init__(
        self, url: str, public: str, secret: str, *, timeout: float = 60.0, read_attempts: int = 4
    ) -> None:
        """`url` as in the spec; `timeout` in seconds for one reply. Nothing is sent yet."""
        pair = f"{checked_token(LANGFUSE, public)}:{checked_token(LANGFUSE, secret)}"
        basic = b64encode(pair.encode()).decode()
        super().__init__(
            LANGFUSE, url, "api/public", [secret, basic], timeout=timeout, read_attempts=read_attempts,
            headers={"Authorization": f"Basic {basic}"},
        )

    def rows(self, path: str, params: Query | None = None) -> list[Row]:
        """All rows of a list, page by page, each once. Where they became fewer or more meanwhile, so that
        pages moved, they are read once more. DeskUnreachable, DeskRefused or NotThere."""
        rows, total = self._by_page(path, params or {})
        return rows if len(rows) == total else self._by_page(path, params or {})[0]

    def scores(self, names: Sequence[str], traces: Sequence[str]) -> list[Score]:
        """What people answered about these traces under these names, on pages of Langfuse."""
        ids = set(traces)
        return [score for row in self._score_rows(names, traces) if (score := _score(row)).trace in ids]

    def _score_rows(self, names: Sequence[str], traces: Sequence[str]) -> list[Row]:
        try:
            return [
                row for start in range(0, len(traces), MOST_TRACES) for row in self._by_cursor("v3/scores", {
                    "name": ",".join(names), "traceId": ",".join(traces[start : start + MOST_TRACES]),
                    "source": "ANNOTATION", "fields": "details,subject,annotation",
                    "limit": LANGFUSE_PAGE_SIZE,
                })
            ]
        except NotThere:
            params = {"source": "ANNOTATION", "fields": "score"}
            return [row for name in names for row in self.rows("v2/scores", {**params, "name": name})]

    def _by_page(self, path: str, params: Query) -> tuple[list[Row], int]:
        rows: dict[str, Row] = {}
        total = None
        for page in range(1, MOST_PAGES):
            reply = self.get_json(path, {**params, "page": page, "limit": LANGFUSE_PAGE_SIZE})
            meta = reply.get("meta")
            if not isinstance(meta, dict) or not isinstance(meta.get("totalItems"), int):
                raise self.replies.strange(path)
            total = meta["totalItems"] if total is None else total
            rows |= {str(row.get("id")): row for row in self.rows_of(path, reply)}
            if page >= int(meta.get("totalPages") or 0):
                return list(rows.values()), total
        raise self.replies.strange(path)

    def _by_cursor(self, path: str, params: Query) -> list[Row]:
        rows: list[Row] = []
        further: Row = {}
        for _ in range(MOST_PAGES):
            reply = self.get_json(path, {**params, **further})
            rows += self.rows_of(path, reply)
            meta = reply.get("meta")
            cursor = meta.get("cursor") if isinstance(meta, dict) else None
            if not cursor:
                return rows
            further = {"cursor": cursor}
        raise self.replies.strange(path)


def _score(row: Row) -> Score:
    subject = row.get("subject")
    trace = subject.get("id") if isinstance(subject, dict) else row.get("traceId")
    value = row.get("value") if row.get("stringValue") is None else row["stringValue"]
    return Score(
        trace=str(trace), author=str(row.get("authorUserId") or ""), value=value,
        record={key: row[key] for key in _KEPT if key in row},
    )
