"""Links from a page: to the very project in Label Studio, and to the very run in Prefect."""

from doubles.small_pool import spec_json, write_small_pool

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.serve.pages import PageAsked, Pages
from assay.flows.serve.stores import read_only_store
from assay.tasks.desks.label_studio.kind import LabelStudioKind
from assay.tasks.ledger.asked_round import desk_address, mark_arrived
from assay.tasks.ledger.life import find_begun, find_closed
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.service.pages import prefect_runs
from assay.tasks.spec.evaluation import Spec

RUN = "0f8fad5b-d9cb-469f-a165-70867728950e"


def test_a_page_links_to_the_run_that_closed_the_last_round(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT__FLOW_RUN_ID", RUN)
    predictions, labels = write_small_pool(tmp_path, n=150)
    spec = spec_json(predictions, labels, name="x", budget={"labels": 40}, batch_size=20)
    store = MemoryStore()
    begin_evaluation(store, Spec.from_json(spec, origin="a test"))
    ledger = Ledger(store, "x")
    assert find_begun(ledger).flow_run == RUN
    monkeypatch.setenv("PREFECT__FLOW_RUN_ID", RUN.replace("0f", "1f"))
    advance(store, "x")
    assert find_closed(ledger, 1).flow_run == RUN.replace("0f", "1f")
    pages = Pages({"s": read_only_store("s", store)}, environment={"PREFECT_UI_URL": "http://p:4200"})
    page = pages.evaluation("s", "x", PageAsked(json=False, sees=frozenset("s"))).body.content.decode()
    assert f'href="http://p:4200/runs/flow-run/{RUN.replace("0f", "1f")}"' in page
    assert "the Prefect run that closed round 2" in page


def test_only_ids_of_runs_become_links_and_without_prefect_nothing_does():
    assert prefect_runs("", "x", RUN, "began it") == []
    assert prefect_runs("http://p", "x", RUN, "began it")[0] == (
        f"http://p/runs/flow-run/{RUN}", "the Prefect run that began it"
    )
    for odd in ("", "../x", f"{RUN}/..", RUN.upper()):
        assert prefect_runs("http://p", "x", odd, "began it") == [
            ("http://p/runs?flow-run-search=x", "runs of this name in Prefect")
        ]


def test_the_project_is_linked_once_its_items_were_seen_there():
    desk = LabelStudioKind(kind="label-studio", url="http://ls:8080/")
    assert desk.address_for("x")[0] == "http://ls:8080/projects"
    assert desk.address_for("x", "http://ls:8080/projects/7/data")[0] == "http://ls:8080/projects/7/data"
    assert desk.address_for("x", "javascript:alert(1)")[0] == "http://ls:8080/projects"
    ledger = Ledger(MemoryStore(), "x")
    assert desk_address(ledger) == ""
    mark_arrived(ledger, 1, 1, "http://ls:8080/projects/7/data")
    mark_arrived(ledger, 2, 1)
    mark_arrived(ledger, 3, 2, "http://ls:8080/projects/8/data")
    assert desk_address(ledger) == "http://ls:8080/projects/8/data"


