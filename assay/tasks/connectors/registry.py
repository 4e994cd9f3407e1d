"""Which importers there are, and which one reads a place."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import Importer, Place, files_below, place_of
from assay.tasks.connectors.inspect_logs import InspectLogs
from assay.tasks.connectors.lm_eval_samples import LmEvalSamples
from assay.tasks.connectors.mlflow_logs import MlflowLogs
from assay.tasks.connectors.promptfoo_output import PromptfooOutput
from assay.tasks.connectors.records import Notes
from assay.tasks.connectors.saved_datasets import SavedDatasets
from assay.tasks.connectors.scored_cases import DeepevalResults, RagasResults
from assay.tasks.connectors.traces.langfuse_traces import LangfuseTraces
from assay.tasks.connectors.traces.langsmith_runs import LangsmithRuns
from assay.tasks.connectors.traces.otel_spans import OpenTelemetrySpans, PhoenixSpans

IMPORTERS: tuple[Importer, ...] = (
    InspectLogs(), LmEvalSamples(), PromptfooOutput(), MlflowLogs(), SavedDatasets(), OpenTelemetrySpans(),
    PhoenixSpans(), LangfuseTraces(), LangsmithRuns(), DeepevalResults(), RagasResults(),
)
_LISTED = 5


class ImportPlan(NamedTuple):
    """What is to be read, and by whom."""

    importer: Importer
    places: Sequence[Place]


def importer_named(name: str) -> Importer:
    """Raises BadInput listing all names."""
    found = next((one for one in IMPORTERS if one.name == name), None)
    if found is None:
        raise BadInput(f"--format: there is no {name!r}; {_known()}")
    return found


def recognised(given: Sequence[str | Path], name: str | None, notes: Notes) -> ImportPlan:
    """The places below `given` that one importer reads.

    name    of the importer, where it is said; else what the content shows

    A folder that is one thing as a whole (a saved dataset) is read so; of any other folder, the files that
    have a known format are, and those that do not are noted. Raises BadInput for a file that was named
    and has no known format, and where formats are mixed.
    """
    among = IMPORTERS if name is None else (importer_named(name),)
    found: dict[Importer, list[Place]] = {}
    passed: list[Place] = []
    for place in (place_of(str(one)) for one in given):
        whole = _fitting(place, among)
        if whole is None and not place.is_folder:
            raise BadInput(_unknown(place, name))
        inside = [place] if whole is not None else files_below(place)
        for one in inside:
            fitting = whole or _fitting(one, among)
            if fitting is None:
                passed.append(one)
            else:
                found.setdefault(fitting, []).append(one)
    if not found:
        raise BadInput(f"{', '.join(map(str, given))}: nothing there can be imported; {_known()}")
    if len(found) > 1:
        both = "; ".join(f"{one.name}: {places[0].given}" for one, places in found.items())
        raise BadInput(f"several formats are mixed ({both}); import one at a time, or give --format")
    if passed:
        more = ", ..." if len(passed) > _LISTED else ""
        names = ", ".join(one.path.name for one in passed[:_LISTED]) + more
        notes.tell(f"files of no known format were passed over: {names}")
    [(importer, places)] = found.items()
    return ImportPlan(importer, places)


def _fitting(place: Place, among: Sequence[Importer]) -> Importer | None:
    fitting = [one for one in among if one.fits(place)]
    if len(fitting) > 1:
        names = " or ".join(one.name for one in fitting)
        raise BadInput(f"{place.given}: could be several formats; say which with --format: {names}")
    return fitting[0] if fitting else None


def _unknown(place: Place, name: str | None) -> str:
    if name is not None:
        return f"{place.given}: is not {importer_named(name).reads}; leave --format out to see what it is"
    return f"{place.given}: has no format that can be imported; {_known()}"


def _known() -> str:
    return "there are " + "; ".join(f"{one.name}: {one.reads}" for one in IMPORTERS)
