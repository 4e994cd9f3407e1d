"""What the demo says of the Label Studio it starts."""

from contextlib import nullcontext

from assay.flows import demo
from assay.tasks.desks.label_studio import local


class FakeLabelStudio:
    url, email, password = "http://127.0.0.1:8765", "owner@example.com", "open sesame"

    def __init__(self, say):
        say("installing Label Studio: this takes minutes")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def test_it_names_what_takes_minutes_the_address_and_how_to_sign_in(monkeypatch):
    monkeypatch.setattr(local, "LocalLabelStudio", FakeLabelStudio)
    now, kept = [], []
    with demo._server(True, now.append, kept.append) as started:
        assert started.url == FakeLabelStudio.url
    assert now == ["starting Label Studio"]
    assert kept[0] == "installing Label Studio: this takes minutes"
    assert kept[1].startswith("Label Studio is at http://127.0.0.1:8765 until the demo ends")
    assert "owner@example.com with the password open sesame" in kept[1]
    assert isinstance(demo._server(False, now.append, kept.append), nullcontext)
