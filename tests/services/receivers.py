"""Where alerts arrive in tests: a webhook receiver over HTTP, and a mail server over SMTP, on loopback."""

import email
import email.policy
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class WebhookReceiver:
    """Keeps what it is sent. `statuses`: what it answers next, then 200; `hang_up` drops the connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.received: list[dict[str, Any]] = []      # JSON bodies that were accepted
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.statuses: list[int] = []
        self.retry_after = ""                         # of answers that refuse
        self.answer = b"{}"                           # the body of what it answers; Slack's is "ok"
        self.seen = 0                                 # requests, accepted or not
        self.arrived = threading.Event()

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def webhook_receiver(port: int = 0) -> Iterator[WebhookReceiver]:
    """A receiver on a port of its own, or on this one: where one was, and is again."""
    kept: list[WebhookReceiver] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver = kept[0]
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.seen += 1
            status = receiver.statuses.pop(0) if receiver.statuses else 200
            if status < 300:
                receiver.received.append(json.loads(body))
                receiver.headers.append(dict(self.headers))
                receiver.paths.append(self.path)
            self.send_response(status)
            if status >= 300 and receiver.retry_after:
                self.send_header("Retry-After", receiver.retry_after)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)
            if status < 300:
                receiver.arrived.set()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    kept.append(WebhookReceiver(server.server_port))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield kept[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Mailbox:
    """What a mail server took in. `refuse`: so many messages are turned away."""

    def __init__(self) -> None:
        self.port = 0
        self.refuse = 0
        self.messages: list[email.message.EmailMessage] = []

    def address(self, user: str = "", password: str = "") -> str:
        """As an Apprise URL."""
        who = f"{user}:{password}@" if user else ""
        return (f"mailto://{who}127.0.0.1:{self.port}?from=assay@example.com&to=ops@example.com"
                "&mode=insecure")

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.refuse:
            self.refuse -= 1
            return "451 try again later"
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(message, email.message.EmailMessage)
        self.messages.append(message)
        return "250 taken"


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """A mail server that takes anything from anybody."""
    from aiosmtpd.controller import Controller

    mailbox = Mailbox()
    class AnyPort(Controller):
        def _trigger_server(self) -> None:
            # `start` connects to the port it was given, and 0 is none
            self.port = self.server.sockets[0].getsockname()[1]
            super()._trigger_server()

    controller = AnyPort(mailbox, hostname="127.0.0.1", port=0, ready_timeout=150)
    controller.start()
    mailbox.port = controller.port
    try:
        yield mailbox
    finally:
        controller.stop()
