"""What deployments/ promises: versions pinned, nobody root, no secret in a file, probes and limits."""

import importlib.util
import os
import re
import stat
import subprocess
from importlib.metadata import version

import pytest
import yaml
from services.prefect_server import ROOT

from assay.evalcore.errors import BadInput
from assay.tasks.desks.label_studio.local.process import VERSION

DEPLOYMENTS = ROOT / "deployments"
MANIFESTS = sorted((DEPLOYMENTS / "kubernetes").glob("*.yaml"))
PINNED = re.compile(r".+:\d+\.\d+(\.\d+)?(-[a-z]+)*")


def objects():
    """(file, kind, object) of every Kubernetes manifest."""
    for path in MANIFESTS:
        for found in yaml.safe_load_all(path.read_text()):
            yield path.name, found["kind"], found


def pods():
    return [
        (name, found["spec"]["template"]["spec"]) for name, kind, found in objects()
        if kind in ("Deployment", "StatefulSet", "Job")
    ]


def compose():
    return yaml.safe_load((DEPLOYMENTS / "compose.yaml").read_text())


def local():
    spec = importlib.util.spec_from_file_location("local_stack", DEPLOYMENTS / "local.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kustomization_lists_every_manifest_and_pins_our_image():
    kustomization = yaml.safe_load((DEPLOYMENTS / "kubernetes" / "kustomization.yaml").read_text())
    assert {*kustomization["resources"], "kustomization.yaml"} == {path.name for path in MANIFESTS}
    (image,) = kustomization["images"]
    assert image["newTag"] == version("assay")


def test_no_pod_runs_as_root_or_without_probes_limits_and_pinned_images():
    assert len(pods()) == 6
    for name, pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] > 0, name
        assert pod["automountServiceAccountToken"] is False, name
        for container in pod["containers"]:
            closed = container["securityContext"]
            assert closed["allowPrivilegeEscalation"] is False, name
            assert closed["capabilities"] == {"drop": ["ALL"]}, name
            assert container["resources"]["limits"].keys() == {"cpu", "memory"}, name
            assert container["image"] == "assay" or PINNED.fullmatch(container["image"]), name
            if name != "deploy.yaml":
                assert {"readinessProbe", "livenessProbe"} <= container.keys(), name


def test_no_manifest_holds_a_secret_and_every_reference_is_named_in_config():
    named = (DEPLOYMENTS / "kubernetes" / "config.yaml").read_text()
    for name, kind, _ in objects():
        assert kind != "Secret", name
    for name, pod in pods():
        for container in pod["containers"]:
            for variable in container.get("env", []):
                said = variable["name"]
                if re.search(r"PASSWORD|SECRET|KEY|TOKEN|CONNECTION_URL|ALERTS", said):
                    reference = variable["valueFrom"]["secretKeyRef"]
                    assert reference["name"] in named, name
                    assert reference["key"] in named, name


def test_every_pod_may_be_reached_only_by_those_a_policy_names():
    policies = {found["metadata"]["name"]: found["spec"] for _, kind, found in objects()
                if kind == "NetworkPolicy"}
    assert policies["closed"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    serving = {found["metadata"]["name"] for _, kind, found in objects() if kind == "Service"}
    assert serving == policies.keys() - {"closed"}


def test_compose_publishes_on_the_loopback_and_keeps_secrets_in_files():
    found = compose()
    for name, service in found["services"].items():
        assert service["image"] == f"assay:{version('assay')}" or PINNED.fullmatch(service["image"]), name
        assert not service["user"].startswith("0"), name
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}, name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        if name not in ("deploy", "worker"):
            assert "healthcheck" in service, name
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|TOKEN", variable):
                assert str(value).startswith("/run/secrets/"), (name, variable)
        assert set(service.get("secrets", [])) <= found["secrets"].keys(), name
        for other in service.get("depends_on", {}):
            assert other in found["services"], name
    assert all(set(secret) == {"file"} for secret in found["secrets"].values())


def test_label_studio_is_of_one_version_everywhere():
    image = f"docker.io/heartexlabs/label-studio:{VERSION}"
    assert compose()["services"]["label-studio"]["image"] == image
    assert image in (DEPLOYMENTS / "kubernetes" / "label-studio.yaml").read_text()


def test_secrets_that_are_mounted_reach_the_command_and_no_other_does(tmp_path):
    (tmp_path / "label_studio_token").write_text("t0ken\n")
    (tmp_path / "alerts").write_text("")
    script = str(DEPLOYMENTS / "with-secrets.sh")
    done = subprocess.run(
        ["sh", script, "env"], env={"PATH": os.defpath, "ASSAY_SECRETS": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )
    assert "LABEL_STUDIO_API_KEY=t0ken\n" in done.stdout
    assert "ASSAY_ALERTS" not in done.stdout
    assert "ASSAY_WEBHOOK_SECRET" not in done.stdout


@pytest.fixture
def stack(monkeypatch):
    """The local stack's module; nothing is installed or copied."""
    module = local()
    monkeypatch.setattr(module.installation, "install", lambda: None)
    monkeypatch.setattr(module.server, "new_data", lambda _home, data, **_: data.mkdir())
    monkeypatch.delenv("ASSAY_ALERTS", raising=False)
    return module


def test_credentials_are_generated_once_and_only_their_owner_reads_them(stack, tmp_path):
    path = stack.prepare(tmp_path / "a", any_port=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = stack.read_env(path)
    assert stack.read_env(stack.prepare(tmp_path / "a", any_port=False)) == first
    other = stack.read_env(stack.prepare(tmp_path / "b", any_port=True))
    for name in ("AWS_SECRET_ACCESS_KEY", "LABEL_STUDIO_API_KEY", "LABEL_STUDIO_PASSWORD",
                 "ASSAY_WEBHOOK_SECRET"):
        assert len(first[name]) >= 16
        assert first[name] != other[name]


def test_a_port_that_others_took_since_is_an_error_for_specs_name_it(stack, tmp_path):
    import socket

    env = stack.read_env(stack.prepare(tmp_path, any_port=True))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(env["ASSAY_LOCAL_PORT_LABEL_STUDIO"])))
        taken.listen()
        with pytest.raises(BadInput, match=r"label_studio.*make down"):
            stack.prepare(tmp_path, any_port=False)


def test_every_line_of_the_procfile_is_a_service(stack, capsys):
    lines = (DEPLOYMENTS / "Procfile").read_text().splitlines()
    names = {line.split(":")[0] for line in lines}
    assert names == {"s3", "label-studio", "prefect", "worker", "receiver"}
    for line in lines:
        assert line.endswith(f"deployments/local.py {line.split(':')[0]}")
