"""What goes into the evidence bundle of an evaluation, gathered from its ledger."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import JsonObject, value_under
from assay.flows.record.opened import Opened
from assay.flows.report.evidence import gather_evidence
from assay.tasks.effects import retried
from assay.tasks.ledger.life import versions
from assay.tasks.report.bundle import LEDGER, README
from assay.tasks.report.data import ReportData
from assay.tasks.report.evidence import evidence_files
from assay.tasks.report.files import render_report
from assay.tasks.report.model_card import model_card


def ledger_keys(opened: Opened) -> Sequence[str]:
    """The keys of an evaluation, sorted."""
    ledger = opened.ledger
    return sorted(retried(lambda: list(ledger.keys(f"{ledger.name}/")))())


class GatheredBundle:
    """The files of a bundle, and what its bundle.json says of them."""

    def __init__(
        self, opened: Opened, data: ReportData, file: Path, keys: Sequence[str], drawn_by: str | None = None
    ) -> None:
        """file: where the bundle will be, for the command that checks it; keys: of the ledger, listed before
        `data` was gathered; drawn_by: the matplotlib that the README names, this one unless it is given.
        Raises BadInput where there are other keys by now.
        """
        self.drawn_here = version("matplotlib")
        evidence = gather_evidence(opened)
        readme = README.format(
            evaluation=opened.name, file=file.name, version=data.versions.get("assay", ""),
            matplotlib=drawn_by or self.drawn_here,
        )
        self._opened, self._keys = opened, keys
        self.files: Mapping[str, bytes] = {
            "README.md": readme.encode(),
            "model-card.md": model_card(data),
            **{f"report/{name}": blob for name, blob in render_report(data).items()},
            **{f"evidence/{name}": blob for name, blob in evidence_files(evidence).items()},
        }
        if ledger_keys(opened) != keys:
            raise BadInput(f"{opened.name}: went on while its bundle was made; make it again")
        self.about: JsonObject = {
            "evaluation": opened.name,
            "seal": value_under(evidence.facts, "seals", "last"),
            "pool_digest": opened.manifest.digest,
            "versions": {"began": dict(opened.versions), "this_bundle": versions()},
            "drawn_by": self.drawn_here,
            "verify": f"assay verify --bundle {file.name}",
        }

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of each file; those of the ledger one after the other, as they are read. Names are
        paths within the bundle. What the store cannot give raises its error while they are read."""
        yield from self.files.items()
        ledger = self._opened.ledger
        for key in self._keys:
            yield LEDGER + key, retried(ledger.get)(key)
