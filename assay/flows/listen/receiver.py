"""The receiver of webhooks: a desk says that somebody answered, and the evaluation is advanced at once.

    POST /<kind of desk>/<evaluation>   with the secret in X-Assay-Secret: 202, at once
    /incidents/<token>                  the page that messages of a monitor link to (flows.listen.handling)
    /desks/<evaluation>/ask and /tell   the caller's desk for programs elsewhere (flows.listen.desk)
    GET  /health                        200, and how many evaluations wait; also on a port of its own
    GET  /metrics                       figures of all monitors, if asked for, and for this machine only

Hints decide nothing: whoever holds the secret can only make us read a desk, and after a lost hint the next
sweep does the work. A request costs little before it is trusted: the secret is compared in constant time
before the body is read, and the body, which is not needed, is read up to a limit and discarded. A client that
does not send its headers is cut off (flows.listen.connections). A name that no evaluation has costs one look.

The process keeps running, so the six seconds to start Python and import the libraries are spent once, and not
in every run.
"""

import asyncio
import hmac
import http.server
import ipaddress
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, cast

from assay.evalcore.errors import AssayError, BadInput, needs
from assay.flows.alerts import deliver
from assay.flows.evaluation.advance import advance
from assay.flows.monitor.history import figures_of_store
from assay.flows.monitor.tick import judge_window_of
from assay.flows.record.opened import desk_of, open_evaluation, utc_now
from assay.tasks.desks.desk import SECRET_HEADER, SendsHints
from assay.tasks.desks.registry import DESK_KINDS
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.layout import check_name
from assay.tasks.ledger.life import open_evaluations
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.standing import Standing
from assay.tasks.telemetry import content_type, exposition

GAPS = 2.0   # the gap after a look, in times that it took

_log = logging.getLogger("assay.listen")


class Wakes:
    """Threads that advance the evaluations named in hints. A context manager.

    advance   called with the name; what it raises is logged, for the next hint or sweep tries again
    most      names that may wait at the same time
    delay     seconds between a hint and the look at the desk
    gap       seconds between two looks at the same desk, at most

    Wakes: hints that an evaluation may have something to do become calls of `advance`.

    Hints that arrive together cause one call, a moment after the first of them. An evaluation is never
    advanced twice at the same time. A hint that arrives while it is being advanced causes another call
    afterwards. So the last hint of a burst is always followed by a look at the desk. Between two looks is a
    gap of twice the time that the first took, and at most `gap` seconds: a desk is read a third of the time
    at most, and people who have given their last answer wait no longer for the next batch than that takes.
    """

    def __init__(
        self, advance: Callable[[str], object], *, workers: int = 2, most: int = 1000, delay: float = 0.2,
        gap: float = 2.0, clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._advance, self._most, self._delay, self._gap, self._clock = advance, most, delay, gap, clock
        self._changed = threading.Condition()
        self._due: dict[str, float] = {}         # name -> when
        self._running: set[str] = set()
        self._rests: dict[str, float] = {}       # name -> until when it is not advanced again
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._work, name=f"wake-{i}", daemon=True) for i in range(workers)
        ]

    def hint(self, name: str) -> bool:
        """Whether this evaluation will be advanced soon, a short delay after the hint. False where as many
        wait already as may, and the hint is dropped; a hint for an evaluation that waits changes nothing."""
        with self._changed:
            if name in self._due:
                return True
            if len(self._due) >= self._most:
                return False
            moment = self._clock()
            self._due[name] = max(moment + self._delay, self._rests.get(name, moment))
            self._changed.notify()
            return True

    @property
    def waiting(self) -> int:
        """The number of evaluations that wait to be advanced or are being advanced now, as `/health` tells
        it. An evaluation counts once, however many events named it."""
        with self._changed:
            return len(self._due) + len(self._running)

    def __enter__(self) -> "Wakes":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Finish what runs, and drop what waits: these were only hints."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (name := self._next()) is not None:
            began = self._clock()
            try:
                self._advance(name)
            except AssayError as error:
                _log.warning("%s: %s", name, error)
            except Exception:
                _log.exception("%s: unexpected error", name)
            with self._changed:
                self._running.discard(name)
                moment = self._clock()
                until = moment + min(self._gap, GAPS * (moment - began))
                self._rests = {n: at for n, at in self._rests.items() if at > moment} | {name: until}
                if name in self._due:
                    self._due[name] = max(self._due[name], until)
                self._changed.notify_all()

    def _next(self) -> str | None:
        """Wait for the next name that is due, and return it; None when it is time to stop."""
        with self._changed:
            while not self._stopping:
                ready = [(at, name) for name, at in self._due.items() if name not in self._running]
                moment = self._clock()
                if ready and min(ready)[0] <= moment:
                    name = min(ready)[1]
                    del self._due[name]
                    self._running.add(name)
                    return name
                self._changed.wait(min(ready)[0] - moment if ready else None)
            return None


