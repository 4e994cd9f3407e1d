"""Secrets stay where they are, names stay where they belong, and text stays text."""

import http.server
import json
import logging
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
import yaml
from doubles.report_data import estimate, report_data
from doubles.small_pool import spec_json, write_small_pool
from doubles.world import World

from assay.evalcore.annotators.answers import class_answers
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.record.opened import open_evaluation
from assay.flows.report.evidence import gather_evidence
from assay.tasks.desks.desk import DeskError
from assay.tasks.desks.label_studio.api import LABEL_STUDIO, LabelStudioApi
from assay.tasks.desks.label_studio.page.config import labelling_config
from assay.tasks.desks.label_studio.page.controls import Control
from assay.tasks.desks.label_studio.page.fields import shown_fields, shown_value
from assay.tasks.desks.replies import Replies
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.stores import s3
from assay.tasks.ledger.stores.store import BadKey, StoreError
from assay.tasks.report.evidence import evidence_zip
from assay.tasks.report.files import render_report
from assay.tasks.secrets import TALKATIVE
from assay.tasks.sources.files import s3 as s3_files
from assay.tasks.sources.reader import open_source
from assay.tasks.spec import strict_yaml

TOKEN = "f00dface" * 5
AWS = {"AWS_ACCESS_KEY_ID": "AKIAWHOEVERREADSTHIS", "AWS_SECRET_ACCESS_KEY": "s3cr3t/" * 5,
       "AWS_SESSION_TOKEN": "session+" * 6}
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>"
CLIMBS = ["..", "../up", "a/../../b", "/etc/passwd", "a/b", "a\\b", ".hidden", "", "a\nb", "index", "a\x00",
          "x" * 101, "~", "%2e%2e", "ä"]


@pytest.fixture
def secrets(monkeypatch):
    """Every secret the project reads, set."""
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", TOKEN)
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    return [TOKEN, AWS["AWS_SECRET_ACCESS_KEY"], AWS["AWS_SESSION_TOKEN"]]


def files_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_secret_is_in_a_ledger_a_report_a_pack_or_a_log(secrets, tmp_path, monkeypatch, capsys, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."), n=80)
    spec = spec_json(Path("predictions.csv"), Path("labels.csv"), budget={"labels": 6}, batch_size=3)
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    for arguments in (["-v", "run", "spec.yaml"], ["report", "small", "--evidence"], ["verify", "small"]):
        assert run_command_line(arguments) == 0
    said = "".join(capsys.readouterr()) + caplog.text
    for secret in secrets:
        assert secret not in said
        for path, blob in files_below(tmp_path).items():
            assert secret.encode() not in blob, path


@pytest.fixture
def echo():
    """A server that says everything it was told, headers included, with the status it is given."""
    class Echo(http.server.BaseHTTPRequestHandler):
        status = 500

        def do_GET(self):
            body = json.dumps({"detail": f"you sent {dict(self.headers)}"}).encode()
            self.send_response(type(self).status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Set-Cookie", "sessionid=c00kie-of-a-session")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PATCH = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", Echo
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(echo, status, caplog):
    caplog.set_level(logging.DEBUG)
    url, handler = echo
    handler.status = status
    api = LabelStudioApi(url, TOKEN, read_attempts=1)
    for call in (lambda: api.get_json("/api/projects"),
                 lambda: api.send("POST", "/api/projects/1/import", [{}]),
                 lambda: api.change("PATCH", "/api/projects/1", {})):
        with pytest.raises(DeskError) as caught:
            call()
        chain = [caught.value, caught.value.__cause__, caught.value.__context__]
        said = " ".join(f"{error} {error!r}" for error in chain)
        assert TOKEN not in said + caplog.text
        assert "c00kie-of-a-session" not in said + caplog.text     # not in httpcore's own trace either
    assert TOKEN not in repr(api)


@pytest.mark.parametrize("token", ["f00dface\nf00dface", "f00dface f00dface", "f00dfacé", "f00d\x00face", ""])
def test_a_token_that_cannot_be_sent_is_refused_without_being_repeated(token):
    with pytest.raises(DeskError, match="LABEL_STUDIO_API_KEY is no token") as caught:
        LabelStudioApi("http://127.0.0.1:9", token)
    said = f"{caught.value} {caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert "f00d" not in said


def test_a_token_is_masked_in_whatever_form_it_is_written():
    token = "to/k\\en'\"+"
    replies = Replies(LABEL_STUDIO, "http://127.0.0.1:9", token)
    for written in (token, repr(token), json.dumps(token), quote(token, safe="")):
        assert "k" not in str(replies.unreachable(ValueError(written))).split("(", 1)[1].split(")")[0]


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_store_that_repeats_the_credentials_does_not_get_them_into_an_error(
    secrets, echo, status, monkeypatch
):
    url, handler = echo
    handler.status = status
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.01)
    with pytest.raises((StoreError, BadInput)) as caught:
        open_store("s3://bucket/prefix").get("a/spec.json")
    for secret in secrets:
        assert secret not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"


@pytest.mark.parametrize("read", [
    lambda: open_store("s3://bucket/prefix").get("a/spec.json"),
    lambda: list(open_source("s3://bucket/predictions.csv").batches(["a"])),
], ids=["ledger", "predictions"])
def test_nothing_that_was_signed_is_in_a_log_of_everything(secrets, echo, monkeypatch, caplog, read):
    url, handler = echo
    handler.status = 403
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in TALKATIVE:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.NOTSET)
    s3._shared_client.cache_clear()
    s3_files._client.cache_clear()
    caplog.set_level(logging.DEBUG)      # the root's, as a worker's configuration would
    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.01)
    with pytest.raises((StoreError, BadInput)):
        read()
    for secret in [*secrets, AWS["AWS_ACCESS_KEY_ID"], "Signature=", "c00kie-of-a-session"]:
        assert secret not in caplog.text


