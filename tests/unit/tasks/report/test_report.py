"""The report says what the data say, in contract keys, the same bytes every time, and lets nothing in."""

import errno
import io
import json
import os
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from doubles.report_data import REASON, estimate, report_data

from assay.evalcore.estimators.random_sampling import random_sampling_equivalent
from assay.evalcore.evaluation.estimate import Comparison, Ends, NotExcluded, PriceTag, Undecided
from assay.evalcore.evaluation.nonresponse import ResponseRate
from assay.evalcore.forecast.audit import AuditPrice, AuditStep
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import METHODS, OUTCOME_METHODS, method
from assay.evalcore.outcomes.classes import Classes
from assay.tasks.report import sentences
from assay.tasks.report import wording as w
from assay.tasks.report.data import AskedTargets, BadReport, ComparedSystems, PoolSummary
from assay.tasks.report.files import (
    ReportNotWritten,
    render_report,
    report_json,
    report_parquet,
    write_report,
)
from assay.tasks.report.lines import scale_of_bars
from assay.tasks.report.price import audit_in_words
from assay.tasks.report.standing import ExtensionRow, Moved, WaitingFor


class _Page(HTMLParser):
    """The visible text of a page, its elements, ids and attributes."""

    def __init__(self, html: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html.decode())
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if not self.tags or self.tags[-1] != "style":
            self.words.append(data)


def page(**changes) -> _Page:
    return _Page(render_report(report_data(**changes))["report.html"])


# --- for machines


def test_json_has_exactly_the_keys_of_the_contract_and_the_history():
    told = json.loads(report_json(report_data()))
    assert list(told) == [
        "format_number", "evaluation", "state", "waiting_for", "stopped_by", "verdict", "labels", "rounds",
        "revision", "estimates", "rests_on", "history",
    ]
    assert list(told["estimates"][0]) == [
        "measure", "system", "versus", "class", "at", "segment", "value", "undefined_reason", "lower",
        "upper", "confidence", "interval", "labels", "about", "revision", "standard_error",
        "random_labels", "random_labels_reason", "not_excluded",
    ]
    assert {name: told[name] for name in report_data().contract()} == report_data().contract()
    assert [list(past) for past in told["history"]] == [["round", "asked", "labels", "estimates"]] * 3


def test_undefined_is_null_with_its_reason_and_never_nan():
    first_round = json.loads(report_json(report_data()))["history"][0]["estimates"][0]
    assert (first_round["value"], first_round["undefined_reason"]) == (None, REASON)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": float("nan")}, "value is nan"),
        ({"upper": float("inf")}, "upper is inf"),
        ({"value": None}, "undefined_reason"),
        ({"undefined_reason": "0/0"}, "undefined_reason"),
        ({"lower": 0.9, "upper": 0.8}, "before it begins"),
    ],
)
def test_estimates_that_contradict_themselves_are_refused(changes, message):
    with pytest.raises(BadReport, match=message):
        report_data(estimates=[replace(estimate("f1", 0.8, 0.1, 100), **changes)])


def test_parquet_has_one_row_per_round_and_measure():
    table = pq.read_table(io.BytesIO(report_parquet(report_data())))
    rows = table.select(["round", "measure", "value", "labels", "undefined_reason"]).to_pylist()
    assert [(row["round"], row["measure"], row["labels"]) for row in rows] == [
        (1, "f1", 25), (1, "recall", 25), (2, "f1", 50), (2, "recall", 50), (3, "f1", 75), (3, "recall", 75),
    ]
    assert rows[0]["value"] is None
    assert rows[0]["undefined_reason"] == REASON


def test_reissued_estimates_follow_the_rounds_they_revise():
    data = report_data()
    revised = report_data(revision=1, estimates=[replace(row, revision=1) for row in data.estimates])
    table = pq.read_table(io.BytesIO(report_parquet(revised)))
    assert list(zip(table["round"].to_pylist(), table["revision"].to_pylist(), strict=True))[4:] == [
        (3, 0), (3, 0), (3, 1), (3, 1),
    ]
    assert "Revision 1: labels were changed" in _Page(render_report(revised)["report.html"]).text


def test_the_same_data_gives_the_same_bytes():
    assert render_report(report_data()) == render_report(report_data())