KEPT = 15.0   # seconds for which one reading of the ledger serves


class Figures:
    """Reads once for all who ask at the same time. Raises BadInput without the extra."""

    def __init__(
        self, store: Store, *, utc_clock: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.content_type = content_type()
        self._store, self._now, self._clock = store, utc_clock, clock
        self._lock = threading.Lock()
        self._read: tuple[float, bytes] | None = None

    def text(self) -> bytes:
        """The figures of all monitors of the store in Prometheus's text format, in bytes. One reading of the
        ledger serves everybody who asks within the next KEPT seconds (15)."""
        with self._lock:
            if self._read is None or self._clock() - self._read[0] >= KEPT:
                self._read = self._clock(), exposition(figures_of_store(self._store, self._now()))
            return self._read[1]


def is_loopback(host: str) -> bool:
    """Whether the text is an IP address of this machine's loopback, such as 127.0.0.1 or ::1. A name, even
    `localhost`, is none. Only who looks a name up knows where it leads."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_own_host(host: str) -> bool:
    """Whether a Host header, with or without a port or brackets, names this machine's loopback: `localhost`,
    or an address of it. Any other name may be one that a web page made up."""
    name = host.strip().lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    return name == "localhost" or is_loopback(name)


if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI
    from starlette.requests import Request

SECRET_VARIABLE = "ASSAY_WEBHOOK_SECRET"   # noqa: S105 - the name of a variable
SHORTEST_SECRET = 16   # characters
MOST_REQUEST_BYTES = 64 * 1024   # of the body of a request
BODY_READ_SECONDS = 5.0   # within which a client sends the body of a request
RECEIVER_BEAT_SECONDS = 5   # between two signs of life


class NoSecret(BadInput):
    """The receiver does not start without a secret of its own."""


def checked_secret(secret: str | None) -> bytes:
    """The secret as bytes. Raises NoSecret if it is missing, too short, or cannot be sent in a header. The
    messages say which variable of the environment holds it, and how one is made."""
    if not secret or len(secret) < SHORTEST_SECRET or not (secret.isascii() and secret.isprintable()):
        raise NoSecret(
            f"put a secret of at least {SHORTEST_SECRET} printable ASCII characters into the environment "
            f"variable {SECRET_VARIABLE}, the same for the receiver and for the process that registers it; "
            "for example the output of `openssl rand -hex 24`"
        )
    return secret.encode()


def advance_and_tell(store: Store, name: str) -> Standing | None:
    """What a hint starts: advance, judge a monitor's window that is finished, and send the new alerts.

    Nothing, and None, for a name under which nothing has begun: looking for names that are like it would list
    the whole store.
    """
    if not retried(store.exists)(layout.manifest(name)):
        _log.warning("%s: a hint about an evaluation that has not begun", name)
        return None
    standing = advance(store, name)
    done = judge_window_of(store, name) if standing.state == "finished" else None
    deliver(store, [name] if done is None else [name, layout.monitor_ledger(done.monitor)])
    return standing


def receiver_app(
    wakes: Wakes, secret: bytes, figures: Figures | None = None, store: Store | None = None
) -> "FastAPI":
    """The web application: a FastAPI; store: where incidents are handled and desks ask, None: there are no
    addresses for them. `figures` gives what /metrics answers with; without it that address does not exist."""
    from fastapi import FastAPI, Request, Response

    from assay.flows.listen.connections import OneReading
    from assay.flows.listen.desk import add_desk
    from assay.flows.listen.handling import add_incident_pages

    app = FastAPI(
        title="assay listen", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    app.add_middleware(OneReading)

    @app.get("/health")
    async def health() -> dict[str, str | int]:
        return {"status": "up", "waiting": wakes.waiting}

    if figures is not None:
        @app.get("/metrics")
        def metrics(request: Request) -> Response:   # in a thread of its own: the ledger is read
            if not _from_this_machine(request):
                return Response(status_code=404)
            if not is_own_host(request.headers.get("host", "")):   # a page that has a browser look here
                return Response(status_code=421)
            return Response(figures.text(), media_type=figures.content_type)

    async def hint(evaluation: str, request: Request) -> Response:
        token = request.headers.get(SECRET_HEADER, "").encode("utf-8", "replace")
        if not hmac.compare_digest(token, secret):
            return Response(status_code=401)
        if await _small_body(request) is None:
            return Response(status_code=413)
        try:
            check_name(evaluation)
        except BadInput:
            return Response(status_code=404)
        return Response(status_code=202 if wakes.hint(evaluation) else 429)

    for name, kind in DESK_KINDS.items():
        if kind.sends_hints:
            app.post(f"/{name}/{{evaluation}}")(hint)
    if store is not None:
        add_incident_pages(app, store, secret, _small_body)
        add_desk(app, store, secret, _small_body, wakes.hint)
    return app


async def _small_body(request: "Request") -> bytes | None:
    """The body; None if it is too long or does not arrive."""
    from starlette.requests import ClientDisconnect

    body = b""
    try:
        async with asyncio.timeout(BODY_READ_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_REQUEST_BYTES:
                    return None
    except (TimeoutError, ClientDisconnect):   # too slow, or in the way of others
        return None
    return body


def _from_this_machine(request: "Request") -> bool:
    """Whether the client is on this machine, and no proxy speaks for another."""
    forwarded = any(name in request.headers for name in ("forwarded", "x-forwarded-for", "x-real-ip"))
    return not forwarded and request.client is not None and is_loopback(request.client.host)


class Registrar:
    """Registers the receiver with the desks of open evaluations that send hints, new ones included."""

    def __init__(self, store: Store, url: str, secret: str) -> None:
        self._store, self._url, self._secret = store, url.rstrip("/"), secret
        self._done: set[str] = set()

    def look(self) -> list[str]:
        """Register evaluations that are not registered yet; returns their names. Failures are tried again."""
        registered = []
        for name in sorted(set(_open(self._store)) - self._done):
            try:
                spec = open_evaluation(self._store, name).spec
                if spec.desk.sends_hints:
                    desk = cast("SendsHints", desk_of(self._store, spec))
                    desk.send_hints_to(f"{self._url}/{spec.desk.kind}/{name}", self._secret)
                    registered.append(name)
                self._done.add(name)
            except AssayError as error:
                _log.warning("%s: not registered for webhooks yet: %s", name, error)
        return registered


@retried
def _open(store: Store) -> list[str]:
    return open_evaluations(store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """The settings of a webhook receiver: the address and port where it listens, how many evaluations it
    advances at once, under which address it registers with desks, and what it answers beside hints."""

    host: str
    port: int
    workers: int = 2                 # evaluations advanced at the same time
    register: str | None = None      # the address under which desks reach us; None: nothing is registered
    health_port: int | None = None   # a second port, for /health alone; None: there is none
    look_every: float = 60.0         # seconds between two looks for evaluations to register
    metrics: bool = False            # answer GET /metrics


def serve(
    store: Store, secret: str, receiver: Receiver, *, ready: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Listen until the process is told to end (SIGINT, SIGTERM), or `stop` is set.

    ready: told the port, once requests are answered
    """
    host, port = receiver.host, receiver.port
    with needs("service", "receivers of webhooks"):
        import fastapi  # noqa: F401
        import uvicorn

    from assay.flows.listen.connections import PunctualProtocol, run_beside
    from assay.flows.listen.seldom import seldom

    checked = checked_secret(secret)
    ended = stop or threading.Event()
    pulse = Pulse()
    with ExitStack() as open_until_the_end:
        if receiver.health_port is not None:
            open_until_the_end.enter_context(health_server(pulse, host, receiver.health_port))
        wakes = open_until_the_end.enter_context(
            Wakes(lambda name: advance_and_tell(store, name), workers=receiver.workers)
        )
        open_until_the_end.enter_context(seldom("uvicorn.error", "assay.listen"))
        app = receiver_app(wakes, checked, Figures(store) if receiver.metrics else None, store)
        server = uvicorn.Server(uvicorn.Config(
            app, host=host, port=port, log_level="warning", access_log=False,
            timeout_keep_alive=5, server_header=False, lifespan="off",
            http=PunctualProtocol, ws="none", callback_notify=pulse.beat,
            timeout_notify=RECEIVER_BEAT_SECONDS,
        ))
        registrar = Registrar(store, receiver.register, secret) if receiver.register else None
        helper = threading.Thread(
            target=_look_until_ended, args=(server, registrar, ended, receiver.look_every, ready),
            name="register", daemon=True,
        )
        run_beside(server, helper, ended)


def _look_until_ended(
    server: "uvicorn.Server",
    registrar: Registrar | None,
    ended: threading.Event,
    look_every: float,
    ready: Callable[[int], None] | None,
) -> None:
    """Say that the server is ready, register with desks every so many seconds, and stop it at the end."""
    while not server.started and not ended.wait(0.05):
        pass
    if ready and server.started:
        ready(server.servers[0].sockets[0].getsockname()[1])
    while not ended.is_set():
        if registrar:
            for name in registrar.look():
                _log.info("%s: registered for webhooks", name)
        ended.wait(look_every)
    server.should_exit = True


STANDS_STILL = 60.0   # seconds without a sign of life
_HEALTH_READ_SECONDS = 5.0   # within which a client sends a request about health


class Pulse:
    """The heartbeat of the receiver's event loop: the moment of its last sign of life, by a clock that never
    goes back.

    Whether the receiver lives, told on a port and by a thread of its own: floods of the other do not matter.

    GET /health    200 while the receiver's loop runs; 503 once it has stood still for a minute
    """

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def beat(self) -> None:
        """Note that the event loop is at work now."""
        self._last = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether the last sign of life came within the last STANDS_STILL seconds (60)."""
        return time.monotonic() - self._last < STANDS_STILL


@contextmanager
def health_server(pulse: Pulse, host: str, port: int) -> Iterator[int]:
    """Answer on this port until the block ends; yields the port. AssayError if it is taken."""

    class Answer(http.server.BaseHTTPRequestHandler):
        timeout = _HEALTH_READ_SECONDS

        def do_GET(self) -> None:
            status = 404 if self.path != "/health" else 200 if pulse.alive else 503
            body = json.dumps({"status": {200: "up", 503: "stands still"}.get(status, "not found")}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

        def version_string(self) -> str:
            return "assay"

    try:
        server = http.server.ThreadingHTTPServer((host, port), Answer)
    except OSError as error:
        raise AssayError(
            f"cannot listen on {host}:{port} ({error.strerror}): choose a free --health-port"
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
