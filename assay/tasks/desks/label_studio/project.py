"""The Label Studio project of an evaluation: found by its mark, or created; and the webhook that it calls.

The mark is a digest of the evaluation's name and identity. It is at the end of the title and in the
description; people may change one of them, and the project is found by the other. Two processes that find no
project at the same moment both create one. Each then looks again: the project of the lowest id is used, and
the process whose project it is not removes its own if that is empty. If two remain (one was committed late),
answers are read from every project with the mark and items are posted to the lowest.
"""

from collections.abc import Sequence
from html import escape

from assay.tasks.desks.desk import SECRET_HEADER, DeskRefused, DeskUnreachable, Item, digest_of_parts
from assay.tasks.desks.kind import Labelling
from assay.tasks.desks.label_studio.api import LabelStudioApi, Listed
from assay.tasks.desks.label_studio.page.config import as_on_page, labelling_config
from assay.tasks.desks.label_studio.page.controls import Control
from assay.tasks.desks.label_studio.page.fields import Field, shown_fields
from assay.tasks.desks.replies import NotThere

_TITLE_LENGTH = 50   # Label Studio's limit
_IN_TITLE = 10       # digits of the mark
_FEW_WORDS = 12      # characters of a question that are worth showing
_TITLE_CLASSES = 3   # classes that the title of a project without a question names


class EvaluationProject:
    """Where the evaluation's items are; ids are looked up once per process and after `ensure`."""

    def __init__(
        self, api: LabelStudioApi, labelling: Labelling, control: Control, *, annotators: int,
        title: str | None, identity: str,
    ) -> None:
        """As `LabelStudioDesk`. Nothing is sent yet."""
        self._api = api
        self._evaluation = labelling.evaluation
        self._control, self._annotators = control, annotators
        self._display, self._show_as = list(labelling.display), dict(labelling.show_as)
        self._question, self._guidelines = labelling.question, labelling.guidelines
        self.mark = digest_of_parts(labelling.evaluation, identity)[:20]
        self._short = self.mark[:_IN_TITLE]
        self._called = title or labelling.evaluation
        self._about = None if title else labelling.question or _classes(control)
        self._fields = shown_fields(self._display, self._show_as)
        self._known: list[int] | None = None

    def ensure(self) -> None:
        """Find the evaluation's projects by their mark, or create one, and keep their ids. Raises
        DeskUnreachable where Label Studio does not list the project just created, and DeskRefused."""
        self._known = self._find() or [self._create()]

    def ids(self) -> list[int]:
        """Every project with the mark, lowest first: nearly always one. DeskRefused if there is none."""
        if self._known is None:
            self._known = self._find()
        if not self._known:
            raise self.deleted()
        return self._known

    def fit_page(self, items: Sequence[Item], number: int) -> list[Field]:
        """The fields as the page shows them; before the first import, fit the page to the first batch.

        The title names the round, `number`, unless somebody has given the project another title.

        The project had to be created before there was a batch to see pictures in. The plan is fixed by now,
        so every process that posts computes the same page. A page somebody has edited is left alone, and so
        is the first one once there are items: what is uploaded follows the page, not the other way round.
        """
        project = self.ids()[0]
        try:
            reply = self._api.read_object(f"api/projects/{project}/")
            page = str(reply.get("label_config") or "")
            if reply.get("title") in [self._title(earlier) for earlier in range(number)]:
                self._api.change("PATCH", f"api/projects/{project}/", {"title": self._title(number)})
            fitting = shown_fields(self._display, self._show_as, [item.shown for item in items])
            untouched = page == self._page(self._fields)
            if fitting != self._fields and untouched and self._api.count(project) == 0:
                page = self._page(fitting)
                self._api.change("PATCH", f"api/projects/{project}/", {"label_config": page})
        except NotThere:
            raise self.deleted() from None
        return [as_on_page(field, page) for field in self._fields]

    def deleted(self) -> DeskRefused:
        """The error for a project that is gone; the next call looks for it again."""
        self._known = None
        return DeskRefused(
            f"Label Studio at {self._api.url} has no project for evaluation {self._evaluation} (its mark is "
            f"{self.mark}): it was deleted, or the token belongs to another organization. Answers collected "
            "so far are safe in the ledger; restore the project (any with the mark in its description will "
            "do), or begin an evaluation under a new name"
        )

    def _title(self, number: int = 0) -> str:
        """The evaluation's name, what is asked and the round, as far as there is room, and the mark."""
        room = _TITLE_LENGTH - _IN_TITLE - 1
        title, tail = self._called[:room], f", round {number}" if number else ""
        if len(title + tail) > room:
            tail = ""
        space = room - len(title + tail) - 2
        if self._about and space >= min(len(self._about), _FEW_WORDS):
            title += f": {_cut(self._about, space)}"
        return f"{title}{tail} {self._short}"

    def _page(self, fields: Sequence[Field]) -> str:
        return labelling_config(fields, self._control, self._question)

    def _find(self) -> list[int]:
        projects = [project for project in self._api.projects(self._short) if self._has_mark(project)]
        if not projects:   # renamed? Then the description still tells, at the price of the full list
            projects = [project for project in self._api.projects() if self._has_mark(project)]
        return sorted(int(project["id"]) for project in projects)

    def _has_mark(self, project: Listed) -> bool:
        in_description = self.mark in str(project.get("description") or "")
        return in_description or str(project.get("title") or "").endswith(" " + self._short)

    def _create(self) -> int:
        created = self._api.change("POST", "api/projects/", {   # twice is survivable: see the module's text
            "title": self._title(),
            "description": " ".join(filter(None, [
                self._question,
                f"Assay evaluation {self._evaluation}. Please leave this mark: {self.mark}",
            ])),
            "expert_instruction": _instruction(self._guidelines),
            "show_instruction": self._guidelines is not None,
            "label_config": self._page(self._fields),
            "maximum_annotations": self._annotators,
            "overlap_cohort_percentage": 100,      # below it, every import reshuffles the others' overlap
            "skip_queue": "REQUEUE_FOR_OTHERS",    # who skipped an item does not meet it again
            "show_skip_button": False,             # `can't tell` is one of the answers
            "enable_empty_annotation": False,      # no answer is given by submitting nothing
            "show_collab_predictions": False,
            "sampling": "Sequential sampling",
        })
        projects = self._find()
        if not projects:
            raise DeskUnreachable(
                f"Label Studio at {self._api.url} does not list the project it has just created; try again"
            )
        own_project = created.get("id") if isinstance(created, dict) else None
        if own_project != projects[0] and own_project in projects:
            self._remove_if_empty(own_project)
        return projects[0]

    def _remove_if_empty(self, project: int) -> None:
        """Another process was quicker: an empty second project would only confuse the people who label."""
        try:
            if self._api.count(project) == 0:
                self._api.change("DELETE", f"api/projects/{project}/")
        except (NotThere, DeskUnreachable):
            return   # it stays, and is read with the other


