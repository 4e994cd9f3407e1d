"""Labels in an export of Label Studio."""

import json

import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources.known_labels import exported_labels
from assay.tasks.spec.evaluation import Spec


@pytest.fixture
def answers(tmp_path):
    from doubles.small_pool import small_spec

    spec: Spec = small_spec(tmp_path, n=20)
    return spec.labels.answers


def said(choice, person=1, at="2026-11-01", **more):
    result = [] if choice is None else [
        {"type": "choices", "from_name": "any", "value": {"choices": [choice]}}
    ]
    return {"completed_by": person, "updated_at": at, "result": result, **more}


def read(tmp_path, answers, tasks, field="item_id"):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    return exported_labels(str(path), field, answers, key="warm_start.label_studio")


def task(item, *annotations):
    return {"id": 7, "data": {"item_id": item, "text": "..."}, "annotations": list(annotations)}


def test_an_item_has_the_label_that_most_people_gave_it(tmp_path, answers):
    found = read(tmp_path, answers, [
        task("a", said("match", 1), said("match", 2), said("no match", 3)),
        task("tied", said("match", 1), said("no match", 2)),
        task("skipped", said("match", 1, was_cancelled=True)),
        task("empty", said(None)),
        task("nobody"),
        task("changed", said("match", 1), said("no match", 1, "2026-11-02")),
        task(17, said("match", {"id": 4, "email": "x"})),
    ])
    assert found == {"a": "match", "changed": "no match", "17": "match"}


def test_what_is_wrong_names_file_and_task(tmp_path, answers):
    with pytest.raises(BadInput, match=r"export.json: task 7: 'maybe' is none of the classes"):
        read(tmp_path, answers, [task("a", said("maybe"))])
    with pytest.raises(BadInput, match=r"task 7: has no 'key', only item_id, text; .*warm_start.id"):
        read(tmp_path, answers, [task("a", said("match"))], field="key")
    both = said("match")
    both["result"].append({"type": "choices", "value": {"choices": ["no match"]}})
    with pytest.raises(BadInput, match=r"several choices \(match, no match\)"):
        read(tmp_path, answers, [task("a", both)])
    with pytest.raises(BadInput, match="not a list of tasks with annotations; export the project as JSON"):
        read(tmp_path, answers, [{"text": "...", "label": "match"}])
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(BadInput, match="it is not JSON"):
        exported_labels(str(tmp_path / "bad.json"), "item_id", answers, key="warm_start.label_studio")
