"""Writers that try to create the same keys at the same moment: as threads, or as processes."""

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import Store


def blob_of(writer: int, key: str) -> bytes:
    """What this writer wants to write there; no two are equal, nor (for one key) of equal length."""
    return f"writer {writer} of {key} ".encode() + b"." * (writer * 1000)


def race_in_threads(stores: Sequence[Store], keys: Sequence[str], lanes: int = 1) -> list[list[bytes]]:
    """One thread per store. Gives, for each key, what `put` told each writer.

    `lanes` races are run side by side, each with threads of its own: SeaweedFS lets a loser wait for a
    second or two.
    """
    with ThreadPoolExecutor(lanes) as pool:
        told = list(pool.map(lambda lane: _one_lane(stores, keys[lane::lanes]), range(lanes)))
    return [told[number % lanes][number // lanes] for number in range(len(keys))]


def _one_lane(stores: Sequence[Store], keys: Sequence[str]) -> list[list[bytes]]:
    writers = range(len(stores))
    barrier = threading.Barrier(len(stores), timeout=240)
    with ThreadPoolExecutor(len(stores)) as pool:
        told = list(pool.map(lambda writer: _puts(stores[writer], writer, keys, barrier.wait), writers))
    return [list(answers) for answers in zip(*told, strict=True)]


def race_in_processes(url: str, writers: int, keys: Sequence[str]) -> list[list[bytes]]:
    """One process per writer, each with a store of its own. Gives, for each key, what each was told."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(writers, timeout=240)
    with context.Pool(writers, initializer=_remember, initargs=(barrier,)) as pool:
        told = pool.starmap(_puts_in_process, [(url, writer, keys) for writer in range(writers)], chunksize=1)
    return [list(answers) for answers in zip(*told, strict=True)]


def _puts(store: Store, writer: int, keys: Sequence[str], wait: Callable[[], Any]) -> list[bytes]:
    told = []
    for key in keys:
        wait()
        told.append(store.put(key, blob_of(writer, key)))
    return told


_barrier: Any = None


def _remember(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _puts_in_process(url: str, writer: int, keys: Sequence[str]) -> list[bytes]:
    return _puts(open_store(url), writer, keys, _barrier.wait)