def _classes(control: Control) -> str | None:
    """`match or no match?`, where the classes are few."""
    names = control.answers.choices
    if not 0 < len(names) <= _TITLE_CLASSES or control.answers.several:
        return None
    return f"{', '.join(names[:-1])} or {names[-1]}?"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"


def _instruction(guidelines: str | None) -> str:
    """The guidelines as HTML: escaped, a paragraph for each line."""
    lines = [line.strip() for line in (guidelines or "").splitlines()]
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


ACTIONS = ["ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED", "TASKS_DELETED"]


def ensure_webhook(api: LabelStudioApi, projects: Sequence[int], url: str, secret: str) -> bool:
    """Make these projects send hints to `url`; whether anything had to be changed.

    Registered for the address already: only a secret that was changed since is renewed. Raises DeskRefused if
    Label Studio does not take the address, and DeskUnreachable if it is away.

    Asking Label Studio to tell us that somebody answered: a webhook of one project, registered once.

    It is a hint: if one is lost, the next sweep does the work. Label Studio makes one attempt with a timeout
    of a second, during the annotator's own request, and signs nothing. So no answer is sent with it
    (`send_payload` is off), only a header with a secret. Every member of the project can read the secret in
    the project's settings; it keeps strangers out, and can be used for nothing but to ask for an advance.
    """
    headers = {SECRET_HEADER: secret}
    changed = False
    for project in projects:
        hooks = [hook for hook in api.webhooks(project) if hook.get("url") == url]
        current = hooks[0] if hooks else None
        if current is not None and current.get("headers") == headers and current.get("is_active"):
            continue
        settings = {
            "url": url, "headers": headers, "send_payload": False, "send_for_all_actions": False,
            "is_active": True, "actions": ACTIONS,
        }
        try:
            if current is None:
                api.change("POST", "api/webhooks/", {**settings, "project": project})
            else:
                api.change("PATCH", f"api/webhooks/{int(current['id'])}/", settings)
        except DeskRefused as error:
            raise DeskRefused(
                f"{error}. Label Studio refuses webhooks to loopback and private addresses unless it is "
                "started with LABEL_STUDIO_SSRF_PROTECTION_ENABLED=false"
            ) from None
        changed = True
    return changed
