"""What deployments/ promises: versions pinned, nobody root, no secret in a file, probes and limits."""

import importlib.util
import os
import re
import stat
import subprocess
import sys
from importlib.metadata import version
from ipaddress import ip_address, ip_network

import pytest
import yaml
from kubernetes_validate import validate
from services.prefect_server import ROOT

from assay.evalcore.errors import BadInput
from assay.tasks.desks.label_studio.local import VERSION

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
    if str(DEPLOYMENTS) not in sys.path:   # as it is for whoever runs the file
        sys.path.append(str(DEPLOYMENTS))
    spec = importlib.util.spec_from_file_location("local_stack", DEPLOYMENTS / "local.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kustomization_lists_every_manifest_and_pins_our_image():
    kustomization = yaml.safe_load((DEPLOYMENTS / "kubernetes" / "kustomization.yaml").read_text())
    assert {*kustomization["resources"], "kustomization.yaml"} == {path.name for path in MANIFESTS}
    (image,) = kustomization["images"]
    assert image["newTag"] == version("assay-evaluation")


def test_no_pod_runs_as_root_or_without_probes_limits_and_pinned_images():
    assert len(pods()) == 7
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


def test_every_manifest_is_one_that_kubernetes_takes():
    """By the schemas of Kubernetes itself, of an older and of a newer version; unknown fields are refused."""
    for _, kind, found in objects():
        if kind != "Kustomization":
            for of_kubernetes in ("1.29", "1.34"):
                validate(found, of_kubernetes, strict=True)
    misspelt = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"clusterIp": ""}}
    with pytest.raises(Exception, match="clusterIp"):
        validate(misspelt, "1.34", strict=True)


def test_no_manifest_holds_a_secret_and_every_reference_is_named_in_config():
    named = (DEPLOYMENTS / "kubernetes" / "config.yaml").read_text()
    for name, kind, _ in objects():
        assert kind != "Secret", name
    for name, pod in pods():
        for container in pod["containers"]:
            for variable in container.get("env", []):
                said = variable["name"]
                if re.search(r"PASSWORD|SECRET|KEY|TOKEN|CONNECTION_URL|AUTH_STRING|ALERTS", said):
                    reference = variable["valueFrom"]["secretKeyRef"]
                    assert reference["name"] in named, name
                    assert reference["key"] in named, name


def test_every_pod_may_be_reached_only_by_those_a_policy_names():
    policies = {found["metadata"]["name"]: found["spec"] for _, kind, found in objects()
                if kind == "NetworkPolicy"}
    assert policies.pop("closed") == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    serving = {found["metadata"]["name"] for _, kind, found in objects() if kind == "Service"}
    assert serving == {name for name, spec in policies.items() if spec["policyTypes"] == ["Ingress"]}


def test_every_pod_reaches_only_those_a_policy_names_and_label_studio_nothing_outside():
    reached: dict[str, set] = {}
    for _, kind, found in objects():
        if kind == "NetworkPolicy" and found["spec"]["policyTypes"] == ["Egress"]:
            (selected,) = found["spec"]["podSelector"]["matchExpressions"]
            for rule in found["spec"]["egress"]:
                (to,) = rule["to"]
                for app in selected["values"]:
                    reached.setdefault(app, set()).add((*to, rule["ports"][0]["port"]))
    pod, names, outside = "podSelector", ("namespaceSelector", 53), ("ipBlock", 443)
    assert reached == {
        "prefect": {names, (pod, 5432), outside}, "label-studio": {names, (pod, 5432), (pod, 8300)},
        "deploy": {names, (pod, 4200)}, "worker": {names, (pod, 4200), (pod, 8080), outside},
        "receiver": {names, (pod, 4200), (pod, 8080), outside}, "serve": {names, outside},
    }


def banned(subnets, address):
    return any(ip_address(address) in ip_network(subnet) for subnet in subnets.split(","))


