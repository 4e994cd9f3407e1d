"""`desk: {kind: langfuse}`."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.errors import needs
from assay.tasks.desks.desk import Desk, DeskRefused
from assay.tasks.desks.kind import (
    DOCTOR_TIMEOUT_SECONDS,
    DeskKind,
    Labelling,
    Resources,
    ServerAddress,
    one_answer_each,
)

if TYPE_CHECKING:
    from assay.tasks.desks.langfuse.api import LangfuseApi


class LangfuseKind(DeskKind):
    """People label in an annotation queue of Langfuse; the two keys of its project come from the
    environment."""

    example: ClassVar[str] = '{kind: langfuse, url: "https://cloud.langfuse.com"}'
    posts_arrive_late: ClassVar[bool] = True
    most_shown_bytes: ClassVar[int | None] = 1_000_000

    kind: Literal["langfuse"]
    url: ServerAddress = Field(description='address of Langfuse, such as "https://cloud.langfuse.com"')

    def unlike(self, answers: AnswerKind) -> list[tuple[str, str]]:
        return one_answer_each(self.kind, answers)

    def address_for(self, evaluation: str, place: str = "") -> tuple[str, str]:
        server = self.url.rstrip("/")
        address = place if place.startswith(f"{server}/project/") else server
        return address, f"the annotation queue of {evaluation} in Langfuse"

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        api = self._api(resources)
        from assay.tasks.desks.langfuse.desk import LangfuseDesk

        return LangfuseDesk(
            api, labelling, annotators_per_item=self.annotators_per_item, identity=resources.identity
        )

    def look(self, labelling: Labelling, resources: Resources) -> str:
        self._api(resources, timeout=DOCTOR_TIMEOUT_SECONDS, read_attempts=1).get_json("projects")
        return f"Langfuse at {self.url} accepts our keys (no queue made)"

    def _api(self, resources: Resources, *, timeout: float = 60.0, read_attempts: int = 4) -> "LangfuseApi":
        with needs("langfuse", "desks in Langfuse"):
            from assay.tasks.desks.langfuse.api import LANGFUSE, PUBLIC_VARIABLE, SECRET_VARIABLE, LangfuseApi

        keys = [resources.environment.get(name, "").strip() for name in (PUBLIC_VARIABLE, SECRET_VARIABLE)]
        if not all(keys):
            raise DeskRefused(
                f"desk.kind langfuse needs the keys of a project at {self.url}; put them into the "
                f"environment variables {PUBLIC_VARIABLE} and {SECRET_VARIABLE} (Langfuse: {LANGFUSE.tokens})"
            )
        return LangfuseApi(self.url, *keys, timeout=timeout, read_attempts=read_attempts)
