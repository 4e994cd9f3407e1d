"""Which importers there are, and which one reads a place."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.event_logs import OpenAiEvals
from assay.tasks.connectors.helm_runs import HelmRuns
from assay.tasks.connectors.importer import Importer
from assay.tasks.connectors.inspect_logs import InspectLogs
from assay.tasks.connectors.lm_eval_samples import LmEvalSamples
from assay.tasks.connectors.mlflow_logs import MlflowLogs
from assay.tasks.connectors.place import Place, files_below, place_named
from assay.tasks.connectors.promptfoo_output import PromptfooOutput
from assay.tasks.connectors.records import Notes
from assay.tasks.connectors.saved_datasets import SavedDatasets
from assay.tasks.connectors.scored_cases import DeepevalResults, RagasResults
from assay.tasks.connectors.traces.langfuse_traces import LangfuseTraces
from assay.tasks.connectors.traces.langsmith_runs import LangsmithRuns
from assay.tasks.connectors.traces.otel_spans import OpenTelemetrySpans, PhoenixSpans
from assay.tasks.connectors.weave_calls import WeaveCalls

IMPORTERS: tuple[Importer, ...] = (
    InspectLogs(), LmEvalSamples(), PromptfooOutput(), MlflowLogs(), SavedDatasets(), OpenTelemetrySpans(),
    PhoenixSpans(), LangfuseTraces(), LangsmithRuns(), DeepevalResults(), RagasResults(), OpenAiEvals(),
    HelmRuns(), WeaveCalls(),
)
_LISTED = 5      # files, or keys of a file, that a message names


class ImportPlan(NamedTuple):
    """What is to be read, and by whom: an importer, and the places that it fits."""

    importer: Importer
    places: Sequence[Place]


def importer_named(name: str) -> Importer:
    """The importer whose name `--format` gives. Raises BadInput, which lists all names, where there is none.
    """
    importer = next((importer for importer in IMPORTERS if importer.name == name), None)
    if importer is None:
        raise BadInput(f"--format: there is no {name!r}; {_formats()}")
    return importer


def recognised(addresses: Sequence[str | Path], name: str | None, notes: Notes) -> ImportPlan:
    """The places below `addresses` that one importer reads.

    name    of the importer, where it is said; else what the content shows

    A folder that is one thing as a whole (a saved dataset) is read so; of any other folder, the files that
    have a known format are, and those that do not are noted. Raises BadInput for a file that was named
    and has no known format, and where formats are mixed.
    """
    among = IMPORTERS if name is None else (importer_named(name),)
    plans: dict[Importer, list[Place]] = {}
    passed_over: list[Place] = []
    for place in (place_named(str(address)) for address in addresses):
        of_whole = _fitting(place, among)
        if of_whole is None and not place.is_folder:
            raise BadInput(_unknown(place, name))
        for file in [place] if of_whole is not None else files_below(place):
            importer = of_whole or _fitting(file, among)
            if importer is None:
                passed_over.append(file)
            else:
                plans.setdefault(importer, []).append(file)
    if not plans:
        raise BadInput(f"{', '.join(map(str, addresses))}: nothing there can be imported; {_formats()}")
    if len(plans) > 1:
        listing = "; ".join(f"{importer.name}: {places[0].address}" for importer, places in plans.items())
        raise BadInput(f"several formats are mixed ({listing}); import one at a time, or give --format")
    if passed_over:
        names = ", ".join(file.path.name for file in passed_over[:_LISTED])
        notes.tell(f"files of no known format were passed over: {names}"
                   f"{', ...' if len(passed_over) > _LISTED else ''}")
    [(importer, places)] = plans.items()
    return ImportPlan(importer, places)


def _fitting(place: Place, among: Sequence[Importer]) -> Importer | None:
    fitting = [importer for importer in among if importer.fits(place)]
    if len(fitting) > 1:
        names = " or ".join(importer.name for importer in fitting)
        raise BadInput(f"{place.address}: could be several formats; say which with --format: {names}")
    return fitting[0] if fitting else None


_OTHER_FILES = (".yaml", ".yml", ".html", ".htm", ".xml", ".xlsx", ".xls", ".md")      # that tools write, too


def _unknown(place: Place, name: str | None) -> str:
    if place.is_empty:
        return f"{place.address}: is empty; export it again"
    if (ending := place.path.suffix.lower()) in _OTHER_FILES:
        return f"{place.address}: files that end in {ending} are not read; export JSON or CSV"
    if name is not None:
        importer = importer_named(name)
        return (f"{place.address}: is not {importer.reads}; {_nearest(place, [importer])}leave --format out "
                "to see what it is")
    return f"{place.address}: has no format that can be imported; {_nearest(place, IMPORTERS)}{_formats()}"


def _nearest(place: Place, among: Sequence[Importer]) -> str:
    """What the keys of a file are, and which format has most of them, with what is missing."""
    keys = [key for key in sorted(place.keys, key=lambda key: (key.count(":"), key)) if ":" not in key]
    if not keys or place.is_address:
        return ""
    marks = [(importer, set(mark.split())) for importer in among for mark in importer.marks]
    importer, mark = max(
        marks, key=lambda pair: len(pair[1] & place.keys) / len(pair[1]), default=(None, set()))
    shown = ", ".join(keys[:_LISTED]) + (", ..." if len(keys) > _LISTED else "")
    missing = ", ".join(sorted(mark - place.keys))
    near = f", and {importer.reads} would have {missing} too" if importer and mark & place.keys else ""
    return f"its keys or columns are {shown}{near}; "


def _formats() -> str:
    names = ", ".join(importer.name for importer in IMPORTERS)
    return (f"there are {names} (docs/how-to/import.md says which files of each); a table with a row an item "
            "needs no import: assay doctor FILE")
