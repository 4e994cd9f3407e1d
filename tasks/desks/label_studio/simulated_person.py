"""A person in Label Studio who knows the answers, for the demo: reads what is shown, and submits a choice.

It uses the public API that a browser uses, and sees what a person sees: it recognises an item by its shown
fields, because the item's id is not uploaded.
"""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

from assay.evalcore.errors import AssayError
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.page.differences import unmarked
from assay.tasks.ledger.asked_round import PlannedRound

_SHOWN = "shown_"
_CHOICES = re.compile(r'<Choices name="([^"]+)" toName="([^"]+)"')


class CannotRecognise(AssayError):
    """An item on the desk is none of those the round asked about."""


class SimulatedPerson:
    """Answers the items of one evaluation."""

    def __init__(self, api: LabelStudioApi, evaluation: str, truth: Mapping[str, str]) -> None:
        """evaluation: its name, which is its project's title. truth: item id -> class name."""
        self._api, self._evaluation, self._truth = api, evaluation, truth

    def answer(self, planned: PlannedRound) -> int:
        """Answer every item of the round that nobody has answered; how many that were."""
        meant = {
            _seen(planned.shown[t] or {}): self._truth[planned.item_id[t]] for t in planned.asked()
        }
        answered = 0
        for project in self._api.projects(self._evaluation):
            whole = self._api.read_object(f"api/projects/{project['id']}/")
            control = _CHOICES.search(str(whole.get("label_config")))
            if control is None:
                continue
            batch = ("data.assay_batch", "equal", "String", f"{self._evaluation}/{planned.number:04d}")
            for task in self._api.tasks(int(project["id"]), batch):
                if not task.get("annotations"):
                    self._submit(task, unescape(control[1]), unescape(control[2]), meant)
                    answered += 1
        return answered

    def _submit(
        self, task: Mapping[str, Any], name: str, to_name: str, meant: Mapping[tuple[str, ...], str]
    ) -> None:
        shown = {key: value for key, value in task["data"].items() if key.startswith(_SHOWN)}
        choice = meant.get(_seen(shown))
        if choice is None:
            raise CannotRecognise(f"Label Studio shows an item that round asked nobody about: {shown}")
        result = [{"from_name": name, "to_name": to_name, "type": "choices", "value": {"choices": [choice]}}]
        self._api.change("POST", f"api/tasks/{task['id']}/annotations/", {"result": result})


def _seen(shown: Mapping[str, str]) -> tuple[str, ...]:
    """What a person sees, whatever the fields are called, and marks of differences aside."""
    return tuple(sorted(unmarked(value) for value in shown.values()))
