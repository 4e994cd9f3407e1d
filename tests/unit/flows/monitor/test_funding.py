"""What the labels of a month come to, said before a monitor goes blind."""

from datetime import UTC, datetime

from doubles.stream import a_monitor

from assay.flows.monitor.funding import funding_of

NOW = datetime(2026, 10, 20, tzinfo=UTC)


def test_too_few_labels_are_said_with_what_would_do(tmp_path):
    funding = funding_of(a_monitor(tmp_path, monthly_labels=450, quiet_labels=50), NOW)
    assert (funding.month, len(funding.windows)) == ("2026-12", 31)
    assert funding.windows[0] == "2026-11-30", "due on December 1st"
    assert funding.in_words == (
        "monitor.monthly_labels: 450 labels are 9 windows of 50 labels, and 2026-12 has 31: about one window "
        "in 3.4 is labelled, the others get no verdict. All would be labelled with monthly_labels: 1550, or "
        "with quiet_labels: 14. Follow-ups, and windows with a new signal, take more."
    )
    first = funding_of(a_monitor(tmp_path, monthly_labels=450, quiet_labels=50, spending="first"), NOW)
    assert "the labels end with window 2026-12-08, and later ones get no verdict" in first.in_words
    assert "none of them is labelled" in funding_of(
        a_monitor(tmp_path, monthly_labels=20, quiet_labels=50), NOW
    ).in_words


def test_enough_labels_are_not_talked_about(tmp_path):
    assert funding_of(a_monitor(tmp_path, monthly_labels=1550, quiet_labels=50), NOW).in_words == ""
    ends = a_monitor(tmp_path, monthly_labels=450, quiet_labels=50, last="2026-11-05")
    assert funding_of(ends, NOW).in_words == ""
