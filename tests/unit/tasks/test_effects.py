"""Effects outside a flow: retried when something is away, and only then."""

import pytest

from assay.tasks import effects
from assay.tasks.desks.desk import AmbiguousPost, DeskRefused, DeskUnreachable
from assay.tasks.ledger.stores.store import StoreUnreachable


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(effects, "FIRST_WAIT", 0.001)


class Fails:
    """Raises these errors, one a call, then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0

    def __call__(self, argument):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return argument


def test_an_effect_is_repeated_while_store_or_desk_is_away():
    call = Fails(StoreUnreachable("away"), DeskUnreachable("away"))
    assert effects.effect("try")(call)("done") == "done"
    assert call.calls == 3


def test_an_effect_gives_up_after_its_retries_with_the_error_itself():
    call = Fails(*(StoreUnreachable(f"away {n}") for n in range(10)))
    with pytest.raises(StoreUnreachable, match="away 3"):
        effects.effect("try")(call)("done")
    assert call.calls == 4


@pytest.mark.parametrize("error", [DeskRefused("no"), AmbiguousPost("perhaps"), ValueError("bug")])
def test_no_other_error_is_repeated(error):
    call = Fails(error)
    with pytest.raises(type(error)):
        effects.effect("try")(call)("done")
    assert call.calls == 1


def test_an_effect_without_retries_is_tried_once():
    call = Fails(DeskUnreachable("away"))
    with pytest.raises(DeskUnreachable):
        effects.effect("post", retries=0)(call)("done")
    assert call.calls == 1


def test_reads_are_retried_too():
    call = Fails(StoreUnreachable("away"))
    assert effects.retried(call)("done") == "done"


def test_every_attempt_is_in_the_effect_log_and_nothing_but_its_name(tmp_path, monkeypatch):
    log = tmp_path / "effects.log"
    monkeypatch.setenv("ASSAY_EFFECT_LOG", str(log))
    effects.effect("write-it")(Fails(StoreUnreachable("away")))("secret")
    said = [line.split(" ")[::2] for line in log.read_text().splitlines()]
    assert said == [["+", "write-it"], ["-", "write-it"]] * 2
    assert "secret" not in log.read_text()


def test_every_retry_is_a_line_of_the_log_and_the_end_is_not(caplog):
    with pytest.raises(StoreUnreachable):
        effects.effect("write-it")(Fails(*(StoreUnreachable(f"away {n}") for n in range(4))))("secret")
    said = [record.getMessage() for record in caplog.records if record.name == "assay.effects"]
    assert [line.partition(";")[0] for line in said] == [f"write-it: away {n}" for n in range(3)]
    assert all(line.endswith("s") and "trying again in" in line for line in said)


@pytest.mark.parametrize("where", ["missing/folder/log", "."])
def test_a_log_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch, where):
    monkeypatch.setenv("ASSAY_EFFECT_LOG", str(tmp_path / where))
    assert effects.effect("try")(Fails())("done") == "done"
