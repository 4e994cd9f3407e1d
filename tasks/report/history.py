"""A monitor's history as files: `history.html` for people, `history.json` and `history.parquet` for machines.

All three are made of the object that `assay history --json` prints. The Parquet file has one row per window
and place (the whole pool, then each segment), ready for anybody's dashboard.
"""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.tasks.report import wording
from assay.tasks.report.figures.windows import windows_figure

_STATES = {
    "ok": "within the limits",
    "breach": "in breach",
    "inconclusive": "inconclusive",
    "waiting": "people are working",
    "unlabelled": "not labelled: the month's labels were spent",
}


def history_files(told: Mapping[str, Any]) -> dict[str, bytes]:
    """File name -> bytes. The same history gives the same bytes."""
    return {
        "history.html": history_html(told),
        "history.json": (json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(),
        "history.parquet": history_parquet(told),
    }


def history_rows(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One flat row per window and place."""
    return [
        _flat(told, window, place)
        for window in told["windows"]
        for place in (window | {"segment": None, "verdict": window["state"]}, *window["segments"])
    ]


def _flat(told: Mapping[str, Any], window: Mapping[str, Any], place: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "monitor": told["monitor"], "window": window["window"], "measure": told["measure"],
        "segment": place["segment"], "verdict": place["verdict"],
        **{name: place[name] for name in ("value", "lower", "upper", "confidence", "labels")},
        "limit": place["limits"][0]["value"] if place["limits"] else None,
        "log_evidence": max((x["evidence"] for x in place["limits"]), default=None),
        "log_evidence_needed": place["evidence_needed"],
        "bought": window["bought"] if place["segment"] is None else None,
        "pool": window["pool"], "revision": window["revision"],
        "signals": [s["name"] for s in window["signals"] if s["raised"]],
    }


def history_parquet(told: Mapping[str, Any]) -> bytes:
    """`history_rows` as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number, count = pa.string(), pa.float64(), pa.int64()
    columns = {
        "monitor": text, "window": text, "measure": text, "segment": text, "verdict": text,
        "value": number, "lower": number, "upper": number, "confidence": number, "labels": count,
        "limit": number, "log_evidence": number, "log_evidence_needed": number, "bought": count,
        "pool": count, "revision": count, "signals": pa.list_(text),
    }
    table = pa.Table.from_pylist(history_rows(told), schema=pa.schema(list(columns.items())))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def history_markdown(told: Mapping[str, Any], last: int = 20) -> str:
    """The newest windows as a table, for an artifact."""
    lines = [
        f"### {told['monitor']}: {told['measure']} over windows", "",
        "| window | estimate | interval | labels | bought | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {window['window']} | {_value(window)} | {_interval(window)} | {window['labels']} | "
        f"{window['bought']} | {window['state']} |"
        for window in list(told["windows"])[-last:]
    ]
    return "\n".join(lines) + "\n"


def history_html(told: Mapping[str, Any]) -> bytes:
    """The page: a plot of the measure over windows, and a table. Everything from outside is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("assay.tasks.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style = loader.get_source(environment, "style.css")[0]
    page = environment.get_template("history.html.j2").render(
        told=told,
        style=Markup(style),  # noqa: S704  our own file
        figure=windows_figure(told),
        rows=[_row(window) for window in told["windows"]],
        segments=[
            {"window": window["window"], **_row(place | {"window": place["segment"]})}
            | {"window": window["window"], "segment": place["segment"]}
            for window in told["windows"] for place in window["segments"] if place["verdict"] == "breach"
        ],
    )
    return page.encode("utf-8", "replace")


def _row(place: Mapping[str, Any]) -> dict[str, Any]:
    state = place.get("state", place.get("verdict", ""))
    return {
        "window": place["window"],
        "value": _value(place),
        "interval": _interval(place),
        "labels": place["labels"],
        "bought": place.get("bought", ""),
        "state": state,
        "said": _STATES[state],
        "limit": ", ".join(f"{x['name']} {wording.limit(x['value'])}" for x in place["limits"]),
        "evidence": ", ".join(f"{x['evidence']:.2f}" for x in place["limits"]),
        "needed": "" if place["evidence_needed"] is None else f"{place['evidence_needed']:.2f}",
        "more": place.get("labels_to_decide"),
        "signals": _signals(place.get("signals", ())),
        "revision": place.get("revision", 0),
    }


def _signals(found: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{s['name']} {_figure(s['value'])}".rstrip() for s in found if s["raised"])


def _figure(value: float | None) -> str:
    return "" if value is None else wording.number(value, 4)


def _value(place: Mapping[str, Any]) -> str:
    known = place["value"] is not None
    return wording.shown(place["value"], place["lower"], place["upper"]) if known else ""


def _interval(place: Mapping[str, Any]) -> str:
    known = place["lower"] is not None
    return wording.ends(place["value"], place["lower"], place["upper"]) if known else ""
