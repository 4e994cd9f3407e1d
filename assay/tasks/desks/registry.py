"""The kinds of desks there are. A new kind is a file or folder beside this, and a line in `DeskChoice`."""

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import Field

from assay.tasks.desks.caller import CallerKind
from assay.tasks.desks.folder.kind import FolderKind
from assay.tasks.desks.kind import DeskKind
from assay.tasks.desks.label_studio.kind import LabelStudioKind
from assay.tasks.desks.langfuse.kind import LangfuseKind
from assay.tasks.desks.phoenix.kind import PhoenixKind
from assay.tasks.desks.simulated import SimulatedKind

DeskChoice = Annotated[
    LabelStudioKind
    | PhoenixKind
    | LangfuseKind
    | FolderKind
    | CallerKind
    | SimulatedKind,
    Field(discriminator="kind"),
]
"""The `desk:` of a spec."""

DESK_KINDS: Mapping[str, type[DeskKind]] = {kind.named(): kind for kind in get_args(get_args(DeskChoice)[0])}
"""Every kind by its name, in the order in which people are told of them."""
