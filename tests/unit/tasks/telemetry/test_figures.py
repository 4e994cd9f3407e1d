"""Figures of a monitor for Prometheus and OpenTelemetry, read back by their own libraries."""

import http.server
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from doubles.history import history, place, row
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks import telemetry
from assay.tasks.telemetry import samples

END = datetime(2026, 11, 3, tzinfo=UTC)
DAYS = history(
    row("2026-11-01", 0.9, "ok"),
    row("2026-11-02", 0.7, "breach", (place(0.9, "ok", "half=a"), place(None, "inconclusive", "half=b"))),
    row("2026-11-03", None, "waiting"),
)
FOUND = samples(DAYS, END, END + timedelta(hours=5))


def read(text):
    """(name, segment or state or verdict) -> value."""
    return {
        (sample.name.removeprefix("assay_monitor_"),
         *[sample.labels[k] for k in ("segment", "state", "verdict", "limit") if k in sample.labels]):
        sample.value
        for family in text_string_to_metric_families(text.decode()) for sample in family.samples
    }


def test_prometheus_reads_value_ends_labels_verdict_and_age_of_the_newest_judged_window():
    found = read(telemetry.exposition(FOUND))
    assert [found[name, ""] for name in ("value", "lower", "upper", "labels")] == pytest.approx(
        [0.7, 0.65, 0.75, 100]
    )
    assert found["limit", "", "floor"] == 0.8
    verdicts = {v: found["verdict", "", v] for v in ("ok", "breach", "inconclusive")}
    assert verdicts == {"ok": 0, "breach": 1, "inconclusive": 0}
    assert found["verdict", "half=a", "ok"] == 1
    assert ("value", "half=b") not in found, "a value that is not known is left out"
    assert found["window_age_seconds",] == 5 * 3600
    assert found["window_end_timestamp_seconds",] == END.timestamp()
    assert found["windows", "waiting"] == 1
    assert found["labels_bought",] == 180


def test_a_monitor_without_a_verdict_has_windows_and_no_value():
    found = read(telemetry.exposition(samples(history(row("2026-11-01", None, "waiting")), None, END)))
    assert found["windows", "waiting"] == 1
    assert not any(name[0] == "value" for name in found)


def test_a_textfile_is_replaced_whole_and_a_place_that_cannot_be_written_is_named(tmp_path):
    file = tmp_path / "figures" / "assay-stream.prom"
    for _ in range(2):
        telemetry.write_textfile(FOUND, file)
    assert read(file.read_bytes()) == read(telemetry.exposition(FOUND))
    assert list(file.parent.iterdir()) == [file]
    with pytest.raises(telemetry.FiguresNotWritten, match=r"assay-stream\.prom"):
        telemetry.write_textfile(FOUND, file / "below-a-file.prom")


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes metrics as an OpenTelemetry collector does."""

    taken: list[tuple[str, bytes]]
    status = 200

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        self.taken.append((self.path, body))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def collector(monkeypatch):
    handler = type("Taking", (Collector,), {"taken": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield handler
    server.shutdown()
    server.server_close()


def test_opentelemetry_s_collector_gets_the_same_numbers(collector):
    telemetry.send_by_otlp(FOUND)
    ((path, body),) = collector.taken
    assert path == "/v1/metrics"
    (resource,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
    assert ("service.name", "assay") in {(a.key, a.value.string_value) for a in resource.resource.attributes}
    metrics = {m.name: m for scope in resource.scope_metrics for m in scope.metrics}
    assert metrics["assay.monitor.window.age"].unit == "s"
    points = {
        (name, *sorted((a.key, a.value.string_value) for a in point.attributes)):
        point.as_double or float(point.as_int)
        for name, metric in metrics.items() for point in metric.gauge.data_points
    }
    assert points == {
        (one.family.name, *sorted(one.labels.items())): pytest.approx(one.value) for one in FOUND
    }


def test_estimates_are_events_with_bounds(collector):
    row = MeasureEstimate(measure="rate", class_name="correct", value=0.7, lower=0.6, upper=0.8,
                          confidence=0.95, interval="design", labels=40)
    none = replace(row, measure="f1", value=None, lower=None, upper=None)
    telemetry.send_events(telemetry.events_of_evaluation("agent", [row, none], "ok", datetime.now(UTC)))
    ((path, body),) = collector.taken
    assert path == "/v1/logs"
    (resource,) = ExportLogsServiceRequest.FromString(body).resource_logs
    [record] = [record for scope in resource.scope_logs for record in scope.log_records]
    assert record.event_name == "gen_ai.evaluation.result"
    told = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in record.attributes}
    assert told == {
        "gen_ai.evaluation.name": "agent.rate.correct", "gen_ai.evaluation.score.value": 0.7,
        "gen_ai.evaluation.score.label": "ok", "gen_ai.evaluation.explanation": "design",
        "assay.evaluation.lower": 0.6, "assay.evaluation.upper": 0.8, "assay.evaluation.confidence": 0.95,
        "assay.evaluation.labels": 40,
    }


def test_the_newest_judged_window_is_events(collector):
    found = telemetry.events_of_monitor(DAYS, END)
    told = {one.attributes["gen_ai.evaluation.name"]: one.attributes for one in found}
    whole = told[f"{DAYS.monitor}.{DAYS.measure}"]
    assert whole["gen_ai.evaluation.score.value"] == 0.7
    assert whole["assay.evaluation.lower"] == pytest.approx(0.65)
    assert whole["gen_ai.evaluation.score.label"] == "breach"
    assert whole["assay.evaluation.window"] == "2026-11-02"
    assert len(told) == 2, "a segment without a value has no event"


def test_a_collector_that_refuses_events_is_an_error(collector):
    collector.status = 400
    with pytest.raises(telemetry.EventsNotSent, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        telemetry.send_events([])


def test_a_collector_that_refuses_is_an_error(collector):
    collector.status = 400
    with pytest.raises(telemetry.FiguresNotSent, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        telemetry.send_by_otlp(FOUND)


@pytest.mark.parametrize(("package", "ask", "extra"), [
    ("prometheus_client", lambda: telemetry.exposition(FOUND), "prometheus"),
    ("opentelemetry.sdk.metrics.export", lambda: telemetry.send_by_otlp(FOUND), "otel"),
])
def test_without_the_extra_the_remedy_is_named(monkeypatch, package, ask, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BadInput, match=rf"assay-evaluation\[{extra}\]"):
        ask()
