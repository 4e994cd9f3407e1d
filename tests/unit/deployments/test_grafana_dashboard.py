"""The dashboard: every expression of it, over figures that `assay serve` answered once.

The expressions keep to selectors, `sum by` and `max by`, and products of two vectors with equal labels, so a
few lines evaluate them as Prometheus does.
"""

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from services.prefect_server import ROOT

from assay.tasks import telemetry

DASHBOARD = json.loads((ROOT / "deployments" / "grafana" / "assay.json").read_text())
RECORDED = Path(__file__).with_name("recorded.prom").read_text()
CHOSEN = {"store": ".*", "team": ".*", "monitor": ".*"}     # "All" of each variable
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]

FIGURES = defaultdict(list)
for family in text_string_to_metric_families(RECORDED):
    for one in family.samples:
        FIGURES[one.name].append((one.labels, one.value))


def labels_of(metric):
    return {name for labels, _ in FIGURES[metric] for name in labels}


def select(metric, matchers):
    """The samples of `metric{matchers}`; a metric or label that nobody tells is an error."""
    assert metric in FIGURES, metric
    tests = {"=": lambda a, b: a == b, "!=": lambda a, b: a != b, "=~": lambda a, b: re.fullmatch(b, a)}
    found = FIGURES[metric]
    for name, sign, wanted in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', matchers):
        assert name in labels_of(metric), (metric, name)
        found = [(labels, value) for labels, value in found if tests[sign](labels[name], wanted)]
    return found


def evaluated(text):
    """The vector that an expression comes to: pairs of labels and value."""
    if grouped := re.fullmatch(r"(sum|max)(?: by \(([\w, ]+)\))? ?\((.*)\)", text):
        how, by, inner = grouped.groups()
        groups = defaultdict(list)
        for labels, value in evaluated(inner):
            kept = {name: labels[name] for name in by.split(", ")} if by else {}
            groups[tuple(sorted(kept.items()))].append(value)
        return [(dict(key), {"sum": sum, "max": max}[how](values)) for key, values in groups.items()]
    if " * " in text:
        left, right = map(evaluated, text.split(" * "))
        return [(labels, a * b) for labels, a in left for other, b in right if labels == other]
    metric, matchers = re.fullmatch(r"(\w+)\{(.*)\}", text).groups()
    return select(metric, matchers)


def ask(expression, **chosen):
    for name, value in (CHOSEN | chosen).items():
        expression = expression.replace(f"${name}", value)
    assert "$" not in expression, expression
    return evaluated(expression)


@pytest.mark.parametrize(("title", "target"), TARGETS, ids=[f"{t} {x['refId']}" for t, x in TARGETS])
def test_every_expression_has_an_answer_and_its_legend_names_labels_of_it(title, target):
    answer = ask(target["expr"])
    assert answer, title
    for labels, _ in answer:
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels.keys()


@pytest.mark.parametrize(("title", "chosen", "answer"), [
    ("In breach", {}, [({}, 1.0)]),
    ("In breach", {"team": "billing"}, []),
    ("Waiting for people", {}, [({}, 2.0)]),
    ("Labels bought", {"team": "billing"}, [({}, 50.0)]),
    ("Spent, by team", {}, [({"team": "search"}, 210.0)]),
    ("Segments: measure", {},
     [({"measure": "f1", "monitor": "stream", "segment": "half=a", "store": "main"}, 0.9)]),
    ("Windows by state", {}, [({"state": "breach"}, 1), ({"state": "inconclusive"}, 0),
                                   ({"state": "ok"}, 1), ({"state": "waiting"}, 1)]),
    ("Age of the newest judged window", {}, [({"monitor": "stream"}, 18000.0)]),
])
def test_what_panels_show(title, chosen, answer):
    (target,) = (one for panel, one in TARGETS if panel == title)
    assert ask(target["expr"], **chosen) == answer


def test_variables_ask_for_labels_that_are_told():
    variables = DASHBOARD["templating"]["list"]
    queries = {one["name"]: one["query"]["query"] for one in variables if one["type"] == "query"}
    assert queries.keys() == CHOSEN.keys()
    for query in queries.values():
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups()
        assert label in labels_of(metric)


def test_the_recording_has_every_figure_that_there_is():
    there = [one for one in vars(telemetry).values() if isinstance(one, telemetry.MetricFamily)]
    assert {telemetry.prometheus_name(one) for one in there} <= FIGURES.keys()


def test_panels_do_not_overlap_and_use_the_source_that_is_chosen():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert {target["datasource"]["uid"] for _, target in TARGETS} == {"${source}"}
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
