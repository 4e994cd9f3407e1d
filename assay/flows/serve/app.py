"""The web application: addresses, negotiation between pages and JSON, tags, pages of long lists, live rounds.

    GET /                                         everything: q, show, kind, team, store, sort, page
    GET /evaluations/STORE/NAME                   its report; /spec: its spec; /events: told when it changes
    GET /monitors/STORE/NAME                      its history; /windows/WINDOW: one judged window
    GET /compare?of=STORE/NAME&of=...             evaluations, or the systems of one, side by side
    GET /labels                                   labels that were bought
    GET /metrics   /openapi.json   /healthz

A page is HTML or JSON by the `Accept` header, at the same address. The ledger is read in threads; nothing is
written anywhere.
"""

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from urllib.parse import urlencode

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.evalcore.errors import AssayError, BadInput, Unreachable
from assay.flows.serve.guard import ASKS, SEES, Guard
from assay.flows.serve.openapi import openapi
from assay.flows.serve.pages import NoSuchPage, PageAsked, Pages, PageTold
from assay.flows.serve.stores import Access, ServedStore
from assay.tasks.report.service.entries import ListQuery
from assay.tasks.report.service.pages import beside_files, problem_html

LOOK_SECONDS = 2.0        # between two looks for those who watch an evaluation
PAGE_BEAT_SECONDS = 15.0   # without news, a sign of life
LONGEST_WATCH = 900.0     # seconds; browsers then ask again
MOST_WATCHING = 32        # at the same time
MOST_WATCHED_BY_ONE = 8   # of these, by one token or one user of a proxy
MOST_DRAWING = 8          # threads for pages that may have to be drawn; the others have threads of their own
FOR_GOOD = "public, max-age=31536000, immutable"
_LISTED = {"q": "words", "show": "show", "kind": "kind", "team": "team", "store": "store", "sort": "sort"}
_log = logging.getLogger("assay.serve")


def wants_json(accept: str) -> bool:
    """Whether an Accept header prefers JSON to a page; a browser's, and none, do not."""
    best = {"json": 0.0, "html": 0.0}
    for part in accept.lower().split(","):
        kind, *options = (word.strip() for word in part.split(";"))
        weight = next((_weight(option[2:]) for option in options if option.startswith("q=")), 1.0)
        if kind in ("application/json", "application/*"):
            best["json"] = max(best["json"], weight)
        elif kind in ("text/html", "application/xhtml+xml", "text/*"):
            best["html"] = max(best["html"], weight)
    return best["json"] > best["html"]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class _Watch(StreamingResponse):
    """News of an evaluation, to one who is counted until the answer ends.

    Counted as the answer is made, in one step with the look at the count: of many who ask at once none is
    let in because the others are not counted yet.
    """

    def __init__(self, news: AsyncIterator[bytes], watching: Counter[str], who: str) -> None:
        super().__init__(news, media_type="text/event-stream", headers={
            "cache-control": "no-store", "x-accel-buffering": "no",
        })
        self._watching, self._who = watching, who
        watching[who] += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._watching.subtract({self._who: 1})
            if not self._watching[self._who]:
                del self._watching[self._who]


