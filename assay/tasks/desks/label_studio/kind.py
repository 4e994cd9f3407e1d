"""`desk: {kind: label-studio}`."""

from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field

from assay.evalcore.errors import needs
from assay.tasks.desks.desk import Desk, DeskRefused
from assay.tasks.desks.kind import DOCTOR_TIMEOUT_SECONDS, DeskKind, Labelling, Resources, ServerAddress
from assay.tasks.desks.label_studio.page.fields import IMPORT_BYTES

if TYPE_CHECKING:
    from assay.tasks.desks.label_studio.api import LabelStudioApi
    from assay.tasks.desks.label_studio.page.pictures import PictureCheck

# where the token may be sent: HOST or HOST:PORT, with blanks between
HOSTS_VARIABLE = "ASSAY_LABEL_STUDIO_HOSTS"


class LabelStudioKind(DeskKind):
    """People label in Label Studio; its token comes from the environment."""

    example: ClassVar[str] = '{kind: label-studio, url: "http://127.0.0.1:8080", annotators_per_item: 1}'
    posts_arrive_late: ClassVar[bool] = True
    sends_hints: ClassVar[bool] = True
    most_shown_bytes: ClassVar[int | None] = IMPORT_BYTES - 10_000   # the names of the fields take some

    kind: Literal["label-studio"]
    url: ServerAddress = Field(description='address of Label Studio, such as "http://127.0.0.1:8080"')
    project: str | None = Field(
        default=None, min_length=1, max_length=50, description="project title; else the evaluation's name"
    )

    def show_check(self, labelling: Labelling) -> "PictureCheck":
        from assay.tasks.desks.label_studio.page.pictures import PictureCheck

        return PictureCheck(labelling.show_as)

    def address_for(self, evaluation: str, place: str = "") -> tuple[str, str]:
        list_of_all = f"{self.url.rstrip('/')}/projects"
        address = place if place.startswith(f"{list_of_all}/") else list_of_all
        return address, f"the project “{self.project or evaluation}” in Label Studio"

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        with needs("label-studio", "desks in Label Studio"):
            from assay.tasks.desks.label_studio.desk import LabelStudioDesk

        return LabelStudioDesk(
            self._api(resources), labelling, annotators_per_item=self.annotators_per_item,
            title=self.project, identity=resources.identity,
        )

    def look(self, labelling: Labelling, resources: Resources) -> str:
        api = self._api(resources, timeout=DOCTOR_TIMEOUT_SECONDS, read_attempts=1)
        reply = api.read_object("api/projects/", {"page_size": 1, "include": "id"})
        count = reply.get("count", "an unknown number of")
        return f"Label Studio at {self.url} accepts our token ({count} projects, none made)"

    def _api(
        self, resources: Resources, *, timeout: float = 60.0, read_attempts: int = 4
    ) -> "LabelStudioApi":
        with needs("label-studio", "desks in Label Studio"):
            from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi

        token = resources.environment.get(TOKEN_VARIABLE, "").strip()
        if not token:
            raise DeskRefused(
                f"desk.kind label-studio needs an access token for {self.url}; put one into the environment "
                f"variable {TOKEN_VARIABLE} (Label Studio: Account & Settings)"
            )
        allowed = resources.environment.get(HOSTS_VARIABLE, "").split()
        if allowed and urlsplit(self.url).netloc.rpartition("@")[2].lower() not in map(str.lower, allowed):
            raise DeskRefused(
                f"desk.url: {self.url} is not among the hosts in {HOSTS_VARIABLE}, and the token is sent to "
                "no other; correct the address, or add HOST:PORT to the variable"
            )
        return LabelStudioApi(self.url, token, timeout=timeout, read_attempts=read_attempts)
