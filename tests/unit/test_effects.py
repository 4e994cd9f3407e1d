"""Effects outside a flow: retried when something is away, and only then."""

import pytest

from tasks import effects
from tasks.desks.desk import AmbiguousPost, DeskRefused, DeskUnreachable
from tasks.ledger.store import StoreUnreachable


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
