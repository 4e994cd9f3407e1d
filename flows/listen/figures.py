"""The figures of all monitors for Prometheus, read from the ledger at most every few seconds."""

import ipaddress
import threading
import time
from collections.abc import Callable
from datetime import datetime

from assay.flows.monitor.publishing import figures_of_store
from assay.flows.record.opened import utc_now
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.telemetry.prometheus import content_type, exposition

KEPT = 15.0   # seconds for which one reading of the ledger serves


class Figures:
    """Reads once for all who ask at the same time. Raises BadInput without the extra."""

    def __init__(
        self, store: Store, *, now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.content_type = content_type()
        self._store, self._now, self._clock = store, now, clock
        self._lock = threading.Lock()
        self._read: tuple[float, bytes] | None = None

    def text(self) -> bytes:
        """Prometheus's text format."""
        with self._lock:
            if self._read is None or self._clock() - self._read[0] >= KEPT:
                self._read = self._clock(), exposition(figures_of_store(self._store, self._now()))
            return self._read[1]


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
