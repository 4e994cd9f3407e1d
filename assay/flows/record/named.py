"""The evaluations of a store by name: those that have begun, and what a misspelt name may have meant."""

from collections.abc import Iterator
from itertools import chain, islice

from assay.evalcore.errors import BadInput, did_you_mean
from assay.tasks.ledger import layout
from assay.tasks.ledger.stores.store import Store


class UnknownEvaluation(BadInput):
    """No evaluation of this name has begun in this store; the message names those that have."""


def begun_evaluations(store: Store) -> Iterator[str]:
    """The names of all evaluations in a store, in natural order.

    One listing of the store's folders, and one call for each name that is taken.
    """
    return (name for name in named_folders(store) if store.exists(layout.manifest(name)))


def named_folders(store: Store) -> list[str]:
    """The names of evaluations in a store, in natural order; some may not have begun."""
    names = [name for name in store.folders() if layout.spec.match(layout.spec(name)) is not None]
    return sorted(names, key=layout.natural_order)


_NAMES_COMPARED = 1_000   # names of a store, to find what a misspelt one meant


def unknown_evaluation(store: Store, name: str) -> UnknownEvaluation:
    """The error that says that none of this name has begun in the store, with those that may be meant. A
    monitor of this name is said to be one, with the commands that show it."""
    if store.exists(layout.spec(layout.monitor_ledger(name))):
        return UnknownEvaluation(
            f"{name!r} is a monitor of {store.url}, and no evaluation: `assay monitor SPEC --once` does what "
            f"is due, `assay status {name}` and `assay history {name}` show it"
        )
    # the first by code point: to sort all of a large store takes a second, and nobody asked for a list
    folders = (folder for folder in store.folders() if layout.spec.match(layout.spec(folder)) is not None)
    names = list(islice(folders, _NAMES_COMPARED))
    suggestion = did_you_mean(name, [*names, *islice(store.folders(layout.MONITORS_PREFIX), _NAMES_COMPARED)])
    hits = list(islice((entry for entry in chain(names, folders) if store.exists(layout.manifest(entry))), 6))
    listing = ", ".join(hits[:5]) + (" and others" if len(hits) > 5 else "")
    have = f"it holds {listing}" if hits else "it holds none"
    return UnknownEvaluation(
        f"no evaluation named {name!r} has begun in {store.url}; {suggestion}{have}. Begin one with "
        "`assay begin SPEC`, or say where to look with --store or ASSAY_STORE"
    )
