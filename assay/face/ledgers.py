"""All evaluations of a store."""

from dataclasses import dataclass

from assay.face.evaluation import Evaluation
from assay.flows.record.opened import begun_evaluations, open_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.ledger.monitors import monitors
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Evaluations:
    """A store of evaluations."""

    store: Store

    def evaluations(self) -> list[str]:
        """The names of the evaluations that have begun, sorted."""
        return list(begun_evaluations(self.store))

    def monitors(self) -> list[str]:
        """The names of its monitors, sorted."""
        return monitors(self.store)

    def load(self, name: str) -> Evaluation:
        """One of its evaluations.

        Raises:
            UnknownEvaluation: with the names that there are.
        """
        return Evaluation(self.store, open_evaluation(self.store, name).name)

    def __repr__(self) -> str:
        return f"<Evaluations in {self.store.url}>"


def open(store: str | None = None) -> Evaluations:
    """The evaluations of a store.

    Args:
        store: a folder or s3://bucket/prefix; ASSAY_STORE, or ./assay-ledger, unless given.

    Example:
        >>> import assay
        >>> assay.open("./a-folder-without-any").evaluations()
        []
    """
    return Evaluations(store=open_store(store or Settings().store))
