"""A channel in memory: what it was told, and failures on demand."""

import threading
from datetime import timedelta

from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import NotDelivered


class FakeChannel:
    """`down`: so many messages are refused; `swallow`: so many arrive and their sender dies."""

    def __init__(self, name="ops", min_severity="info", pause=None, after=timedelta(0)):
        self.name, self.min_severity, self.problem = name, min_severity, ""
        self.after = after
        self.told: list[tuple[str, str]] = []    # (owner, key), in order
        self.down = 0
        self.dies = 0
        self.pause = pause                       # called in the middle of sending
        self._lock = threading.Lock()

    def send(self, alert: Alert, owner: str) -> None:
        if self.pause:
            self.pause()
        with self._lock:
            if self.down:
                self.down -= 1
                raise NotDelivered("refused with HTTP 503")
            self.told.append((owner, alert.key))
            if self.dies:
                self.dies -= 1
                raise KeyboardInterrupt


def an_alert(key="finished-breach", kind="breach", severity="critical", **more) -> Alert:
    said = {"subject": "f1 fell below 0.80", "body": "f1 0.71, 95% interval 0.66 to 0.76"}
    return Alert(key=key, kind=kind, severity=severity, **{**said, **more})