class Service:
    """The routes of the web service over the pages of some stores. It negotiates between HTML and JSON,
    answers with tags, and streams the events of rounds that are under way."""

    def __init__(self, stores: Mapping[str, ServedStore], access: Access, pages: Pages | None = None) -> None:
        self.pages = pages or Pages(stores)
        self._access = access
        self.ends: Callable[[], bool] = lambda: False     # whether the server was told to end
        self._watching: Counter[str] = Counter()     # pages, by who watches them
        self._drawing: CapacityLimiter | None = None
        self._looks: dict[tuple[str, str], tuple[float, str]] = {}

    def app(self) -> ASGIApp:
        """The ASGI application: all routes of the service, behind a Guard that decides who may look and sets
        the headers of every answer. What no route answers, and errors that nobody foresaw, become pages
        too."""
        path = "{store}/{name}"
        routes = [
            Route("/", self._home), Route("/labels", self._labels), Route("/compare", self._compare),
            Route(f"/evaluations/{path}", self._evaluation), Route(f"/evaluations/{path}/spec", self._spec),
            Route(f"/evaluations/{path}/events", self._events), Route(f"/monitors/{path}", self._monitor),
            Route(f"/monitors/{path}/windows/{{window}}", self._window), Route("/metrics", self._metrics),
            Route("/healthz", self._health), Route("/openapi.json", self._openapi),
            Route("/static/{file}", self._static),
        ]
        handlers = {HTTPException: self._no_route, Exception: self._unforeseen}
        inner = Starlette(routes=routes, exception_handlers=handlers)
        inner.router.redirect_slashes = False
        return Guard(inner, self._access, _refusal)

    # Pages.

    async def _home(self, request: Request) -> Response:
        def tell() -> PageTold:
            args = _query(request, {*_LISTED, "page"})
            if len(args.get("q", "")) > 200:
                raise BadInput("q: a search has at most 200 characters")
            query = ListQuery(**{_LISTED[key]: value for key, value in args.items() if key in _LISTED})
            return self.pages.home(self._asked(request, args, query))

        return await self._answer(request, tell, light=True)

    async def _labels(self, request: Request) -> Response:
        return await self._answer(
            request, lambda: self.pages.labels(self._asked(request, _query(request, ())))
        )

    async def _compare(self, request: Request) -> Response:
        def tell() -> PageTold:
            _query(request, {"of"}, list_names={"of"})
            return self.pages.compare(request.query_params.getlist("of"), self._asked(request, {}))

        return await self._answer(request, tell)

    async def _evaluation(self, request: Request) -> Response:
        return await self._answer(request, lambda: self.pages.evaluation(
            *_named(request), self._asked(request, _query(request, ()))
        ))

    async def _spec(self, request: Request) -> Response:
        return await self._answer(request, lambda: self.pages.spec(
            *_named(request), self._asked(request, _query(request, ()))
        ), kind="application/yaml; charset=utf-8")

    async def _monitor(self, request: Request) -> Response:
        return await self._answer(request, lambda: self.pages.monitor(
            *_named(request), self._asked(request, _query(request, {"page"}))
        ))

    async def _window(self, request: Request) -> Response:
        return await self._answer(request, lambda: self.pages.window(
            *_named(request), request.path_params["window"], self._asked(request, _query(request, ()))
        ))

    # For programs.

    async def _metrics(self, request: Request) -> Response:
        from assay.tasks.telemetry import content_type

        text = await run_in_threadpool(self.pages.figures, request.scope[SEES])
        return Response(text, media_type=content_type(), headers={"cache-control": "no-store"})

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "up"}, headers={"cache-control": "no-store"})

    async def _openapi(self, request: Request) -> Response:
        return await self._answer(request, lambda: openapi_told())

    async def _static(self, request: Request) -> Response:
        file = beside_files().get(request.path_params["file"])
        if file is None:
            return _problem(request.scope, 404, "There is no such file.")
        return Response(file[0], media_type=file[1], headers={"cache-control": FOR_GOOD})

    # Live.

    async def _events(self, request: Request) -> Response:
        alias, name = _named(request)
        try:
            served = self.pages.store(alias, request.scope[SEES])
            digest = await run_in_threadpool(self._digest, served, name)
        except AssayError as error:
            return self._said(request, error)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        who = request.scope[ASKS]
        if self._watching.total() >= MOST_WATCHING or (who and self._watching[who] >= MOST_WATCHED_BY_ONE):
            return _problem(request.scope, 503, "Too many pages are watched at once; reload this one later.")
        return _Watch(self._news(served, name, digest), self._watching, who)

    async def _news(self, served: ServedStore, name: str, digest: str) -> AsyncIterator[bytes]:
        """`changed` with where it stands, whenever the ledger changed; `finished` at the end."""
        began = beat = time.monotonic()
        yield b"retry: 5000\n\n"
        while time.monotonic() - began < LONGEST_WATCH and not self.ends():
            await asyncio.sleep(LOOK_SECONDS)
            try:
                new_digest = await run_in_threadpool(self._digest, served, name)
                if new_digest != digest:
                    digest, beat = new_digest, time.monotonic()
                    standing = await run_in_threadpool(self.pages.progress, served, name)
                    news = {"state": standing.state, "rounds": standing.rounds, "labels": standing.labels}
                    event = "finished" if standing.state == "finished" else "changed"
                    yield f"event: {event}\ndata: {json.dumps(news)}\n\n".encode()
                    if event == "finished":
                        return
            except AssayError as error:   # the store may be back at the next look
                _log.warning("%s/%s: cannot be watched: %s", served.alias, name, error)
            if time.monotonic() - beat >= PAGE_BEAT_SECONDS:
                beat = time.monotonic()
                yield b": still there\n\n"

    def _digest(self, served: ServedStore, name: str) -> str:
        """Of an evaluation; one look serves all who watch it."""
        key, moment = (served.alias, name), time.monotonic()
        look = self._looks.get(key)
        if look is not None and moment - look[0] < LOOK_SECONDS / 2:
            return look[1]
        digest = self.pages.digest(served, name)
        if len(self._looks) > 10 * MOST_WATCHING:
            self._looks.clear()
        self._looks[key] = moment, digest
        return digest

    # Answers.

    def _asked(self, request: Request, args: Mapping[str, str], query: ListQuery | None = None) -> PageAsked:
        page = args.get("page", "1")
        if not page.isdecimal() or len(page) > 6 or not 1 <= int(page) <= 100_000:
            raise BadInput(f"page={page[:20]!r}: it is a whole number from 1")
        return PageAsked(
            json=wants_json(request.headers.get("accept", "")), page=int(page), query=query or ListQuery(),
            sees=request.scope[SEES],
        )

    async def _answer(
        self, request: Request, tell: Callable[[], PageTold], kind: str | None = None, light: bool = False
    ) -> Response:
        """light: it is quickly told, and does not wait behind pages that have to be drawn."""
        if self._drawing is None:
            self._drawing = CapacityLimiter(MOST_DRAWING)
        try:
            answer = await to_thread.run_sync(tell, limiter=None if light else self._drawing)
        except AssayError as error:
            return self._said(request, error)
        headers = {
            "etag": answer.body.etag, "cache-control": "private, no-cache", "vary": "Accept, Authorization",
            "age": str(int(answer.age)),
        }
        headers |= _links(request, answer)
        if _matches(request.headers.get("if-none-match", ""), answer.body.etag):
            return Response(status_code=304, headers=headers)
        as_json = request.url.path == "/openapi.json" or wants_json(request.headers.get("accept", ""))
        usual = "application/json" if as_json else "text/html; charset=utf-8"
        return Response(answer.body.content, media_type=kind or usual, headers=headers)

    def _said(self, request: Request, error: AssayError) -> Response:
        status = 404 if isinstance(error, NoSuchPage) else 400 if isinstance(error, BadInput) else 500
        status = 503 if isinstance(error, Unreachable) else status
        if status >= 500:
            _log.error("%s: %s", request.url.path, error)
        return _problem(request.scope, status, self.pages.said_of(error))

    async def _no_route(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _problem(request.scope, status, "There is no such page.")

    async def _unforeseen(self, request: Request, error: Exception) -> Response:
        _log.error("%s: %s", request.url.path, error, exc_info=error)
        return _problem(request.scope, 500, "This page cannot be made; the service's log says why.")


def openapi_told() -> PageTold:
    """The OpenAPI description of the whole service as an answer: indented JSON, with the tag of its bytes.
    The description is the same for all stores, and for everybody who may look."""
    from assay.flows.serve.home import body_of

    return PageTold(body=body_of((json.dumps(openapi(), indent=2) + "\n").encode()))


def _named(request: Request) -> tuple[str, str]:
    return request.path_params["store"], request.path_params["name"]


def _query(request: Request, names: Collection[str], list_names: Collection[str] = ()) -> dict[str, str]:
    """The query, which has nothing but these, each once unless it may come several times."""
    args: dict[str, str] = {}
    for key, value in request.query_params.multi_items():
        if key not in names:
            may = f"; it may have {', '.join(sorted(names))}" if names else ""
            raise BadInput(f"{key[:40]!r} is nothing that this page can be asked{may}")
        if key in args and key not in list_names:
            raise BadInput(f"{key} is given twice")
        args[key] = value
    return args


def _links(request: Request, answer: PageTold) -> dict[str, str]:
    """Where the pages before and after are (RFC 8288), and how many lines there are."""
    if answer.total is None:
        return {}
    args = dict(request.query_params)
    page = int(args.get("page", "1"))
    links = [
        f'<{request.url.path}?{urlencode({**args, "page": number})}>; rel="{rel}"'
        for rel, number in (("prev", page - 1), ("next", page + 1)) if 1 <= number <= answer.pages
    ]
    return {"x-total-count": str(answer.total)} | ({"link": ", ".join(links)} if links else {})


def _matches(header: str, etag: str) -> bool:
    return header.strip() == "*" or etag in [tag.strip().removeprefix("W/") for tag in header.split(",")]


def _problem(scope: Scope, status: int, message: str) -> Response:
    accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
    headers = {"cache-control": "no-store"}
    if status == 401:
        headers["www-authenticate"] = 'Basic realm="assay", charset="UTF-8"'
    if status == 405:
        headers["allow"] = "GET, HEAD"
    if status == 503:
        headers["retry-after"] = "10"
    if wants_json(accept):
        kind = {400: "BadInput", 401: "NoToken", 404: "NoSuchPage", 405: "OnlyLooked", 421: "OtherHost"}
        error = {
            "kind": kind.get(status, "AssayError"), "message": message, "exit_code": 2 if status < 500 else 1,
        }
        return JSONResponse({"error": error}, status_code=status, headers=headers)
    return Response(problem_html(status, message), status, headers, "text/html; charset=utf-8")


def _refusal(scope: Scope, status: int, message: str) -> ASGIApp:
    return _problem(scope, status, message)
