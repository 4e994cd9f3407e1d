"""`desk: {kind: phoenix}`."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.errors import needs
from assay.tasks.desks.desk import Desk
from assay.tasks.desks.kind import (
    DOCTOR_TIMEOUT_SECONDS,
    DeskKind,
    Labelling,
    Resources,
    ServerAddress,
    one_answer_each,
)

if TYPE_CHECKING:
    from assay.tasks.desks.phoenix.api import PhoenixApi


class PhoenixKind(DeskKind):
    """People label in Arize Phoenix, as annotations of spans; a token comes from the environment, where the
    server asks for one."""

    example: ClassVar[str] = '{kind: phoenix, url: "http://127.0.0.1:6006"}'
    posts_arrive_late: ClassVar[bool] = True

    kind: Literal["phoenix"]
    url: ServerAddress = Field(description='address of Phoenix, such as "http://127.0.0.1:6006"')

    def unlike(self, answers: AnswerKind) -> list[tuple[str, str]]:
        return one_answer_each(self.kind, answers)

    def address_for(self, evaluation: str, place: str = "") -> tuple[str, str]:
        list_of_all = f"{self.url.rstrip('/')}/projects"
        address = place if place.startswith(list_of_all) else list_of_all
        return address, f"the project of {evaluation} in Phoenix"

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        api = self._api(resources)
        from assay.tasks.desks.phoenix.desk import PhoenixDesk

        return PhoenixDesk(api, labelling, identity=resources.identity)

    def look(self, labelling: Labelling, resources: Resources) -> str:
        self._api(resources, timeout=DOCTOR_TIMEOUT_SECONDS, read_attempts=1).rows("projects", {"limit": 1})
        return f"Phoenix at {self.url} answers (no project made)"

    def _api(self, resources: Resources, *, timeout: float = 60.0, read_attempts: int = 4) -> "PhoenixApi":
        with needs("phoenix", "desks in Phoenix"):
            from assay.tasks.desks.phoenix.api import TOKEN_VARIABLE, PhoenixApi

        token = resources.environment.get(TOKEN_VARIABLE, "").strip()
        return PhoenixApi(self.url, token, timeout=timeout, read_attempts=read_attempts)
