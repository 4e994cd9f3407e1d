"""Classes of which one is asked for, by a method of two classes: `{classes: [cat, dog, owl]}`, `f1` of `owl`.

People answer with every class. A label says whether the answer is the class: code 1, and 0 for all others. So
the rest of an evaluation is that of a positive and a negative class.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from assay.evalcore.annotators.answers import ClassAnswers, ClassOrRest
from assay.evalcore.methods.registry import of_two_classes_alone
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.spec.labels.classes import ClassList
from assay.tasks.spec.measures import asks_for_scores
from assay.tasks.spec.pool import compares


class OneOfSeveral(ClassList):
    """The class that measures are of, against the rest."""

    task: ClassVar[str] = "one class"

    # never written: it is the class that all measures name
    counted: SkipJsonSchema[str] = Field(exclude=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The rest has code 0, the class code 1."""
        return self.rest, self.counted

    @property
    def rest(self) -> str:
        """What all other classes are called together."""
        plain = f"not {self.counted}"
        return plain if plain not in self.classes else f"any class but {self.counted}"

    @property
    def offered(self) -> tuple[str, ...]:
        """The class first."""
        return self.counted, self.rest

    @property
    def codes(self) -> dict[str, int]:
        """Every class, and the rest by its name."""
        return {name: int(name == self.counted) for name in (*self.classes, self.rest)}

    @property
    def spellings(self) -> Mapping[str, str]:
        """Every class."""
        return {name: name for name in self.codes}

    @property
    def said(self) -> str:
        """How many classes."""
        return f"one of {len(self.classes)} classes"

    @property
    def answers(self) -> ClassAnswers:
        """Every class is offered."""
        return ClassOrRest(codes=self.codes, offered=self.classes, counted=self.counted, rest=self.rest)

    @property
    def positive_name(self) -> str | None:
        """The class."""
        return self.counted

    @property
    def one_class(self) -> str | None:
        """The class."""
        return self.counted

    @property
    def outcome(self) -> OutcomeKind | None:
        """None: it is asked as of a positive and a negative class."""
        return None


def class_against_the_rest(spec: Mapping[str, Any]) -> str | None:
    """The class that a spec, as it is written, asks a method of two classes for; None where it does not.

    Nor does one with curves, clusters or compared systems, which those methods know nothing of.
    """
    labels, pool, method = spec.get("labels"), spec.get("pool"), spec.get("method")
    if not (isinstance(labels, dict) and isinstance(pool, dict) and isinstance(method, str)):
        return None
    names, measures = labels.get("classes"), spec.get("measure")
    listed = measures if isinstance(measures, list | tuple) else [measures]
    named = {one.get("class") if isinstance(one, dict) else None for one in listed}
    if not isinstance(names, list | tuple) or len(named) != 1 or not of_two_classes_alone(method):
        return None
    if compares(pool) or pool.get("cluster") is not None or asks_for_scores(measures):
        return None
    [name] = named
    return name if isinstance(name, str) and name in names else None
