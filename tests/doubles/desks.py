"""Desks as the tests open them: what people are asked in a few words, the rest as a spec would have it."""

from pathlib import Path
from typing import Any

from assay.tasks.desks.desk import Desk
from assay.tasks.desks.folder.desk import FolderDesk
from assay.tasks.desks.kind import Labelling, Resources
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.desk import LabelStudioDesk
from assay.tasks.desks.simulated import SimulatedKind

OF_DESKS = ("annotators_per_item", "title", "identity", "clock")


def labelling(**told: Any) -> Labelling:
    """What people are asked: at least `evaluation`, `answers` and `display`."""
    return Labelling(**{"show_as": {}, "id_column": "item_id", "seed": 0, **told})


def folder_desk(path: Path, **options: Any) -> FolderDesk:
    """In a folder; options of the desk, and what people are asked."""
    own = {name: options.pop(name) for name in OF_DESKS if name in options}
    return FolderDesk(path, labelling(**options), **own)


def label_studio_desk(api: LabelStudioApi, **options: Any) -> LabelStudioDesk:
    """At a server; options of the desk, and what people are asked."""
    own = {name: options.pop(name) for name in OF_DESKS if name in options}
    return LabelStudioDesk(api, labelling(**options), **own)


def simulated_desk(labels: Path, asked: Labelling, resources: Resources, **keys: Any) -> Desk:
    """With the labels of a file; keys: further ones of the spec."""
    return SimulatedKind(kind="simulated", labels=str(labels), **keys).opened(asked, resources)
