"""Requests to a server where people label, by an interface of JSON: reads and writes, and what is shown.

Reads are tried again. A write is tried again only where it had no effect: it was never sent, or the server
says that it takes no more for now (429). Else its fate may be unknown (AmbiguousPost), and a desk looks
before it writes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal, TypeAlias, Unpack, cast

import httpx

from assay.evalcore.annotators.answers import AnswerKind, NumberAnswers
from assay.tasks.desks.desk import AmbiguousPost, Batch, DeskUnreachable, Item
from assay.tasks.desks.replies import (
    NEVER_SENT,
    ClientOptions,
    Product,
    Replies,
    checked_address,
    client_of,
    pause,
)
from assay.tasks.effects import retrying
from assay.tasks.secrets import quiet_libraries

Row: TypeAlias = dict[str, Any]   # an object of JSON
Query: TypeAlias = Mapping[str, str | int | Sequence[str] | None]     # of an address, such as ?page=1
CANNOT_TELL = "can't tell"
MOST_PAGES = 10_000   # of one listing: a server that never says which is the last is not read for ever
_LATER_STATUSES = (408, 425, 429)   # of HTTP, beside those from 500 on: the same request may succeed later


class RestApi:
    """One server. Reads are retried; every write is one attempt, but for those that had no effect."""

    def __init__(
        self, product: Product, url: str, root: str, secrets: Iterable[str], *, timeout: float,
        read_attempts: int, **options: Unpack[ClientOptions],
    ) -> None:
        """`url` as in the spec, `root` the path below it; `secrets` are left out of messages; `timeout` in
        seconds for one reply; `options` are the client's. Nothing is sent yet."""
        quiet_libraries()
        self.url = checked_address(url)
        self.replies = Replies(product, self.url, *secrets)
        self._root, self._attempts = root, read_attempts
        self._client = client_of(product, timeout, **options)

    def get_json(self, path: str, params: Query | None = None) -> Row:
        """GET, tried a few times. An object of JSON; DeskUnreachable, DeskRefused or NotThere."""
        reading = retrying(DeskUnreachable, self._attempts, pause)
        reply: Row = reading(self._read_once, path, params)
        return reply

    def rows_of(self, path: str, reply: Row) -> list[Row]:
        """The rows of one page of a list, of its key `data`. DeskRefused if they are something else."""
        rows = reply.get("data")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self.replies.strange(path)
        return rows

    def send(self, method: str, path: str, body: object = None) -> tuple[int, Row]:
        """Change something: the status and the JSON of the reply; 400 and 409 are replies too.

        Raises DeskUnreachable if it had no effect, AmbiguousPost if its fate is unknown, else DeskRefused.
        """
        sending = retrying(DeskUnreachable, self._attempts, pause)
        reply: tuple[int, Row] = sending(self._send_once, method, path, body)
        return reply

    def change(self, method: str, path: str, body: object = None) -> tuple[int, Row]:
        """`send` for what may safely be done twice: an unknown fate is just DeskUnreachable."""
        try:
            return self.send(method, path, body)
        except AmbiguousPost as error:
            raise DeskUnreachable(str(error)) from None

    def _send_once(self, method: str, path: str, body: object) -> tuple[int, Row]:
        try:
            response = self._request(method, path, json=body)
        except NEVER_SENT as error:
            raise self.replies.unreachable(error) from None
        except httpx.HTTPError as error:
            raise self.replies.ambiguous(f"{type(error).__name__} while waiting for the reply") from None
        if response.status_code == 429:
            raise self.replies.busy(response)
        if response.status_code >= 500 or response.status_code in _LATER_STATUSES:
            raise self.replies.ambiguous(f"it answered {response.status_code}")
        if response.status_code in (400, 409):
            try:
                answer = response.json()
            except ValueError:
                answer = {}
            return response.status_code, answer if isinstance(answer, dict) else {}
        return response.status_code, cast(Row, self.replies.answer(response) or {})

    def _read_once(self, path: str, params: Query | None) -> Row:
        try:
            response = self._request("GET", path, params=dict(params or {}))
        except httpx.HTTPError as error:
            raise self.replies.unreachable(error) from None
        if response.status_code >= 500 or response.status_code in _LATER_STATUSES:
            raise self.replies.busy(response)
        reply = self.replies.answer(response)
        if not isinstance(reply, dict):
            raise self.replies.strange(path)
        return reply

    def _request(
        self, method: str, path: str, *, json: object = None, params: Query | None = None
    ) -> httpx.Response:
        return self._client.request(method, f"{self.url}/{self._root}/{path}", json=json, params=params)


def name_of_batch(batch: Batch) -> str:
    """What a server calls what was posted of a batch: `round 1`, and `round 1, again 2` of what is asked
    again. Desks find their own posts by it."""
    return f"round {batch.round}" + (f", again {batch.asking}" if batch.asking > 1 else "")


def finite_bounds(answers: NumberAnswers, low: str, high: str) -> Row:
    """The least and the largest number that may be answered, under these names of the server's interface;
    without those that are infinite, which JSON cannot say."""
    ends = {low: answers.low, high: answers.high}
    return {name: end for name, end in ends.items() if isfinite(end)}


def displayed_text(item: Item) -> tuple[str, str]:
    """What people see of an item, and its media type: the text of its one shown field, or the JSON of all
    of them by their names. Nothing else of the pool is in it, not even the item's id."""
    if len(item.shown) == 1:
        return next(iter(item.shown.values())), "text/plain"
    return json.dumps(dict(item.shown), ensure_ascii=False), "application/json"


def annotated_answer(
    values: Iterable[object], answers: AnswerKind
) -> tuple[Literal["label", "skip", "invalid"], str | None]:
    """What the values of an annotation say, the first that says anything: a label in its fixed spelling, a
    skip (`can't tell`), or `invalid` where none of them is an answer. None and "" are no values."""
    for value in values:
        if value is None or value == "":
            continue
        if value == CANNOT_TELL:
            return "skip", None
        label = answers.spelled(str(value))
        if label is not None:
            return "label", label
    return "invalid", None
