"""The Label Studio project of an evaluation: found by its mark, or created.

The mark is a digest of the evaluation's name and identity. It is at the end of the title and in the
description; people may change one of them, and the project is found by the other. Two processes that find no
project at the same moment both create one. Each then looks again: the project of the lowest id is used, and
the process whose project it is not removes its own if that is empty. If two remain (one was committed late),
answers are read from every project with the mark and items are posted to the lowest.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.tasks.desks.digests import digest
from assay.tasks.desks.label_studio.api import LabelStudioApi, Listed
from assay.tasks.desks.label_studio.controls import Control
from assay.tasks.desks.label_studio.labelling_config import labelling_config
from assay.tasks.desks.label_studio.replies import NotThere
from assay.tasks.desks.label_studio.shown_fields import Field, Kind, shown_fields
from assay.tasks.desks.protocol import DeskRefused, DeskUnreachable, Item

_TITLE_LENGTH = 50   # Label Studio's limit
_IN_TITLE = 10       # digits of the mark


class EvaluationProject:
    """Where the evaluation's items are; ids are looked up once per process and after `ensure`."""

    def __init__(
        self,
        api: LabelStudioApi,
        *,
        evaluation: str,
        identity: str,
        title: str | None,
        control: Control,
        display: Sequence[str],
        show_as: Mapping[str, str],
        annotators: int,
    ) -> None:
        """As `LabelStudioDesk`. Nothing is sent yet."""
        self._api = api
        self._evaluation = evaluation
        self._control, self._display, self._show_as = control, list(display), dict(show_as)
        self._annotators = annotators
        self.mark = digest(evaluation, identity)[:20]
        self._short = self.mark[:_IN_TITLE]
        self._title = f"{(title or evaluation)[: _TITLE_LENGTH - _IN_TITLE - 1]} {self._short}"
        self._fields = shown_fields(self._display, self._show_as)
        self._known: list[int] | None = None

    def ensure(self) -> None:
        """Find the project or create it."""
        self._known = self._find() or [self._create()]

    def ids(self) -> list[int]:
        """Every project with the mark, lowest first: nearly always one. DeskRefused if there is none."""
        if self._known is None:
            self._known = self._find()
        if not self._known:
            raise self.deleted()
        return self._known

    def fit_page(self, items: Sequence[Item]) -> list[Field]:
        """The fields as the page shows them; before the first import, fit the page to the first batch.

        The project had to be created before there was a batch to see pictures in. The plan is fixed by now,
        so every process that posts computes the same page. A page somebody has edited is left alone, and so
        is the first one once there are items: what is uploaded follows the page, not the other way round.
        """
        project = self.ids()[0]
        try:
            page = str(self._api.read(f"api/projects/{project}/").get("label_config") or "")
            fitting = shown_fields(self._display, self._show_as, [item.shown for item in items])
            untouched = page == labelling_config(self._fields, self._control)
            if fitting != self._fields and untouched and self._api.count(project) == 0:
                page = labelling_config(fitting, self._control)
                self._api.change("PATCH", f"api/projects/{project}/", {"label_config": page})
        except NotThere:
            raise self.deleted() from None
        return [replace(field, kind=_kind_on_page(field, page)) for field in self._fields]

    def deleted(self) -> DeskRefused:
        """The error for a project that is gone; the next call looks for it again."""
        self._known = None
        return DeskRefused(
            f"Label Studio at {self._api.url} has no project for evaluation {self._evaluation} (its mark is "
            f"{self.mark}): it was deleted, or the token belongs to another organization. Answers collected "
            "so far are safe in the ledger; restore the project (any with the mark in its description will "
            "do), or begin an evaluation under a new name"
        )

    def _find(self) -> list[int]:
        found = [project for project in self._api.projects(self._short) if self._has_mark(project)]
        if not found:   # renamed? Then the description still tells, at the price of the full list
            found = [project for project in self._api.projects() if self._has_mark(project)]
        return sorted(int(project["id"]) for project in found)

    def _has_mark(self, project: Listed) -> bool:
        in_description = self.mark in str(project.get("description") or "")
        return in_description or str(project.get("title") or "").endswith(" " + self._short)

    def _create(self) -> int:
        created = self._api.change("POST", "api/projects/", {   # twice is survivable: see the module's text
            "title": self._title,
            "description": f"Assay evaluation {self._evaluation}. Please leave this mark: {self.mark}",
            "label_config": labelling_config(self._fields, self._control),
            "maximum_annotations": self._annotators,
            "overlap_cohort_percentage": 100,      # below it, every import reshuffles the others' overlap
            "skip_queue": "REQUEUE_FOR_OTHERS",    # who skipped an item does not meet it again
            "show_skip_button": True,
            "enable_empty_annotation": self._control.may_be_empty,
            "show_collab_predictions": False,
            "sampling": "Sequential sampling",
        })
        found = self._find()
        if not found:
            raise DeskUnreachable(
                f"Label Studio at {self._api.url} does not list the project it has just created; try again"
            )
        mine = int(created["id"])
        if mine != found[0] and mine in found:
            self._remove_if_empty(mine)
        return found[0]

    def _remove_if_empty(self, project: int) -> None:
        """Another process was quicker: an empty second project would only confuse the people who label."""
        try:
            if self._api.count(project) == 0:
                self._api.change("DELETE", f"api/projects/{project}/")
        except (NotThere, DeskUnreachable):
            return   # it stays, and is read with the other


def _kind_on_page(field: Field, page: str) -> Kind:
    """HTML only where the page renders it; what was not meant as HTML is then a picture or escaped text."""
    rendered = re.search(rf'<HyperText\b[^>]*"\${field.key}"', page) is not None
    return "text" if not rendered else "html" if field.kind == "html" else "image"
