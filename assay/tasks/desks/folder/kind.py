"""`desk: {kind: folder}`."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from assay.tasks.desks.desk import Desk, DeskRefused
from assay.tasks.desks.kind import DeskKind, Labelling, Resources
from assay.tasks.operating_system import in_the_way_of
from assay.tasks.schema import FilePath


class FolderKind(DeskKind):
    """The desk without a server, as a spec declares it: people label in CSV files of a folder, into which
    batches go and from which answers are read. In a monitor `path` may hold {date} and the like."""

    example: ClassVar[str] = "{kind: folder, path: ./labelling, annotators_per_item: 1}"
    by_window: ClassVar[tuple[str, ...]] = ("path",)

    kind: Literal["folder"]
    path: FilePath = Field(description="the folder for batches and answers")

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        from assay.tasks.desks.folder.desk import FolderDesk

        return FolderDesk(
            self._folder, labelling, annotators_per_item=self.annotators_per_item,
            identity=resources.identity, clock=resources.clock,
        )

    def look(self, labelling: Labelling, resources: Resources) -> str:
        obstacle = in_the_way_of(self._folder)
        if obstacle is not None:
            raise DeskRefused(
                f"desk.path: {self._folder} cannot be made or written: {obstacle} is no folder we may write "
                "to; choose another path, or get the right to write there"
            )
        return f"the folder {self._folder} {'can be written' if self._folder.exists() else 'can be made'}"

    @property
    def _folder(self) -> Path:
        return Path(self.path).expanduser()
