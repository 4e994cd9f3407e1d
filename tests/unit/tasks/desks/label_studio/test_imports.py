"""Imports are cut by number and by bytes, before anything is sent."""

import pytest
from doubles.desks import label_studio_desk

from assay.evalcore.annotators.answers import class_answers
from assay.tasks.desks.desk import Batch, DeskRefused, Item
from assay.tasks.desks.label_studio import desk as of_desk


class Server:
    """Takes every import; `imports`: how many tasks each held."""

    url = "http://label-studio.example"

    def __init__(self):
        self.imports = []

    def projects(self, _title=None):
        return [{"id": 1, "title": "", "description": self.mark}]

    def read_object(self, _path):
        return {"label_config": "edited by somebody"}

    def send(self, _method, _path, tasks):
        self.imports.append(len(tasks))
        return {"task_count": len(tasks)}


def posted(*lengths):
    server = Server()
    desk = label_studio_desk(server, evaluation="e", answers=class_answers("yes", "no"), display=["text"])
    server.mark = desk._project.mark
    items = [Item(item_id=str(i), shown={"text": "é" * length}) for i, length in enumerate(lengths)]
    desk.post(Batch(evaluation="e", round=1, items=items), items)
    return server.imports


def test_large_items_take_several_imports(monkeypatch):
    monkeypatch.setattr(of_desk, "IMPORT_BYTES", 10_000)
    assert posted(*[10] * 30) == [30]
    assert posted(*[1000] * 7) == [1] * 7      # 6 bytes a letter at most
    assert posted(*[700] * 5) == [2, 2, 1]


def test_items_are_cut_by_number_too():
    assert posted(*[1] * 2001) == [1000, 1000, 1]


def test_an_item_too_large_for_any_import_is_refused_before_anything_is_sent(monkeypatch):
    monkeypatch.setattr(of_desk, "IMPORT_BYTES", 10_000)
    server_saw = []
    monkeypatch.setattr(Server, "send", lambda *_: server_saw.append(1))
    with pytest.raises(DeskRefused, match=r"its field 'text' has 3,000 characters"):
        posted(10, 3000, 10)
    assert server_saw == []