def test_label_studio_may_call_the_receiver_and_no_other_inside_address():
    found = compose()
    environment = found["services"]["label-studio"]["environment"]
    assert environment["LABEL_STUDIO_SSRF_PROTECTION_ENABLED"] == "true"
    subnets = environment["LABEL_STUDIO_USER_ADDITIONAL_BANNED_SUBNETS"]
    (hints,) = (one["subnet"] for one in found["networks"]["hints"]["ipam"]["config"])
    assert not any(banned(subnets, str(host)) for host in ip_network(hints).hosts())
    inside = ("127.0.0.1", "10.0.0.1", "172.17.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "::1",
              "fd00::1", "fe80::1", "::ffff:127.0.0.1")
    assert all(banned(subnets, address) for address in inside)
    shared = set(found["services"]["label-studio"]["networks"])
    assert shared.intersection(found["services"]["receiver"]["networks"]) == {"hints"}
    (pod,) = (pod for name, pod in pods() if name == "label-studio.yaml")
    variables = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    assert variables["LABEL_STUDIO_SSRF_PROTECTION_ENABLED"] == "true"
    subnets = variables["LABEL_STUDIO_USER_ADDITIONAL_BANNED_SUBNETS"]
    private = {"10.0.0.1", "172.17.0.1", "192.168.0.1", "100.64.0.1"}   # where a cluster has its Services
    assert {address for address in inside if not banned(subnets, address)} == private


def test_file_systems_are_read_only_but_label_studio_s():
    writable = {name for name, pod in pods() for one in pod["containers"]
                if not one["securityContext"].get("readOnlyRootFilesystem")}
    assert writable == {"label-studio.yaml"}
    services = compose()["services"]
    assert {name for name, one in services.items() if not one.get("read_only")} == {"label-studio"}
    by_group_root = {name for name, one in services.items() if one["user"].endswith(":0")}
    assert by_group_root == {"label-studio"}
    group = {name: pod["securityContext"]["runAsGroup"] for name, pod in pods()}
    assert {name for name, number in group.items() if number == 0} == {"label-studio.yaml"}


def test_liveness_of_the_receiver_is_told_on_a_port_of_its_own():
    (pod,) = (pod for name, pod in pods() if name == "receiver.yaml")
    (container,) = pod["containers"]
    assert container["livenessProbe"]["httpGet"]["port"] == "health"
    assert {"name": "health", "containerPort": 8301} in container["ports"]
    assert "--health-port" in container["command"]
    service = compose()["services"]["receiver"]
    assert "8301/health" in service["healthcheck"]["test"][-1]
    assert "--health-port" in service["command"]


def test_the_pages_only_read_and_meet_neither_prefect_nor_label_studio():
    pages = compose()["services"]["serve"]
    assert pages["networks"] == ["pages"]
    assert set(pages["secrets"]) == {"serve_token", "aws_credentials_read"}
    assert pages["environment"]["AWS_SHARED_CREDENTIALS_FILE"].endswith("/aws_credentials_read")
    others = [one for name, one in compose()["services"].items() if name != "serve"]
    assert not any("aws_credentials_read" in one.get("secrets", []) for one in others)
    (pod,) = (pod for name, pod in pods() if name == "serve.yaml")
    (container,) = pod["containers"]
    assert variables_of("serve.yaml") == {"ASSAY_SERVE_TOKEN": "token", "AWS_ACCESS_KEY_ID": "access-key-id",
                                          "AWS_SECRET_ACCESS_KEY": "secret-access-key"}
    references = {one["valueFrom"]["secretKeyRef"]["name"] for one in container["env"]}
    assert references == {"assay-serve"}
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert "8090/healthz" in pages["healthcheck"]["test"][-1]
    assert pages["command"][-4:] == container["command"][-4:] == ["--host", "0.0.0.0", "--port", "8090"]