def test_files_are_written_whole_and_replace_older_ones(tmp_path):
    write_report(report_data(), tmp_path / "out")
    files = write_report(report_data(evaluation="second"), tmp_path / "out")
    assert json.loads(files.json.read_bytes())["evaluation"] == "second"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "report.html", "report.json", "report.parquet",
    ]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ReportNotWritten, match="file/out"):
        write_report(report_data(), tmp_path / "file" / "out")


def test_a_disk_that_is_full_keeps_the_report_that_was_there_and_no_half_of_another(tmp_path, monkeypatch):
    write_report(report_data(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def full(path, blob):
        with path.open("wb") as opened:
            opened.write(blob[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ReportNotWritten, match=r"report\.html .*No space left"):
        write_report(report_data(evaluation="second"), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# --- for people


def test_the_page_says_everything_a_decision_rests_on():
    text = page(targets=AskedTargets(half_width=0.05), undecided=2, notes=("One copy was merged.",)).text
    for said in (
        "F1 may or may not meet its limit, at least 0.8: it is estimated at 0.800, with a 95% interval of "
        "0.700 to 0.900, from 75 labels on a pool of 10,000 predictions.",
        "normal approximation, importance-weighted draws (ais-normal); nominal confidence 95%; "
        "half-width 0.100",
        "covered 7% at 50 labels on a rare class",
        "75 of a budget of 75, in 3 rounds",
        "The budget of 75 labels was spent before the target was met at two looks in a row (half-width of at "
        "most 0.05).",
        "Inconclusive The interval for F1 reaches across the limit (at least 0.8). About 300 more labels "
        "would decide.",
        "of which 120 are predicted “match”",
        "2 items have no label",
        "One copy was merged.",
        "undefined: " + REASON,
        "adaptive importance sampling",
        "9f2b" * 16,
        "assay 1.0.0, Python 3.11",
        "negative: no match",
    ):
        assert said in text


def test_an_undefined_headline_is_undefined_everywhere_and_decides_nothing():
    nothing = [estimate("f1", None, 0, 75)]
    text = page(estimates=nothing, history=(), labels_to_decide=None).text
    assert f"F1 is undefined ({REASON}), from 75 labels" in text
    assert "F1 is undefined, so nothing can be said about the limit: at least 0.8." in text
    assert "nan" not in text.lower().split()


def test_an_unfinished_evaluation_is_called_interim():
    waits = WaitingFor(round=4, items=25, answered=3, desk="folder")
    text = page(state="waiting", stopped_by=None, verdict=None, waiting_for=waits).text
    assert "interim: this evaluation is still running" in text
    assert "these are interim figures" in text
    assert "items: 25; answered: 3" in text
    assert "Not yet decided" in text


def test_an_exact_value_needs_no_interval():
    exact = [estimate("f1", 0.875, 0.0, 75, interval="exact")]
    text = page(estimates=exact, history=(), stopped_by="pool", verdict=None, limit_min=None).text
    assert "F1 is 0.8750 exactly" in text
    assert "No interval is needed" in text
    assert "No limit was set" in text


def test_segments_have_their_own_rows_below_the_whole_pool_and_a_scale_for_each_measure():
    rows = [
        *report_data().estimates, estimate("f1", 0.5, 0.2, 9, segment="region=north"),
        estimate("recall", 0.4, 0.2, 9, segment="region=north"),
    ]
    text = page(estimates=rows).text
    f1, recall = text.split("the whole pool")[1:]
    assert f1.startswith(" 0.800 0.700 to 0.900 75 region=north 0.500 0.300 to 0.700 9 ")
    assert recall.startswith(" 0.700 0.600 to 0.800 75 region=north 0.400 0.200 to 0.601 9 ")


@pytest.mark.parametrize(("changes", "said"), [
    ({"verdict": "ok"}, "F1 meets its limit, at least 0.8: it is estimated at 0.800"),
    ({"verdict": "breach"}, "F1 breaks its limit, at least 0.8: it is estimated at 0.800"),
    ({"verdict": None, "limit_min": None}, "F1 is estimated at 0.800, with a 95% interval of"),
    ({"verdict": None, "state": "open"}, "F1 is, so far, estimated at 0.800"),
])
def test_the_first_sentence_says_verdict_value_interval_and_what_it_rests_on(changes, said):
    sentence = sentences.headline(report_data(**changes))
    assert sentence.startswith(said)
    assert sentence.endswith("0.700 to 0.900, from 75 labels on a pool of 10,000 predictions.")


def test_every_part_is_in_the_contents_and_every_table_names_its_columns_and_rows():
    read = _Page(render_report(report_data())["report.html"])
    linked = [held[1:] for name, held in read.attributes if name == "href"]
    assert linked == [held for name, held in read.attributes if name == "id" and held.startswith("part-")]
    assert read.tags.count("h2") == len(linked) + 1     # how far to trust the interval comes before them
    assert read.tags.count("nav") == read.tags.count("main") == read.tags.count("h1") == 1
    assert read.tags.count("tr") == read.tags.count("table") + sum(
        held == "row" for name, held in read.attributes if name == "scope"
    )


def test_the_demo_compares_with_the_truth_and_with_random_sampling():
    # 100 true positives, 20 false ones, 25 missed, of 10,000: F1 = 200/245
    counts = np.array([[9_855, 25], [20, 100]])
    sample = random_sampling_equivalent(measure("f1"), counts, 10_000, 75, half_width=0.1)
    text = page(truth={"f1": 200 / 245, "recall": 0.2}, random_sampling=[sample]).text
    assert "F1 0.800 0.816 −0.016 0.700 to 0.900 yes" in text
    assert "Recall 0.700 0.200 0.500 0.600 to 0.800 no" in text
    # 75 · 125/10,000 = 0.9375 positives
    assert "75 labels of a simple random sample would hold 0.94 positive items on average" in text
    # what random sampling would have needed is told once, beside the price of the labels
    assert "would take about" not in text


HOSTILE = "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}$x$"


def test_nothing_hostile_gets_in_by_any_name():
    data = report_data(
        evaluation=HOSTILE,
        estimates=[
            *report_data().estimates,
            estimate("f1", 0.5, 0.1, 9, segment=HOSTILE, system=HOSTILE, class_name=HOSTILE),
            estimate("f1", 0.5, 0.1, 9, system=HOSTILE, class_name=HOSTILE),     # drawn in figure 2
            estimate("f1", None, 0.1, 9, undefined_reason=HOSTILE, interval=HOSTILE),
        ],
        pool=PoolSummary(n=1, digest=HOSTILE, sources=(HOSTILE,)),
        spec={HOSTILE: HOSTILE},
        interval_note=HOSTILE,
        versions={HOSTILE: HOSTILE},
        waiting_for=WaitingFor(round=4, items=25, desk=HOSTILE, cannot_close=HOSTILE),
        positive=HOSTILE,
        negative=HOSTILE,
        sampling_note=HOSTILE,
        notes=(HOSTILE,),
        method=HOSTILE,
        began=HOSTILE,
        finished=HOSTILE,
        stopped_by=HOSTILE,
        verdict="inconclusive",
    )
    seen = _Page(render_report(data)["report.html"])
    assert "script" not in seen.tags
    assert seen.tags.count("img") == 2                # the figures
    assert not any(name.startswith("on") for name, _ in seen.attributes)
    drawn = [held or "" for name, held in seen.attributes if name == "src"]
    assert [source[:26] for source in drawn] == ["data:image/svg+xml;base64,"] * 2
    assert "49" not in seen.text.replace(HOSTILE, "")
    assert seen.text.count("alert(1)") >= 15          # shown as text, where it belongs


def test_the_page_stands_alone_and_its_ids_are_its_own():
    seen = page()
    for name, held in seen.attributes:
        if name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            assert held is not None
            assert held.startswith(("#", "data:image/svg+xml;base64,"))
    assert not {"script", "link", "iframe", "object", "form"} & set(seen.tags)
    ids = [held for name, held in seen.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    # what labels and uses point at exists
    pointed = {held[1:] for name, held in seen.attributes if name.endswith("href") and held}
    for name, held in seen.attributes:
        if name in ("aria-labelledby", "aria-describedby"):
            pointed |= set((held or "").split())
    assert pointed <= set(ids)


def test_figures_are_told_in_words():
    told = "F1: 0.750 (interval 0.600 to 0.900) at 50 labels, 0.800 (interval 0.700 to 0.900) at 75 labels."
    assert any(told in (held or "") for name, held in page().attributes if name == "alt")


def test_an_exact_figure_is_one_figure():
    row = replace(estimate("f1", 2 / 3, 0.1, 100), lower=2 / 3, upper=2 / 3, interval="exact")
    assert w.row_in_short(row) == "0.6667 exactly"
    assert w.row_in_short(replace(row, lower=0.6, upper=0.7, interval="model")) == "0.667 [0.600, 0.700]"


@pytest.mark.parametrize(
    ("lower", "upper", "printed"),
    [
        (0.7996, 0.9, "0.799 to 0.900"),          # a limit of 0.8 is not met: 0.800 would hide it
        (0.8, 0.8999, "0.800 to 0.900"),
        (0.57, 0.58, "0.5700 to 0.5800"),         # half-width 0.005 is shown to two figures
        (0.99991, 0.99997, "0.999910 to 0.999970"),
        (-0.05, 0.25, "−0.050 to 0.250"),
    ],
)
def test_ends_of_intervals_are_rounded_outwards_to_figures_that_matter(lower, upper, printed):
    row = replace(estimate("f1", (lower + upper) / 2, 0.1, 100), lower=lower, upper=upper)
    assert w.interval(row) == printed


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"verdict": "ok", "limit_min": 0.6}, ("OK", "The whole interval for F1 meets the limit")),
        ({"verdict": "breach", "limit_min": 0.95}, ("Breach", "lies outside the limit: at least")),
        ({"verdict": "ok", "limit_min": None, "limit_max": 0.95}, ("OK", "at most 0.95")),
        ({"verdict": "ok", "limit_min": 0.6, "limit_max": 0.95}, ("OK", "between 0.6 and 0.95")),
    ],
)
def test_verdicts_say_what_they_rest_on(changes, said):
    told = sentences.verdict_and_ground(report_data(**changes))
    assert told is not None
    assert told[0] == said[0]
    assert said[1] in told[1]


def test_the_page_says_what_a_revision_moved_and_what_undecided_items_could():
    bounds = {"items": 2, "all_negative": {"value": 0.7, "lower": 0.6, "upper": 0.8},
              "all_positive": {"value": 0.75, "lower": 0.65, "upper": 0.85}}
    gaps = {"response_rate": 0.9, "unanswered": 5, "rounds": 1, "cells": 3, "collapsed": 2,
            "assumption": "missing at random within cells"}
    undecided = Undecided(
        items=2, all_negative=Ends(**bounds["all_negative"]), all_positive=Ends(**bounds["all_positive"])
    )
    row = estimate(
        "f1", 0.72, 0.1, 75, undecided=undecided, nonresponse=ResponseRate(**gaps), revision=2
    )
    moved = Moved(measure="f1", value_before=0.8, value=0.72, lower_before=0.7, lower=0.62,
                  upper_before=0.9, upper=0.82)
    data = report_data(estimates=[row], revision=2, revised_items=1, moved=[moved], undecided=2)
    page = render_report(data)["report.html"].decode()
    assert "F1 from 0.800 [0.700, 0.900] to 0.720 [0.620, 0.820]" in page
    assert "F1 0.700 [0.600, 0.800], or 0.750 [0.650, 0.850]" in page
    assert "missing at random within cells" in page
    assert "response rate of 90%" in page
    contract_json = json.loads(report_json(data))
    assert contract_json["revised"]["items"] == 1
    assert contract_json["estimates"][0]["undecided"] == bounds


def test_the_price_of_an_audit_is_on_the_page_and_in_the_json():
    step = AuditStep(labels=50, lower=0.61, upper=0.83, excludes=58, chance_found=0.12)
    price = AuditPrice(
        measure="f1", confidence=0.95, lower=0.55, upper=0.83, items=1000, steps=(step,), settled_by=None
    )
    tag = PriceTag(
        random_labels=None, random_labels_reason="no interval", not_excluded=NotExcluded(
            no_positive_found=False, unseen_bound_reason="none", wide_lower=0.55, wide_upper=0.83,
            wide_announced=True,
        ),
    )
    rows = [estimate("f1", 0.8, 0.1, 50, price_tag=tag)]
    rendered = render_report(report_data(audit=price, estimates=rows))
    page = _Page(rendered["report.html"]).text
    assert f"If positives hide from the score: {audit_in_words(price)}." in page
    told = json.loads(rendered["report.json"])["audit"]
    assert (told["steps"][0]["lower"], told["items"], told["settled_by"]) == (0.61, 1000, None)
    assert "audit" not in json.loads(report_json(report_data()))


def test_a_mean_grade_is_drawn_on_its_own_scale():
    """From 1 to 5; it was drawn from 0 to 4."""
    grades = Classes(names=("1", "2", "3", "4", "5"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
    row = estimate("mean", 3.0, 0.5, 50)
    assert scale_of_bars([row], grades) == (1.0, 5.0)
    told = page(outcome=grades, estimates=[row], history=(), verdict=None, limit_min=None)
    assert "2.500 to 3.500 1 5 mean of the outcome" in told.text


@pytest.mark.parametrize(("rows", "ends"), [
    ([estimate("f1", 0.8, 0.1, 50)], (0.0, 1.0)),
    ([estimate("cohen_kappa", 0.3, 0.1, 50)], (0.0, 1.0)),
    ([estimate("cohen_kappa", 0.05, 0.1, 50)], (-1.0, 1.0)),
    ([estimate("f1", -0.062, 0.02, 50, system="b", versus="a")], (-0.1, 0.1)),
    ([estimate("f1", 0.3, 0.2, 50, system="b", versus="a")], (-1.0, 1.0)),
])
def test_what_other_measures_are_drawn_on(rows, ends):
    assert scale_of_bars(rows, None) == ends


def test_the_wide_interval_is_drawn_beside_the_main_one_on_the_first_screen():
    excluded = NotExcluded(no_positive_found=False, wide_lower=0.332, wide_upper=0.979, wide_announced=True)
    tag = PriceTag(random_labels=300, random_labels_reason=None, not_excluded=excluded)
    row = estimate("f1", 0.8, 0.1, 75, price_tag=tag)
    html = render_report(report_data(estimates=[row]))["report.html"].decode()
    first = html[html.index('aria-label="Result"') : html.index('class="facts"')]
    assert "Thin line: wide interval 0.332 to 0.979: it holds too if some “match” items have scores" in first
    # 2 + 0.332 · 146 and 2 + 0.979 · 146 pixels
    assert '<line class="wide" x1="50.47" x2="144.93"' in first
    assert 'class="wide"' not in render_report(report_data())["report.html"].decode()


def test_two_systems_have_a_verdict_of_their_own_where_there_is_no_limit():
    """`b is worse than a` stood beside `Verdict None`."""
    def told(*words):
        rows = [
            estimate("f1", -0.1, 0.05, 75, system=name, versus="a", comparison=Comparison(
                chance_better=0.01, verdict=word, more_labels=None, together=len(words), lower=-0.16,
                upper=-0.04,
            )) for name, word in zip("bc", words, strict=False)
        ]
        rows += [estimate("f1", 0.7, 0.05, 75, system=name) for name in "abc"]
        systems = ComparedSystems(baseline="a", others=list("bc")[: len(words)], differing={"b": 9, "c": 9})
        return page(estimates=rows, history=(), verdict=None, limit_min=None, systems=systems).text

    worse = "Verdict ⇄ b is worse By F1, at 95%: the whole interval of the difference lies on one side of 0."
    assert worse in told("worse")
    assert "Verdict ⇄ Open By F1, at 95%: the interval of the difference holds 0." in told("open")
    both = "Verdict ⇄ 1 of 2 open Of 2 systems compared with a by F1, 1 is worse, 1 is open."
    assert both in told("worse", "open")
    assert "No limit was set" not in told("worse")


def test_an_extension_beyond_the_target_is_not_said_to_go_down():
    """From a budget of 500, of which 120 were spent when the target was met, to 300."""
    row = ExtensionRow(extension=1, rounds=4, labels_before=500, labels=300, confidence=0.975, corrected=True,
                       beyond_target=True, by="anna", reason="", at="2026-11-23")
    first, *_ = sentences.extended([row], 0.95)
    assert first == ("After round 4 had met the target, it was extended to 300 labels in all, by anna; the "
                     "target no longer stops it.")
    text = page(extensions=[row], stopped_by="budget", targets=AskedTargets(half_width=0.1)).text
    assert "before the target was met" not in text


def test_no_note_about_an_interval_names_a_file_that_the_reader_does_not_have():
    several = [method(name).interval_note for name in METHODS]
    assert not any("docs/" in note or ".md" in note for note in several)
    assert not any("docs/" in one.interval_note for one in OUTCOME_METHODS.values())


def test_where_losses_have_no_bound_it_says_what_the_tail_could_add():
    row = replace(estimate("mae", 0.8, 0.1, 200), diagnostics={"unseen_share": 0.0183})
    (said,) = sentences.warnings([row])
    assert "larger than any that was labelled" in said
    assert "Up to 1.83% of the items" in said
    assert sentences.warnings([estimate("mae", 0.8, 0.1, 200)]) == []