@pytest.mark.parametrize("where", ["file:///tmp/a%00b", "file://./a%00b"])
def test_a_store_with_a_nul_character_is_one_clear_error(where, capsys):
    assert run_command_line(["status", "--store", where]) == 2
    said = capsys.readouterr().err
    assert "NUL character" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("variable", "value"), [
    ("ASSAY_REPOST_AFTER", "ten"), ("ASSAY_REPOST_AFTER", "inf"), ("ASSAY_REPOST_AFTER", "nan"),
    ("ASSAY_REPOST_AFTER", "1e300"), ("ASSAY_POLL_FIRST", "0"), ("ASSAY_POLL_LONGEST", ""),
    ("ASSAY_SWEEP_WORKERS", "1.5"), ("ASSAY_SWEEP_WORKERS", "9" * 5000),
])
def test_a_malformed_number_in_the_environment_is_one_clear_error(variable, value, monkeypatch, capsys):
    monkeypatch.setenv(variable, value)
    assert run_command_line(["status"]) == 2
    said = capsys.readouterr().err
    assert f"the environment variable {variable} cannot be" in said
    assert said.count("\n") == 1
    assert len(said) < 300


@pytest.mark.parametrize("name", CLIMBS)
def test_a_name_cannot_leave_its_place(name, tmp_path, monkeypatch, capsys):
    with pytest.raises(BadInput, match="cannot be the name"):
        layout.check_name(name)
    monkeypatch.chdir(tmp_path)
    for command in ("advance", "status", "report", "verify"):
        assert run_command_line([command, "--store", "ledger", "--", name]) == 2, command
    write_small_pool(Path("."), n=20)
    before = files_below(tmp_path)
    spec = spec_json(Path("predictions.csv"), Path("labels.csv"), name=name, budget={"labels": 6})
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    assert run_command_line(["begin", "spec.yaml", "--store", "ledger/deeper"]) == 2
    assert set(files_below(tmp_path)) - set(before) == {tmp_path / "spec.yaml"}
    capsys.readouterr()


@pytest.mark.parametrize("key", ["../up", "a/../../b", "/etc/passwd", "a//b", "a/./b", "a\\..\\b", ".x"])
def test_a_key_cannot_leave_its_store(key, tmp_path):
    store = open_store(f"{tmp_path}/ledger")
    for act in (lambda: store.put(key, b"x"), lambda: store.get(key), lambda: store.exists(key)):
        with pytest.raises(BadKey):
            act()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def hostile_world(folder, desk=None):
    """A pool whose ids, texts and segments attack whatever reads them."""
    folder.mkdir()
    ids = [f"../../climb-{i}" if i % 2 else f"=cmd|'{ATTACK}'!{i}" for i in range(30)]
    lines = [json.dumps({"item_id": x, "score": i / 30, "text": ATTACK, "region": ATTACK,
                         "prediction": "match" if i > 20 else ATTACK, "label": "match" if i > 18 else ATTACK})
             for i, x in enumerate(ids)]
    source = folder / "pool.jsonl"
    source.write_text("\n".join(lines) + "\n")
    spec = spec_json(source, source, budget={"labels": 12}, batch_size=6) | {
        "labels": {"positive": "match", "negative": ATTACK},
        "desk": desk or {"kind": "simulated", "labels": str(source)},
    }
    return spec, dict(zip(ids, ["match" if i > 18 else ATTACK for i in range(30)], strict=True))


