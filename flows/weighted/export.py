"""Labelled items with their weights, for programs of other people."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.flows.record.opened import Opened
from assay.flows.record.statistics import probability_kind
from assay.flows.weighted.sample import PoolSample


def exported(opened: Opened, found: PoolSample, *, shown: bool) -> dict[str, Sequence[Any]]:
    """The columns of `tasks.weighted.export`, a row for each labelled item, in the order of the draws."""
    sample, rows, n = found.sample, found.rows, len(found.sample)
    spec, answers = opened.spec, opened.spec.labels.answers
    planned = [one.planned for one in found.folded.closed]
    columns: dict[str, Sequence[Any]] = {
        "item_id": [row.item_id for row in rows],
        "label": [answers.value(code) for code in sample.label.tolist()],
    }
    if rows[0].prediction is not None:
        columns["prediction"] = [answers.value(row.prediction) for row in rows if row.prediction is not None]
    if spec.pool.score is not None:
        columns["score"] = [row.score for row in rows]
    if spec.pool.probability is not None and rows[0].probabilities is None:
        columns["probability"] = [row.probability for row in rows]
    for number, system in enumerate(spec.pool.compared):
        columns[f"system:{system}"] = [answers.value((row.predictions or ())[number]) for row in rows]
        for code, name in enumerate(spec.labels.names if rows[0].by_system is not None else ()):
            columns[f"probability:{system}:{name}"] = [
                (row.by_system or ())[number * len(spec.labels.names) + code] for row in rows
            ]
    for code, name in enumerate(spec.labels.names):
        if spec.pool.probability is not None and rows[0].probabilities is not None:
            columns[f"probability:{name}"] = [row.probabilities[code] for row in rows if row.probabilities]
    for name in opened.manifest.segment_names:
        columns[f"segment:{name}"] = [row.segments[name] for row in rows]
    if shown:
        texts: list[Mapping[str, str]] = [
            planned[number - 1].shown[draw] or {}
            for number, draw in zip(sample.round.tolist(), sample.draw.tolist(), strict=True)
        ]
        columns |= {f"shown:{name}": [text.get(name, "") for text in texts] for name in spec.pool.display}
    kinds = [probability_kind(one.plan) for one in planned]
    return columns | {
        "cell": sample.cell.tolist(),
        "stratum": [opened.statistics.stratum(cell) for cell in sample.cell.tolist()],
        "round": sample.round.tolist(),
        "draw_probability": sample.probability.tolist(),
        "probability_kind": [kinds[number - 1] for number in sample.round.tolist()],
        "sample_weight": sample.weight.tolist(),
        "evaluation": [opened.name] * n,
        "revision": [found.revision] * n,
        "seed": [spec.seed] * n,
        "pool_items": [opened.manifest.rows] * n,
        "pool_digest": [opened.manifest.digest] * n,
    }
