"""The action for GitHub: it fits the schema of actions, and its script decides and comments."""

import http.server
import json
import os
import subprocess
import sys
import threading
from importlib.metadata import version

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from services.prefect_server import ROOT

ACTION = ROOT / "deployments" / "github"
SCRIPT = ACTION / "evaluate_and_check.py"


class GitHub(http.server.ThreadingHTTPServer):
    """The comments of one pull request, among many others of people."""

    def __init__(self):
        self.comments = [{"id": number, "body": f"looks good {number}"} for number in range(150)]
        self.tokens, self.refuses = set(), False
        super().__init__(("127.0.0.1", 0), _Answers)


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        assert path == "/repos/owner/models/issues/7/comments"
        options = dict(one.split("=") for one in query.split("&"))
        size, page = int(options["per_page"]), int(options["page"])
        self._answer(200, self.server.comments[(page - 1) * size:page * size])

    def do_POST(self):
        assert self.path == "/repos/owner/models/issues/7/comments"
        self.server.comments.append({"id": 1_000, "user": {"type": "Bot"}, **self._body()})
        self._answer(201, {})

    def do_PATCH(self):
        (comment,) = [one for one in self.server.comments if self.path.endswith(f"/comments/{one['id']}")]
        comment.update(self._body())
        self._answer(200, {})

    def _body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status, value):
        self.server.tokens.add(self.headers["Authorization"])
        blob = json.dumps(value).encode()
        self.send_response(403 if self.server.refuses else status)
        self.send_header("Content-Length", str(len(blob)))
        self.end_headers()
        self.wfile.write(blob)

    def log_message(self, *_):
        pass


@pytest.fixture
def github():
    with GitHub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Where the action has begun the evaluation `small` by its spec, and it has finished."""
    folder = tmp_path_factory.mktemp("action")
    (folder / "small.yaml").write_text(yaml.safe_dump(spec_json(*write_small_pool(folder))))
    code, printed, *_ = run(folder, name="small", spec="small.yaml", store="ledger", min="0.01")
    assert (code, "| ok" in printed) == (0, True)
    return folder


def run(folder, github=None, **asked):
    """The exit code of the script, what it printed, and what it wrote for GitHub."""
    event, out, summary = folder / "event.json", folder / "output", folder / "summary"
    event.write_text(json.dumps({"pull_request": {"number": 7}} if github else {"ref": "refs/heads/main"}))
    for path in (out, summary):
        path.write_text("")
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "owner/models", "GITHUB_TOKEN": "t0ken",
        "GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary), "ASSAY_ACTION_COMMENT": "true",
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}" if github else "http://127.0.0.1:9",
        **{f"ASSAY_ACTION_{name.upper()}": value for name, value in asked.items()},
    }
    done = subprocess.run([sys.executable, str(SCRIPT)], env=environment, cwd=folder, capture_output=True,
                          text=True, timeout=120, check=False)
    return done.returncode, done.stdout, out.read_text(), summary.read_text()


def test_the_action_and_the_hook_fit_their_schemas():
    subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions",
                    str(ACTION / "action.yml")], check=True, timeout=60)
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    (step,) = [one for one in action["runs"]["steps"] if one.get("id") == "check"]
    given = {name.removeprefix("ASSAY_ACTION_").lower() for name in step["env"] if name.startswith("ASSAY_")}
    assert given == set(action["inputs"]) - {"install", "token"}
    assert all("${{" not in one["run"] for one in action["runs"]["steps"])
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert hook["entry"].split()[0] == f"assay:{version('assay-evaluation')}"


def test_a_check_is_a_comment_that_is_kept_up_to_date(store, github):
    code, printed, outputs, summary = run(store, github, name="small", store="ledger", min="0.01")
    assert (code, outputs) == (0, "exit-code=0\n")
    (comment,) = [one for one in github.comments if "assay small" in one["body"]]
    assert comment["body"] == f"<!-- assay small -->\n{summary.strip()}\n"
    assert "| ok" in summary
    assert summary.strip() == printed.strip()
    code, _, outputs, summary = run(store, github, name="small", store="ledger", min="0.99")
    assert (code, outputs) == (3, "exit-code=3\n")
    (again,) = [one for one in github.comments if "assay small" in one["body"]]
    assert "breach" in again["body"]
    assert again["id"] == comment["id"]
    assert github.tokens == {"Bearer t0ken"}


def test_codes_that_are_accepted_do_not_fail_and_a_comment_that_is_refused_is_a_warning(store, github):
    github.refuses = True
    asked = {"name": "small", "store": "ledger", "min": "0.99", "accept": "3, 5"}
    code, printed, outputs, summary = run(store, github, **asked)
    assert (code, outputs) == (0, "exit-code=3\n")
    assert "::warning::the table could not be put on the pull request" in printed
    assert "breach" in summary


def test_what_is_wrong_is_told_and_fails(store, github):
    code, _, outputs, summary = run(store, github, name="nothing", store="ledger", min="0.5", accept="4 5")
    assert (code, outputs) == (2, "exit-code=2\n")
    assert "**nothing** could not be checked" in summary
    assert "no evaluation" in summary
    assert run(store, name="")[0] == 2
