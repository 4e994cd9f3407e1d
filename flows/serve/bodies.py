"""What was made of a page, kept as long as the ledger says the same: keys are written once, so the same keys
are the same page. One page is made at a time, and those who ask for the same one meanwhile wait for it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from hashlib import sha256

MOST_KEPT = 64 << 20     # bytes of bodies


@dataclass(frozen=True, slots=True)
class Body:
    """What is answered."""

    content: bytes
    etag: str


def body_of(content: bytes) -> Body:
    """With its tag: equal bytes have the same."""
    return Body(content, f'"{sha256(content).hexdigest()[:32]}"')


class Bodies:
    """The bodies of pages, the least used ones forgotten first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Hashable, tuple[str, Body]] = OrderedDict()
        self._lock, self._making = threading.Lock(), threading.Lock()

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return self._size

    def body(self, page: Hashable, digest: str, make: Callable[[], bytes]) -> Body:
        """The body of a page whose ledger has this digest; `make`, where it is not known yet."""
        found = self._find(page, digest)
        if found is not None:
            return found
        with self._making:      # figures are drawn with settings of the whole process
            found = self._find(page, digest)
            if found is None:
                found = body_of(make())
                self._keep(page, digest, found)
            return found

    def _find(self, page: Hashable, digest: str) -> Body | None:
        with self._lock:
            kept = self._kept.get(page)
            if kept is None or kept[0] != digest:
                return None
            self._kept.move_to_end(page)
            return kept[1]

    def _keep(self, page: Hashable, digest: str, body: Body) -> None:
        with self._lock:
            old = self._kept.pop(page, None)
            self._size -= len(old[1].content) if old else 0
            self._kept[page] = digest, body
            self._size += len(body.content)
            while self._size > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._size -= len(gone.content)
