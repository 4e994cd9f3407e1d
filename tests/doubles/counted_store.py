"""A store that counts its calls, and how many threads were in it at once."""

import threading
from typing import Any

_CALLS = {"put", "get", "get_range", "size", "exists", "keys", "folders", "discard"}


class CountedStore:
    """Everything goes to `inner`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self.calls = 0
        self.most_threads = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _CALLS:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                self.calls += 1
                self._threads.add(threading.get_ident())
                self.most_threads = max(self.most_threads, len(self._threads))
            try:
                return found(*args, **kwargs)
            finally:
                with self._lock:
                    self._threads.discard(threading.get_ident())

        return call
