"""A store that writes down what is asked of it."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from assay.tasks.ledger import open_store

CALLS = ("put", "get", "get_range", "size", "exists", "keys", "folders", "discard")
PAGE = 1_000   # keys in a page of an S3 listing
# dollars a call: list prices of S3 Standard in us-east-1; removing is free, and so is reading within a region
PUT_OR_LIST, READ = 0.005 / 1_000, 0.0004 / 1_000


class Watched:
    """Everything goes to `inner`."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.url = inner, inner.url
        self.calls: Counter[str] = Counter()
        self.dollars = 0.0
        self.bytes_read = self.bytes_written = 0
        self.looked_at: set[str] = set()      # keys
        self.listed: set[str] = set()         # prefixes
        self.answers = 0                      # put

    def check(self) -> None:
        """See Store.check."""
        self.inner.check()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in CALLS:
            return found

        def call(key: str = "", *arguments: Any) -> Any:
            result = found(key, *arguments)
            self.calls[name] += 1
            pages = 1
            if name in ("keys", "folders"):
                result = list(result)
                pages = max(1, -(-len(result) // PAGE))
                self.listed.add(key)
                result = iter(result)
            else:
                self.looked_at.add(key)
            if name in ("get", "get_range"):
                self.bytes_read += len(result)
            if name == "put":
                self.bytes_written += len(arguments[0])
                self.answers += "/annotations/" in key
            self.dollars += 0.0 if name == "discard" else (
                PUT_OR_LIST * pages if name in ("put", "keys", "folders") else READ
            )
            return result

        return call

    @property
    def total(self) -> int:
        """Calls of all kinds."""
        return sum(self.calls.values())


def seconds_in(
    stores: Mapping[str, Callable[[], str]], store: Any, watched: Watched, act: Callable[[Any], object]
) -> dict[str, float]:
    """How long an act takes in other stores, where what `watched` saw it read of `store` is put before."""
    needed = {key for prefix in watched.listed for key in store.keys(prefix)}
    needed |= {key for key in watched.looked_at if store.exists(key)}
    seconds = {}
    for name, address in stores.items():
        there = open_store(address())
        for key in sorted(needed):
            there.put(key, store.get(key))
        there = open_store(there.url)
        began = time.perf_counter()
        act(there)
        seconds[name] = time.perf_counter() - began
    return seconds
