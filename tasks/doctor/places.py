"""Stores and desks checked without changing them: nothing is begun, no project or folder is made."""

from assay.evalcore.errors import AssayError
from assay.tasks.desks.kind import Resources
from assay.tasks.doctor.finding import Finding, ok, problem
from assay.tasks.folders import in_the_way_of
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.spec.evaluation import Spec


def look_at_store(store: Store) -> Finding:
    """Whether the ledger can be written. A bucket is tried with a key that is removed again."""
    if isinstance(store, LocalStore) and not store.root.exists():
        obstacle = in_the_way_of(store.root)
        if obstacle is None:
            return ok("store", f"{store.url} is not there yet and can be made")
        return problem("store", f"{store.url} cannot be made: {obstacle} is no folder we may write to",
                       "choose another folder, or get the right to write there")
    try:
        store.check()
    except AssayError as error:
        return problem("store", str(error), "the store is where everything is kept: put it right first")
    return ok("store", f"{store.url} can be written and listed")


def look_at_desk(spec: Spec) -> Finding:
    """Whether the desk is there and can be used."""
    try:
        return ok("desk", spec.desk.look(spec.labelling, Resources(store=MemoryStore())))
    except AssayError as error:
        return problem("desk", str(error), "put it right, or choose another kind of desk")
