"""How the people who label do: under names of the report's own, and in words."""

from dataclasses import replace

from doubles.report_data import estimate

from assay.evalcore.annotators.agreement import Agreement
from assay.evalcore.annotators.error_rates import Corrected
from assay.evalcore.annotators.quality import (
    UNTESTED,
    AgreedLabels,
    AnnotatorQuality,
    AskedAgain,
    Correction,
    Differing,
    ErrorIntervals,
    GoldAnswers,
    GoldTally,
    Person,
    RateInterval,
    nothing_known,
)
from assay.tasks.report.annotators import annotators_in_words, pseudonymous


def a_person(name, errors=None):
    return Person(
        annotator=name, answers=1200, skips=3, invalid=0, labels=AgreedLabels(items=10, agreed=9),
        gold=GoldAnswers(answers=(6, 4), wrong=(1, 2)), errors=errors,
    )


def a_quality():
    told = RateInterval(mean=0.0512, lower=0.01, upper=0.2)
    return AnnotatorQuality(
        round=2, rule="dawid-skene", annotators_per_item=2,
        people=(a_person("ann", ErrorIntervals(false_positive=told, miss=told)), a_person("bob")),
        agreement=(Agreement(
            statistic="cohen-kappa", between=("ann", "bob"), items=20, agreed=0.95, value=0.8, lower=0.6,
            upper=0.9, interval="large-sample", undefined_reason=None,
        ),),
        gold=GoldTally(items=10, answers=20, right=14),
        asked_again=AskedAgain(items=0, answers=0, overruled=0),
        would_differ=(Differing(round=1, item_id="a"),),
        correction=Correction(
            interval="of the test", known_from=("gold", "repeated answers"), reason=None, label_errors=None,
            estimates=(Corrected(
                measure="f1", value=0.7, lower=0.6, upper=0.8, undefined_reason=None, sampling_width=0.1,
                rates_width=0.1, answers_width=0.1,
            ),),
        ),
    )


def test_the_same_person_has_one_name_in_an_evaluation_and_another_in_the_next():
    first, again, other = (pseudonymous(a_quality(), salt) for salt in ("one", "one", "two"))
    assert first == again
    names = {person.annotator for person in first.people}
    assert names.isdisjoint({person.annotator for person in other.people})
    assert all(name.startswith("person-") for name in names)
    assert set(first.agreement[0].between) == names
    assert [person.annotator for person in first.people] == sorted(names)
    assert "ann" not in repr(first).replace("annotator", "")


def test_people_agreement_and_corrected_measures_in_words():
    told = annotators_in_words(a_quality(), [estimate("f1", 0.75, 0.1, 75)])
    ann, bob = told.people
    assert (ann.answers, ann.agreed, ann.gold) == ("1,200", "9 of 10", "7 of 10")
    assert told.error_headings == ("False positives", "Misses")
    assert ann.errors[1].startswith("5.1% (1%")
    assert bob.errors[1] == "unknown"
    assert told.agreement[0].name == "Cohen’s κ: ann and bob"
    assert told.known_from == "gold and repeated answers"
    assert (told.note, told.differ, len(told.estimates)) == (None, 1, 1)
    assert told.answers_of == ""


def test_which_answers_it_goes_by_is_said_once_labels_were_revised():
    revised = [estimate("f1", 0.75, 0.1, 75, revision=3)]
    assert "no record for revision 3" in annotators_in_words(a_quality(), revised).answers_of
    by_them = annotators_in_words(replace(a_quality(), revision=3), revised)
    assert by_them.answers_of.startswith("By the answers of revision 3")


def test_where_nothing_is_known_that_is_the_note():
    told = annotators_in_words(nothing_known(2, "majority", 1), [])
    assert (told.note, told.people, told.estimates) == (UNTESTED, (), ())