def test_compose_publishes_on_the_loopback_and_keeps_secrets_in_files():
    found = compose()
    for name, service in found["services"].items():
        ours = f"assay:{version('assay-evaluation')}"
        assert service["image"] == ours or PINNED.fullmatch(service["image"]), name
        assert not service["user"].startswith("0"), name
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}, name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        if name != "deploy":     # it runs once
            assert "healthcheck" in service, name
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|TOKEN|AUTH_STRING", variable):
                assert str(value).startswith("/run/secrets/"), (name, variable)
        assert set(service.get("secrets", [])) <= found["secrets"].keys(), name
        for other in service.get("depends_on", {}):
            assert other in found["services"], name
    assert all(set(secret) == {"file"} for secret in found["secrets"].values())


def variables_of(name):
    """Variable -> its value, or the key of the secret that it comes from, of a pod's container."""
    (pod,) = (pod for file, pod in pods() if file == name)
    return {one["name"]: one["value"] if "value" in one else one["valueFrom"]["secretKeyRef"]["key"]
            for one in pod["containers"][0].get("env", [])}


def test_prefect_and_label_studio_each_have_a_plain_role_and_a_database_of_their_own():
    (sql,) = (found["data"]["databases.sql"] for _, kind, found in objects()
              if kind == "ConfigMap" and "databases.sql" in found["data"])
    found = compose()
    assert found["configs"]["databases"]["content"] == sql
    for role in ("prefect", "label_studio"):
        assert f"CREATE ROLE {role} LOGIN PASSWORD" in sql
        assert f"CREATE DATABASE {role} OWNER {role};" in sql
    assert not re.search("SUPERUSER|CREATEDB|CREATEROLE", sql)
    assert "REVOKE ALL ON DATABASE prefect, label_studio, postgres, template1 FROM PUBLIC;" in sql
    services = found["services"]
    holders = {secret: {name for name, one in services.items() if secret in one.get("secrets", [])}
               for secret in found["secrets"]}
    assert holders["postgres_password"] == {"postgres"}
    assert holders["prefect_database_password"] == {"postgres", "prefect"}
    assert holders["label_studio_database_password"] == {"postgres", "label-studio"}
    assert "postgresql+asyncpg://prefect:" in str(services["prefect"]["command"])
    assert services["label-studio"]["environment"]["POSTGRE_USER"] == "label_studio"
    label_studio = variables_of("label-studio.yaml")
    assert label_studio["POSTGRE_USER"] == "label_studio"
    assert label_studio["POSTGRE_PASSWORD"] == "label-studio-password"
    assert variables_of("prefect.yaml")["PREFECT_API_DATABASE_CONNECTION_URL"] == "prefect-url"
    assert variables_of("postgres.yaml")["POSTGRES_PASSWORD"] == "superuser-password"
    others = {name: variables_of(name) for name, _ in pods() if name != "postgres.yaml"}
    assert not [name for name, said in others.items() if "superuser-password" in said.values()]


def test_the_api_of_prefect_asks_for_a_password_and_whoever_uses_it_has_it():
    services = compose()["services"]
    holders = {name for name, one in services.items() if "prefect_api_password" in one.get("secrets", [])}
    assert holders == {"prefect", "deploy", "worker", "receiver"}
    server = 'PREFECT_SERVER_API_AUTH_STRING="assay:$$(cat /run/secrets/prefect_api_password)"'
    assert server in str(services["prefect"]["command"])
    for name in holders - {"prefect"}:
        assert services[name]["command"][:2] == ["sh", "deployments/with-secrets.sh"], name
        assert variables_of(f"{name}.yaml")["PREFECT_API_AUTH_STRING"] == "auth"
    assert variables_of("prefect.yaml")["PREFECT_SERVER_API_AUTH_STRING"] == "auth"


