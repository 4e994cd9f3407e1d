"""Measures are found by the names that specs and estimates call them."""

import pytest

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.measures.registry import every, measure, named, names, spellings, usual


def test_the_names_are_in_alphabetical_order_and_every_one_has_a_measure():
    assert names() == sorted(set(names()))
    assert {"accuracy", "f1", "fbeta", "mcc"} <= set(names())
    assert [m.name.partition("(")[0] for m in every()] == names()


def test_a_misspelt_measure_gets_a_suggestion():
    with pytest.raises(UnknownName, match="did you mean 'precision'"):
        measure("precison")


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(UnknownName, match=r"known measures of two classes: accuracy, .*, specificity"):
        measure("zzz")


@pytest.mark.parametrize(("name", "beta"), [("fbeta", None), ("fbeta", -1.0), ("f1", 2.0)])
def test_beta_belongs_to_fbeta_alone(name, beta):
    with pytest.raises(BadInput, match="beta"):
        measure(name, beta)


def test_the_name_in_an_estimate_leads_back_to_the_measure():
    for m in [*every(), measure("fbeta", 0.5)]:
        again = named(m.name)
        assert (again.name, again.title, again.loss.tolist()) == (m.name, m.title, m.loss.tolist())


@pytest.mark.parametrize("name", ["fbeta(two)", "f3", "fbeta()"])
def test_a_name_of_no_measure_is_refused(name):
    with pytest.raises(UnknownName, match="unknown measure"):
        named(name)


def test_a_family_is_listed_with_its_usual_number():
    assert usual("fbeta").name == "fbeta(2)"
    assert usual("f1").name == "f1"
    assert "{name: fbeta, beta: 2}" in spellings()
