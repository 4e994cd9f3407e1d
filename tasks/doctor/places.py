"""Stores and desks looked at and left as they were: nothing is begun, no project or folder is made."""

import os
from collections.abc import Mapping
from pathlib import Path

from assay.evalcore.errors import AssayError
from assay.tasks.desks.protocol import DeskRefused
from assay.tasks.doctor.finding import Finding, ok, problem
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.parts import FolderDesk, LabelStudioDesk, SimulatedDesk

_TIMEOUT = 10.0     # seconds for one reply of a desk


def look_at_store(store: Store) -> Finding:
    """Whether the ledger can be written. A bucket is tried with a key that is removed again."""
    if isinstance(store, LocalStore) and not store.root.exists():
        parent = _nearest(store.root)
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            return ok("store", f"{store.url} is not there yet and can be made")
        return problem("store", f"{store.url} cannot be made: {parent} is no folder we may write to",
                       "choose another folder, or get the right to write there")
    try:
        store.check()
    except AssayError as error:
        return problem("store", str(error), "the store is where everything is kept: put it right first")
    return ok("store", f"{store.url} can be written and listed")


def look_at_desk(spec: Spec, environment: Mapping[str, str] = os.environ) -> Finding:
    """Whether the desk is there and lets us in."""
    desk = spec.desk
    try:
        if isinstance(desk, LabelStudioDesk):
            return _label_studio(desk.url, environment)
        if isinstance(desk, FolderDesk):
            return _folder(Path(desk.path).expanduser())
        if isinstance(desk, SimulatedDesk):
            from assay.tasks.desks import open_desk

            open_desk(spec, MemoryStore()).prepare()      # reads the labels, and makes nothing
            return ok("desk", f"simulated, with the labels of {desk.labels}")
    except AssayError as error:
        return problem("desk", str(error), "put it right, or choose another kind of desk")
    raise TypeError(f"no desk of type {type(desk).__name__}")


def _label_studio(url: str, environment: Mapping[str, str]) -> Finding:
    from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi

    token = environment.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise DeskRefused(f"Label Studio at {url} needs an access token; {TOKEN_VARIABLE} holds none")
    api = LabelStudioApi(url, token, timeout=_TIMEOUT, read_attempts=1)
    found = api.read("api/projects/", {"page_size": 1, "include": "id"})
    return ok("desk", f"Label Studio at {url} lets us in ({found.get('count', 'some')} projects, none made)")


def _folder(path: Path) -> Finding:
    parent = _nearest(path)
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return ok("desk", f"the folder {path} {'can be written' if path.exists() else 'can be made'}")
    return problem("desk", f"the folder {path} cannot be made: {parent} is no folder we may write to",
                   "choose another path, or get the right to write there")


def _nearest(path: Path) -> Path:
    """The path itself, or the first folder above it that exists."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