def test_who_holds_a_slot_is_known_as_long_as_the_slots_are():
    """PostgreSQL counts them; the files that say whose they are and until when stay where it stays."""
    variables, (pod,) = variables_of("prefect.yaml"), (pod for name, pod in pods() if name == "prefect.yaml")
    assert variables["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"].endswith(".filesystem")
    (mount,) = (one for one in pod["containers"][0]["volumeMounts"]
                if one["mountPath"] == variables["PREFECT_HOME"])
    (volume,) = (one for one in pod["volumes"] if one["name"] == mount["name"])
    claims = {found["metadata"]["name"] for _, kind, found in objects() if kind == "PersistentVolumeClaim"}
    assert volume["persistentVolumeClaim"]["claimName"] in claims
    (strategy,) = (found["spec"]["strategy"]["type"] for name, kind, found in objects()
                   if (name, kind) == ("prefect.yaml", "Deployment"))
    assert strategy == "Recreate", "a claim is of one pod at a time"
    server = compose()["services"]["prefect"]
    home = server["environment"]["PREFECT_HOME"]
    assert f"prefect:{home}" in server["volumes"]
    assert "prefect" in compose()["volumes"]
    assert f"-o assay -g assay {home}" in (DEPLOYMENTS / "Containerfile").read_text()
    assert home not in compose()["services"]["prefect"]["tmpfs"]


def test_label_studio_is_of_one_version_everywhere():
    image = f"docker.io/heartexlabs/label-studio:{VERSION}"
    assert compose()["services"]["label-studio"]["image"] == image
    assert image in (DEPLOYMENTS / "kubernetes" / "label-studio.yaml").read_text()


def test_secrets_that_are_mounted_reach_the_command_and_no_other_does(tmp_path):
    (tmp_path / "label_studio_token").write_text("t0ken\n")
    (tmp_path / "alerts").write_text("")
    (tmp_path / "prefect_api_password").write_text("pa$$word\n")
    script = str(DEPLOYMENTS / "with-secrets.sh")
    done = subprocess.run(
        ["sh", script, "env"], env={"PATH": os.defpath, "ASSAY_SECRETS": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )
    assert "LABEL_STUDIO_API_KEY=t0ken\n" in done.stdout
    assert "PREFECT_API_AUTH_STRING=assay:pa$$word\n" in done.stdout
    assert "ASSAY_ALERTS" not in done.stdout
    assert "ASSAY_WEBHOOK_SECRET" not in done.stdout


@pytest.fixture
def stack(monkeypatch):
    """The local stack's module; nothing is installed or copied."""
    module = local()
    monkeypatch.setattr(module.local, "install", lambda: None)
    monkeypatch.setattr(module.local, "new_data", lambda _home, data, **_: data.mkdir())
    monkeypatch.delenv("ASSAY_ALERTS", raising=False)
    return module


def test_credentials_are_generated_once_and_only_their_owner_reads_them(stack, tmp_path):
    path = stack.prepare(tmp_path / "a", any_port=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    copied = path.parent / "label-studio" / "ls.sqlite3"
    copied.touch(0o644)
    stack.prepare(tmp_path / "a", any_port=False)
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600
    first = stack.read_env(path)
    assert first["PREFECT_SERVER_API_AUTH_STRING"] == first["PREFECT_API_AUTH_STRING"]
    assert stack.read_env(stack.prepare(tmp_path / "a", any_port=False)) == first
    other = stack.read_env(stack.prepare(tmp_path / "b", any_port=True))
    for name in ("AWS_SECRET_ACCESS_KEY", "LABEL_STUDIO_API_KEY", "LABEL_STUDIO_PASSWORD",
                 "ASSAY_WEBHOOK_SECRET", "ASSAY_SERVE_TOKEN", "PREFECT_API_AUTH_STRING"):
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
    assert names == {"s3", "label-studio", "prefect", "worker", "receiver", "pages"}
    for line in lines:
        assert line.endswith(f"deployments/local.py {line.split(':')[0]}")
