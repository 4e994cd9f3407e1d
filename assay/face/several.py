"""Several evaluations: all of a store, and some of them on one page."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.face.evaluation import Evaluation, load
from assay.flows.record.named import begun_evaluations
from assay.flows.record.opened import open_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.ledger.monitors import monitors
from assay.tasks.ledger.stores.store import Store
from assay.tasks.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Evaluations:
    """A store of evaluations and monitors, opened to list what it holds and to compare some of it on one
    page."""

    store: Store

    def evaluations(self) -> list[str]:
        """The names of the evaluations in the store that have begun, sorted."""
        return list(begun_evaluations(self.store))

    def monitors(self) -> list[str]:
        """The names of the monitors that are registered in the store, sorted."""
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


def report(evaluations: Iterable[Evaluation | str], path: str | Path, *, store: str | None = None) -> Path:
    """Write several evaluations as one HTML page: a table, their intervals by measure, and a part for each.

    Args:
        evaluations: what `begin` and `load` return, or names.
        path: the file, without links to elsewhere.
        store: where the names are found; ASSAY_STORE, or ./assay-ledger, unless given.

    Raises:
        BadInput: without any.
        UnknownEvaluation: for a name that the store does not have.
        NothingToReport: for one whose first round is still open.

    Example:
        >>> import assay, pathlib, pyarrow, tempfile
        >>> mails = pyarrow.table({"score": [0.9, 0.2], "truth": ["spam", "ham"]})
        >>> evaluations = []
        >>> for name in ("october", "november"):
        ...     evaluation = assay.begin(mails, outcome=["spam", "ham"], score="score", threshold=0.5,
        ...                              measures=["accuracy"], name=name)
        ...     told = evaluation.tell({0: "spam", 1: "ham"}) if len(evaluation.ask()) else None
        ...     evaluations.append(evaluation)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = assay.report(evaluations, pathlib.Path(folder) / "both.html").read_text()
        >>> "november" in page
        True
    """
    from assay.tasks.report.files import write_files
    from assay.tasks.report.several import several_html

    opened = [load(entry, store=store) if isinstance(entry, str) else entry for entry in evaluations]
    if not opened:
        raise BadInput("evaluations: there are none; give what begin or load return, or names")
    path = Path(path)
    write_files({path.name: several_html([entry.report_data() for entry in opened])}, path.parent)
    return path
