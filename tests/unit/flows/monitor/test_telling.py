"""What a monitor tells people, and in which words."""

from dataclasses import replace

from doubles.stream import a_monitor

from assay.evalcore.monitoring.verdicts import Limit, Measured, PlaceVerdict
from assay.flows.monitor.telling import tell
from assay.tasks.alerts.alert import Alert
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.monitors import SupportingEvaluation, WindowVerdict
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.memory import MemoryStore


def told(ledger):
    """The alerts that were raised, by key."""
    keys = [key for key in ledger.store.keys(layout.alerts(ledger.name)) if key.count("/") == 2]
    return [codec.decode(Alert, ledger.store.get(key), key) for key in keys]


def window_verdict(window, value, lower, upper, verdict):
    """A verdict on a window whose first segment is judged beside the whole."""
    measured = Measured(value=value, lower=lower, upper=upper, confidence=0.95, labels=175)
    place = PlaceVerdict(
        segment=None, measured=measured, limits=(Limit(side="below", value=0.8, name="floor"),
                                                 Limit(side="below", value=0.7812345, name="reference")),
        factors=((), ()), evidence=(3.214, 0.5), needed=2.996, verdict=verdict,
    )
    return WindowVerdict(
        number=int(window[-2:]), window=window, revision=0, measure="f1",
        interval="posterior and design", pool=1000,
        parts=(SupportingEvaluation(evaluation=f"stream-{window}", revision=0, labels=175, bought=100),),
        overall=place, segments=(replace(place, segment="region=north"),), labels_to_decide=None,
    )


def test_a_monitor_tells_of_a_breach_in_the_words_and_numbers_of_an_evaluation(tmp_path):
    ledger, spec = Ledger(MemoryStore(), "stream"), a_monitor(tmp_path)
    before = window_verdict("2026-11-13", 0.8123, 0.7441, 0.8661, "ok")
    now = window_verdict("2026-11-20", 0.7121, 0.6621, 0.7611, "breach")
    tell(ledger, spec, now, [before, now])
    north, whole = told(ledger)
    assert whole.subject == "stream: F1 is in breach, window 2026-11-20"
    assert whole.body == (
        "F1 is 0.712, 95% interval 0.662 to 0.762 (posterior and design; the window of 2026-11-20).\n"
        "Before, it was 0.812, 95% interval 0.744 to 0.867 "
        "(posterior and design; the window of 2026-11-13).\n"
        "It rests on 175 labels.\n"
        "It should be at least 0.8 (floor). Log evidence against this: 3.21; a breach is called at 3.00.\n"
        "It should be at least 0.7812 (reference). Log evidence against this: 0.50; a breach is called at "
        "3.00.\n"
        "The evidence is from all windows since the last breach, so this window's own interval may still "
        "reach the limit.\n"
        "Evaluations: stream-2026-11-20. More: assay report stream-2026-11-20"
    )
    assert north.subject == "stream: F1 in region=north is in breach, window 2026-11-20"


def test_a_recovery_is_told_after_a_breach_and_an_undefined_window_says_so(tmp_path):
    ledger, spec = Ledger(MemoryStore(), "stream"), a_monitor(tmp_path)
    breach = replace(window_verdict("2026-11-13", None, None, None, "breach"), segments=())
    now = replace(window_verdict("2026-11-20", 0.9, 0.85, 0.95, "ok"), segments=())
    tell(ledger, spec, now, [breach, now])
    (alert,) = told(ledger)
    assert alert.subject == "stream: F1 has recovered, window 2026-11-20"
    assert "Before, it was undefined: it has no value for these labels, with no interval" in alert.body
    assert "reach the limit" not in alert.body
