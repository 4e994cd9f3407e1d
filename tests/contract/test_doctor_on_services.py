"""`assay doctor` on the real thing: a pool and a ledger on S3, and a Label Studio that stays as it was."""

import json
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.flows.cli.main import run_command_line

pytestmark = pytest.mark.services


def examined(capsys, spec):
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    code = run_command_line(["doctor", "spec.yaml", "--json"])
    told = json.loads(capsys.readouterr().out)
    return code, {f["about"]: (f["level"], f["says"]) for f in told["findings"]}


def test_a_pool_and_a_ledger_on_s3_are_looked_at_and_left_as_they_were(s3, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."))
    url = s3.new_url("doctor")
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    where = f"{prefix}/pool/predictions.csv".lstrip("/")
    s3.client().put_object(Bucket=bucket, Key=where, Body=Path("predictions.csv").read_bytes())
    spec = spec_json(Path("predictions.csv"), Path("labels.csv"))
    spec["pool"]["source"] = f"s3://{bucket}/{where}"
    spec["store"] = f"{url}/ledger"
    code, told = examined(capsys, spec)
    assert code == 0
    assert told["store"][0] == told["name"][0] == told["rows"][0] == "ok"
    found = s3.client().list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]
    assert [entry["Key"] for entry in found] == [where]
    spec["store"] = "s3://no-such-bucket-at-all/ledger"
    code, told = examined(capsys, spec)
    assert code == 2
    assert told["store"][0] == "problem"


def test_label_studio_is_asked_and_no_project_is_made(
    label_studio, label_studio_api, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", label_studio.token)
    write_small_pool(Path("."))
    before = len(list(label_studio_api.projects()))
    desk = {"kind": "label-studio", "url": label_studio.url}
    code, told = examined(capsys, spec_json(Path("predictions.csv"), Path("labels.csv"), desk=desk))
    assert (code, told["desk"][0]) == (0, "ok")
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "f" * 40)
    code, told = examined(capsys, spec_json(Path("predictions.csv"), Path("labels.csv"), desk=desk))
    assert (code, told["desk"][0]) == (2, "problem")
    assert "f" * 40 not in told["desk"][1]
    assert len(list(label_studio_api.projects())) == before