def test_ids_are_data_and_never_part_of_a_key_or_a_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec, _ = hostile_world(tmp_path / "in", {"kind": "folder", "path": str(tmp_path / "desk")})
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    assert run_command_line(["begin", "spec.yaml", "--store", "ledger"]) == 0
    assert run_command_line(["advance", "small", "--store", "ledger"]) == 5
    capsys.readouterr()
    places = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
    assert places == {"in", "spec.yaml", "ledger", "desk"}
    assert not any("climb" in str(path) or "cmd" in str(path) for path in tmp_path.rglob("*"))
    for path in (tmp_path / "desk").rglob("*.csv"):
        cells = re.split(r"[,\n]", path.read_text("utf-8-sig"))
        assert not [cell for cell in cells if cell.lstrip('"').startswith("=cmd")], "a formula"


class Markup(HTMLParser):
    """The tags of a page, and every attribute that could act."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.handlers, self.sources = set(), [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.sources += [value for name, value in attrs if name in ("src", "srcset", "href", "data")]


def test_no_word_of_a_pool_becomes_markup_in_the_report():
    quiet, loud = (
        Markup(render_report(report_data(
            evaluation=word, positive=word, negative=word, method=word, interval_note=word,
            versions={word: word}, spec={"name": word, "labels": {"positive": word}},
            estimates=[estimate("f1", 0.8, 0.1, 75), estimate("f1", 0.7, 0.1, 30, segment=f"region={word}"),
                       estimate("recall", None, 0.1, 9, undefined_reason=word, segment=word)],
        ))["report.html"].decode())
        for word in ("word", ATTACK)
    )
    assert loud.tags == quiet.tags
    assert loud.handlers == []
    assert "script" not in loud.tags


def test_no_word_of_a_pool_turns_the_text_of_the_report_around():
    word = "safe\u202egnp.\u2066x"
    page = render_report(report_data(
        positive=word, estimates=[
            estimate("f1", 0.8, 0.1, 75), estimate("f1", 0.7, 0.1, 30, segment=f"a={word}"),
        ],
    ))["report.html"].decode()
    assert "safe[U+202E]gnp.[U+2066]x" in page
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(page)


def test_no_word_of_a_pool_becomes_markup_in_the_report_of_a_whole_evaluation(tmp_path):
    from assay.flows.record.standing import current_standing
    from assay.flows.report.gather import report_data as data_of
    from assay.tasks.spec.evaluation import Spec

    spec, truth = hostile_world(tmp_path / "in")
    world = World(tmp_path / "unused", n=20)
    world.spec = Spec.from_json(spec, origin="the test's spec")
    world.desk.answers = truth
    assert world.run().state == "finished"
    opened = open_evaluation(world.store, "small")
    files = render_report(data_of(opened, current_standing(opened)))
    page = Markup(files["report.html"].decode())
    assert not page.tags & {"script", "iframe", "object", "embed"}
    assert page.handlers == []
    assert page.sources      # the figures, and nothing of anybody else's
    assert all(source.startswith(("data:image/svg+xml;base64,", "#")) for source in page.sources)
    json.loads(files["report.json"])
    assert evidence_zip(gather_evidence(opened))


@pytest.mark.parametrize("kind", ["text", "html", "image"])
def test_no_word_of_a_pool_acts_on_the_labelling_page(kind):
    fields = shown_fields(["text", ATTACK], {"text": kind})
    config = labelling_config(fields, Control(class_answers(ATTACK, "no match")))
    tags = {element.tag for element in ElementTree.fromstring(config).iter()}
    assert not {tag.lower() for tag in tags} & {"script", "img", "svg", "iframe"}
    for value in (ATTACK, "javascript:alert(1)", f'http://x/y.png" onerror="alert(1)" {ATTACK}'):
        shown = shown_value(fields[0], value)
        if kind != "text":     # text is escaped by the page; what is inserted as markup must be safe itself
            page = Markup(shown)
            assert page.handlers == []
            assert "script" not in page.tags
            assert 'src="javascript' not in shown.lower()


@pytest.mark.parametrize("tag", [
    "!!python/object/apply:os.system ['true']", "!!python/name:os.system", "!!python/module:os",
    "!!python/object/new:subprocess.Popen [[true]]", "!!binary aGk=", "!!set {a}", "!!timestamp 2026-01-01",
])
def test_yaml_builds_no_objects(tag):
    with pytest.raises(BadInput, match="not valid YAML"):
        strict_yaml.parse_yaml(f"name: {tag}\n", "a.yaml")
