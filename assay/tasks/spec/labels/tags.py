"""Labels that are sets of tags."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from assay.evalcore.annotators.answers import BAR, NONE, TagAnswers
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.tags import MOST_TAGS, Tags
from assay.tasks.schema import wrong
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.labels.classes import ClassName, look_different, several


def _each_has_a_name(names: object) -> object:
    if isinstance(names, list | tuple) and "" in names:
        raise wrong("names a tag '', and a tag needs a name; leave it out: that an item has no tag can "
                    f"always be answered, and is written {NONE}")
    return names


def _can_be_joined(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if BAR in name or name != name.strip() or name.startswith("["):
            raise wrong(f"calls a tag {name!r}; tags of one item are joined by {BAR!r}, so a tag holds none, "
                        "has no space around it, and does not begin with '['")
        if name.casefold() == NONE:
            raise wrong(f"calls a tag {name!r}, which is how people write that an item has no tag; give it "
                        "another name")
    return names


class TagLabels(LabelsForm):
    """Labels that are sets of tags, as in `{tags: [politics, sport]}`: any number of the listed tags, or
    none of them."""

    task: ClassVar[str] = "tags"
    column_holds: ClassVar[str] = "tags joined by |"

    tags: Annotated[
        tuple[ClassName, ...], Strict(False), several(1, MOST_TAGS), AfterValidator(look_different),
        AfterValidator(_can_be_joined), BeforeValidator(_each_has_a_name),
    ] = Field(description=f"the names of all tags, 1 to {MOST_TAGS}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tags, in the order of the list."""
        return self.tags

    @property
    def in_words(self) -> str:
        """How many tags people choose from, in words: `any of 3 tags`."""
        return f"any of {len(self.names)} tags"

    @property
    def answers(self) -> TagAnswers:
        """What people may answer: any set of these tags, the empty one among them."""
        return TagAnswers(names=self.tags)

    @property
    def outcome(self) -> OutcomeKind | None:
        """The outcome that the statistics see: sets of these tags."""
        return Tags(names=self.tags)
