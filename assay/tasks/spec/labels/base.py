"""What a form of labels declares."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.schema import Part


class LabelsForm(Part):
    """What people answer, the section `labels` of a spec. Each subclass is one form of labels and declares
    its names and codes, what may be answered, the outcome that the statistics see, and how files spell
    it."""

    task: ClassVar[str]                   # what `pool.task` says of it
    shares: ClassVar[bool] = True         # measures have no unit: none spans more than from -1 to 1
    column_holds: ClassVar[str] = "class names"   # what is in a column of predictions
    # why no systems can be compared; None where they can
    one_system: ClassVar[str | None] = None

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The classes or tags in the order of their codes; none of numbers."""

    @property
    @abstractmethod
    def answers(self) -> AnswerKind:
        """What people may answer, and how several answers become one label."""

    @property
    @abstractmethod
    def outcome(self) -> OutcomeKind | None:
        """What the statistics call it; None for a positive and a negative class, which have their own.
        Measures and methods are chosen by it."""

    @property
    def by_cell(self) -> bool:
        """Whether labels are counted by cell: a positive and a negative class, or one class and the rest. A
        cell holds the items that the method does not tell apart."""
        return self.outcome is None

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What people answer, in a few words for messages, as in `one of 3 classes`. It stands behind "people
        answer"."""

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of classes or tags in the order in which people see them: that of their codes, unless a
        form says otherwise. Pages list them so."""
        return self.names

    @property
    def codes(self) -> dict[str, int]:
        """Name of a class or tag -> its code, 0 to K − 1 in the order of `names`; empty for numbers. The
        ledger keeps codes."""
        return {name: code for code, name in enumerate(self.names)}

    @property
    def spellings(self) -> Mapping[str, str]:
        """What a column of predictions or of known labels may hold besides names -> the class it means. None
        unless a form says otherwise."""
        return {}

    @property
    def positive_name(self) -> str | None:
        """The class that measures count; None, unless a form says otherwise, because all stand equal. Reports
        print it beside each measure of two classes."""
        return None

    @property
    def one_class(self) -> str | None:
        """The class that all measures name, where it is asked for against the rest; None elsewhere. The pool
        is then one of two classes to the statistics."""
        return None

    @property
    def two_answers(self) -> tuple[str, str] | None:
        """The columns of the two answers that people compare, without being told which is which. None unless
        a form says otherwise."""
        return None
