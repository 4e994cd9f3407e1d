"""A certification keeps what is finished: it may be killed, go on, and run in several processes."""

import json

import pytest

from benchmarks.certification_doc import lines, totals
from benchmarks.certify import run

BUDGETS = (25, 50)


def certify(cache, repeats=100, budgets=BUDGETS, processes=1):
    run(["small"], ["passive"], ["f1"], repeats, cache, budgets, processes)
    return totals(cache, "f1")


def test_a_finished_cell_is_not_run_again(tmp_path):
    cache = tmp_path / "cache.jsonl"
    found = certify(cache)
    before = cache.read_bytes()

    assert certify(cache) == found
    assert cache.read_bytes() == before
    assert {entry["n"] for entry in found.values()} == {100.0}


@pytest.mark.parametrize("kept", [1, 60])
def test_a_run_that_was_killed_as_it_wrote_goes_on(tmp_path, kept):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    found = certify(whole)
    first, second = whole.read_text().splitlines(keepends=True)
    cut.write_text(first + second[:kept])

    assert [line["block"] for line in lines(cut)] == [0]      # readable while it is unfinished
    assert certify(cut) == found
    assert cut.read_text() == whole.read_text()


def test_more_budgets_and_repeats_are_added_and_nothing_counts_twice(tmp_path):
    cache, at_once = tmp_path / "cache.jsonl", tmp_path / "at-once.jsonl"
    certify(cache, repeats=50, budgets=(25,))

    assert certify(cache) == certify(at_once)


def test_processes_change_the_order_of_lines_and_nothing_else(tmp_path):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    certify(one)
    certify(two, processes=2)

    assert sorted(map(json.dumps, lines(one))) == sorted(map(json.dumps, lines(two)))
