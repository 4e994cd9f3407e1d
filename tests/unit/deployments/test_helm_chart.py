"""The Helm chart: with its own values the objects of deployments/kubernetes, and what other values change."""

import json
import re
from importlib.metadata import version

import jsonschema
import pytest
import yaml
from kubernetes_validate import validate
from services.helm import CHART, NotRendered, lint, rendered
from services.prefect_server import ROOT

STORE = {"store": "s3://bucket/ledger"}
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def by_name(objects):
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def plain(one):
    """Without what only Helm adds, and with the image and the store as the other files name them."""
    one["metadata"] = {"name": one["metadata"]["name"]}
    template = one.get("spec", {}).get("template")
    if template:
        template["metadata"]["labels"].pop("app.kubernetes.io/part-of", None)
        for container in template["spec"]["containers"]:
            container.pop("imagePullPolicy", None)
            container["image"] = re.sub(r"registry.example.com/(assay):.*", r"\1", container["image"])
    if "ASSAY_STORE" in one.get("data", {}):
        one["data"]["ASSAY_STORE"] = "the store"
    return one


def test_the_chart_is_of_this_version_and_its_values_fit_its_schema():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version("assay-evaluation")
    jsonschema.validate(VALUES | STORE, SCHEMA)
    for wrong in ({"workers": 2}, {"worker": {"replica": 2}}, {"store": "/folder"},
                  {"environment": {"LABEL_STUDIO_API_KEY": "x"}},
                  {"image": {"repository": "a", "digest": "1"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(VALUES | STORE | wrong, SCHEMA)


def test_templates_use_every_value_and_no_other():
    text = "\n".join(path.read_text() for path in (CHART / "templates").iterdir())
    used = {tuple(found.split(".")) for found in re.findall(r"\.Values\.([A-Za-z.]+)", text)}
    there = {(key, inner) for key, value in VALUES.items() if isinstance(value, dict) for inner in value}
    there |= {(key,) for key, value in VALUES.items() if not isinstance(value, dict) or key == "environment"}
    assert used == there


def test_with_its_own_values_it_makes_the_objects_of_the_other_files():
    assert lint() == ""
    objects = rendered(STORE)
    for one in objects:
        for of_kubernetes in ("1.29", "1.34"):
            validate(one, of_kubernetes, strict=True)
    files = (ROOT / "deployments" / "kubernetes").glob("*.yaml")
    written = [one for path in files for one in yaml.safe_load_all(path.read_text())
               if one["kind"] not in ("Kustomization", "Namespace")]
    expected, found = by_name(written), by_name(objects)
    assert found.keys() == expected.keys()
    for key, one in found.items():
        assert plain(one) == plain(expected[key]), key


def test_a_database_and_a_desk_elsewhere_and_pages_behind_a_proxy():
    found = by_name(rendered(STORE | {
        "postgres": {"enabled": False, "host": "db.example.com", "cidr": "10.1.0.0/24"},
        "labelStudio": {"enabled": False}, "serve": {"trustHeader": "X-Forwarded-User"},
        "image": {"repository": "here/assay", "digest": "sha256:" + "0" * 64}, "worker": {"replicas": 3},
        "environment": {"ASSAY_SWEEP_WORKERS": "8"},
    }))
    for one in found.values():
        validate(one, "1.34", strict=True)
    names = {name for _, name in found}
    assert not names & {"postgres", "postgres-databases", "label-studio", "to-label-studio", "to-receiver"}
    assert found["Deployment", "worker"]["spec"]["replicas"] == 3
    (pages,) = found["Deployment", "serve"]["spec"]["template"]["spec"]["containers"]
    assert pages["command"][-2:] == ["--trust-header", "X-Forwarded-User"]
    assert "ASSAY_SERVE_TOKEN" not in {one["name"] for one in pages["env"]}
    assert pages["image"] == f"here/assay:{version('assay-evaluation')}@sha256:" + "0" * 64
    (to,) = found["NetworkPolicy", "to-postgres"]["spec"]["egress"][0]["to"]
    assert to == {"ipBlock": {"cidr": "10.1.0.0/24"}}
    assert found["ConfigMap", "assay"]["data"]["ASSAY_SWEEP_WORKERS"] == "8"


@pytest.mark.parametrize(("values", "says"), [
    ({}, "where the ledger is"),
    (STORE | {"workers": 2}, "workers"),
    (STORE | {"postgres": {"enabled": False}}, "postgres.cidr"),
    (STORE | {"networkPolicy": {"enabled": False}, "serve": {"trustHeader": "X-User"}},
     "networkPolicy.enabled"),
])
def test_values_that_cannot_work_are_refused(values, says):
    with pytest.raises(NotRendered, match=re.escape(says)):
        rendered(values)
