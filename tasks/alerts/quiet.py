"""While a channel is told, the libraries that tell it keep their logs to themselves.

The address of a chat's webhook is a secret, and urllib3, requests, httpx and Apprise write addresses, paths
and payloads into their logs: httpx at INFO already. A filter on each of their loggers drops what they say
while this thread is sending; other threads, and other times, are not affected.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TALKATIVE = (
    "apprise", "requests", "urllib3", "urllib3.connectionpool", "urllib3.connection", "urllib3.util.retry",
    "httpx", "httpcore", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy",
    "asyncio", "markdown", "MARKDOWN",
)
_sending: ContextVar[bool] = ContextVar("sending an alert", default=False)


class _Silent(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _sending.get()


_SILENT = _Silent()   # one object: adding it again to a logger that has it does nothing


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing these libraries say in this context is logged."""
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_SILENT)
    token = _sending.set(True)
    try:
        yield
    finally:
        _sending.reset(token)
