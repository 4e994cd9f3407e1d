"""Secrets planted in every variable and every address: none of them turns up anywhere."""

import http.server
import json
import logging
import re
import threading
import traceback
from pathlib import Path

import httpx
import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from services.serving import serving

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.serve.stores import access_to, read_only_store
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.effects import _Call
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores import s3
from assay.tasks.secrets import refuse_secrets, secret_in

_CANARY = re.compile(rb"CANARY[0-9]+")


class Planted:
    """Makes canaries, and looks for them."""

    def __init__(self):
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        return f"CANARY{self.made:03d}f00dface0123456789"

    def found(self, *texts: str | bytes) -> set[bytes]:
        blobs = (text.encode() if isinstance(text, str) else text for text in texts)
        return {canary for blob in blobs for canary in _CANARY.findall(blob)}


@pytest.fixture
def canary():
    return Planted()


@pytest.fixture
def echo():
    """The port of a server that refuses everything, and repeats what it was told."""
    class Echo(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.dumps({"detail": f"you sent {self.path} {dict(self.headers)}"}).encode()
            self.send_response(500)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def everywhere(canary, echo, monkeypatch, tmp_path, caplog):
    """The environment full of canaries, logs at DEBUG, and a pool in the current folder."""
    for name in ("LABEL_STUDIO_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                 "ASSAY_WEBHOOK_SECRET", "PREFECT_API_KEY"):
        monkeypatch.setenv(name, canary())
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://u:{canary()}@127.0.0.1:{echo}/?x={canary()}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("ASSAY_ALERTS", " ".join([
        f"http://127.0.0.1:{echo}/hook/{canary()}?token={canary()}", f"json://u:{canary()}@127.0.0.1:{echo}/x",
        f"mailto://u:{canary()}@127.0.0.1:9?to=a@b.example", f"weird://{canary()}", f"http://[{canary()}/x",
    ]))
    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.01)
    monkeypatch.setattr("assay.tasks.desks.replies.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("assay.tasks.ledger.stores.s3.REQUEST_ATTEMPTS", 1)
    s3._shared_client.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    caplog.set_level(logging.DEBUG)
    write_small_pool(tmp_path, n=80)


def spec_of(name, **changes):
    small = {"name": name, "budget": {"labels": 6}, "batch_size": 3}
    spec = spec_json(Path("predictions.csv"), Path("labels.csv"), **small)
    pool = spec["pool"] | changes.pop("pool", {})
    Path(f"{name}.yaml").write_text(yaml.safe_dump(spec | {"pool": pool} | changes))
    return f"{name}.yaml"


def test_no_planted_secret_is_in_a_ledger_a_log_or_an_output(everywhere, canary, echo, capsys, caplog):
    told = spec_of("told", threshold={"min": 0.999}, alerts={"each_round": True, "tell": ["inconclusive"]})
    asks = spec_of("asks", desk={"kind": "label-studio", "url": f"http://127.0.0.1:{echo}"})
    for arguments in (["-v", "run", told], ["alerts", "--deliver"], ["verify", "told", "--json"],
                      ["status", "--json"], ["begin", asks], ["status", "--store", "s3://bucket/prefix"]):
        run_command_line(arguments)
    said = "".join(capsys.readouterr())
    assert "HTTP 500" in said + "".join(path.read_text() for path in Path().rglob("*.failed.json"))
    files = [path.read_bytes() for path in Path().rglob("*") if path.is_file()]
    assert canary.found(said, caplog.text, *files) == set()


def test_no_planted_secret_is_on_a_page(everywhere, canary, monkeypatch, caplog, capfd):
    token = canary()
    # every variable of ours and of others that holds a secret, whether or not somebody reads it here
    for name in (
        "ASSAY_SERVE_TOKEN", "ASSAY_WEBHOOK_SECRET", "LABEL_STUDIO_PASSWORD", "LABEL_STUDIO_USER_TOKEN",
        "PREFECT_API_AUTH_STRING", "AZURE_STORAGE_KEY", "AZURE_STORAGE_CONNECTION_STRING",
        "OTEL_EXPORTER_OTLP_HEADERS", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD",
    ):
        monkeypatch.setenv(name, token if name == "ASSAY_SERVE_TOKEN" else canary())
    monkeypatch.setattr("assay.tasks.desks.replies.FIRST_PAUSE", 0.01)
    assert run_command_line(["run", spec_of("told", threshold={"min": 0.999})]) in (3, 4)
    stores = {"team": read_only_store("team", open_store("assay-ledger"))}
    texts = []
    with serving(stores, access_to(stores, token, None)) as address:
        for path in ("/", "/metrics", "/labels", "/compare", "/evaluations/told", "/evaluations/told/spec",
                     "/evaluations/nobody", "/%00"):
            for sent in (token, "wrong-wrong-wrong-wrong"):
                headers = {"Authorization": f"Bearer {sent}"}
                reply = httpx.get(address + path, headers=headers, timeout=60)
                texts += [reply.text, str(reply.headers)]
    assert any("told" in text for text in texts)
    assert canary.found(*texts, caplog.text, *capfd.readouterr()) == set()


@pytest.fixture
def collected():
    """The bodies of what a collector of OpenTelemetry is sent, and its address."""
    bodies = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield bodies, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.services
def test_no_planted_secret_is_in_a_trace_that_is_exported_or_in_what_prefect_is_told(
    in_prefect, everywhere, canary, collected, echo, monkeypatch, caplog, capfd, tmp_path
):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from prefect.settings import PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY, temporary_settings

    from assay.flows.drivers import deployed

    bodies, address = collected
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization={canary()}")
    for name in ("PREFECT_API_AUTH_STRING", "ASSAY_SERVE_TOKEN", "AZURE_STORAGE_KEY"):
        monkeypatch.setenv(name, canary())
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    monkeypatch.setattr("prefect.telemetry.run_telemetry.get_tracer", provider.get_tracer)
    told = spec_of("told", threshold={"min": 0.999}, alerts={"each_round": True, "tell": ["inconclusive"]})
    asks = spec_of("asks", desk={"kind": "label-studio", "url": f"http://127.0.0.1:{echo}"})
    here = str(tmp_path / "traced")
    calls = [
        (deployed.evaluate_deployed, {"spec_file": told, "store": here, "wait_minutes": 0}),
        (deployed.begin_deployed, {"spec": Path(asks).read_text(), "store": here}),
        (deployed.sweep, {"store": "s3://bucket/prefix"}),
    ]
    with temporary_settings({PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY: True}):
        states = [flow(**given, return_state=True) for flow, given in calls]
    provider.shutdown()
    run_command_line(["publish", "told", "--otel", "--store", here])
    assert [state.is_failed() for state in states] == [False, True, True], "store and desk refuse"
    paths = {path for path, _ in bodies}
    assert {"/v1/traces", "/v1/logs"} <= paths
    sent = b"".join(body for _, body in bodies)
    assert b"exception.stacktrace" in sent, "spans of runs that failed"
    runs = json.dumps(in_prefect.post("flow_runs/filter", {"limit": 200}))
    tasks = json.dumps(in_prefect.post("task_runs/filter", {"limit": 200}))
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert canary.found(sent, runs, tasks, caplog.text, *capfd.readouterr(), *files) == set()


@pytest.mark.parametrize("source", [
    "http://169.254.169.254/latest/meta-data/x.csv", "https://127.0.0.1/x.csv", "http://[::1]:9/x.parquet",
    "ftp://localhost/x.csv", "gopher://localhost/x.csv",
])
def test_a_source_is_no_request_to_an_address_inside(everywhere, echo, source, capsys):
    assert run_command_line(["begin", spec_of("inside", pool={"source": source})]) == 2
    assert "source" in capsys.readouterr().err


def test_a_webhook_that_redirects_is_not_followed(everywhere, monkeypatch):
    followed = []

    class Redirecting(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            followed.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/inside")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setenv("ASSAY_ALERTS", f"http://127.0.0.1:{server.server_port}/hook")
    alerts = {"each_round": True, "tell": ["inconclusive"]}
    run_command_line(["run", spec_of("told", threshold={"min": 0.999}, alerts=alerts)])
    run_command_line(["alerts", "--deliver"])
    server.shutdown()
    server.server_close()
    thread.join()
    assert followed
    assert set(followed) == {"/hook"}


ADDRESSES = [
    "https://u:{}@host/x.csv", "//u:{}@host/x", "u:{}@host/x.csv", "https://host/x.csv?sig={}", "s3://u:{}@b/x.csv",
    "https://host/x.csv?a=1&X-Amz-Signature={}", "az://c/x.parquet?sv=1&sig={}", "file://u:{}@host/x",
    "ftp://u:{}@[bad", "https://host/?access_token={}", "s3://bucket/x?api_key={}",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_secret_is_refused_wherever_it_stands_and_never_repeated(
    everywhere, canary, address, capsys, caplog, monkeypatch
):
    address = address.format(canary())
    assert secret_in(address)
    specs = [
        spec_of("source", pool={"source": address}), spec_of("store", store=address),
        spec_of("desk", desk={"kind": "label-studio", "url": address}),
        spec_of("labels", desk={"kind": "simulated", "labels": address}),
        spec_of("linked", alerts={"report_url": address}),
    ]
    commands = [["doctor", address], ["status", "--store", address], ["listen", "--register", address]]
    for arguments in (*(["begin", spec] for spec in specs), *commands):
        assert run_command_line(arguments) == 2, arguments
    monkeypatch.setenv("ASSAY_STORE", address)
    assert run_command_line(["status", "--json"]) == 2
    with pytest.raises(BadInput) as caught:
        LabelStudioApi(address, "f00dface")
    said = "".join(traceback.format_exception(caught.value)).replace(__file__, "")
    assert canary.found(*capsys.readouterr(), caplog.text, str(caught.value), said) == set()
    assert not Path("assay-ledger").exists()


@pytest.mark.parametrize("address", [
    "s3://bucket/dt=2026-11-20/*.parquet", "data/part-?.csv", "data/a=b;c=d/x.csv", "/home/me@work/x.csv",
    "a:b", "https://reports.example/{evaluation}?view=full", "az://container/key=1/x.parquet", "file:///a%20b",
    "http://127.0.0.1:8080", "http://[::1]:8080/path@2",
])
def test_an_ordinary_address_holds_no_secret(address):
    assert secret_in(address) == ""
    refuse_secrets(address, "it")


def test_the_address_of_label_studio_has_no_query(everywhere, capsys):
    spec = spec_of("queried", desk={"kind": "label-studio", "url": "http://127.0.0.1:8080/?page=1"})
    assert run_command_line(["begin", spec]) == 2
    assert "a query or a fragment" in capsys.readouterr().err


def test_a_proxy_of_the_environment_that_cannot_be_used_is_named_without_its_password(canary, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("ALL_PROXY", f"weird://u:{canary()}@host")
    with pytest.raises(BadInput, match="ALL_PROXY") as caught:
        LabelStudioApi("http://127.0.0.1:9", "f00dface")
    assert canary.found(str(caught.value), repr(caught.value.__cause__)) == set()


def test_the_token_is_sent_to_no_host_that_the_machine_does_not_name(everywhere, echo, monkeypatch, capsys):
    named = f"127.0.0.1:{echo}"
    spec = spec_of("elsewhere", desk={"kind": "label-studio", "url": f"http://{named}"})
    for hosts, said in ((f"label-studio:8080 127.0.0.1:{echo + 1}", "ASSAY_LABEL_STUDIO_HOSTS"),
                        (f"label-studio:8080 {named}", "answered 500")):
        monkeypatch.setenv("ASSAY_LABEL_STUDIO_HOSTS", hosts)
        assert run_command_line(["begin", spec]) == 1
        assert said in capsys.readouterr().err


def test_prefect_is_shown_no_argument_of_an_effect(canary):
    hidden = _Call((canary(),), {"token": canary()})
    assert canary.found(repr(hidden), str(hidden)) == set()
    assert not hasattr(hidden, "__dict__")
