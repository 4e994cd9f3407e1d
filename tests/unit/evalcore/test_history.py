"""A history: what was early is read only when it is asked for."""

import pytest

from assay.evalcore.evaluation.state import ENTRIES_OF_RUN, History, in_brief, with_last, with_one_more


def a_history():
    """0, 1, 2, ... of two runs and three more; the list says which runs were read."""
    looked = []

    def run(first):
        def read():
            looked.append(first)
            return tuple(range(first, first + ENTRIES_OF_RUN))
        return read

    return History(
        (run(0), run(ENTRIES_OF_RUN)), (2 * ENTRIES_OF_RUN, 2 * ENTRIES_OF_RUN + 1, 2 * ENTRIES_OF_RUN + 2)
    ), looked


def test_it_is_the_sequence_of_all_entries():
    history, _ = a_history()
    n = 2 * ENTRIES_OF_RUN + 3
    assert list(history) == list(range(n))
    assert (len(history), history[0], history[ENTRIES_OF_RUN], history[-1]) == (n, 0, ENTRIES_OF_RUN, n - 1)
    assert history[ENTRIES_OF_RUN - 1 : ENTRIES_OF_RUN + 2] == (
        ENTRIES_OF_RUN - 1,
        ENTRIES_OF_RUN,
        ENTRIES_OF_RUN + 1,
    )
    assert history[:] == tuple(range(n))
    for outside in (n, -n - 1):
        with pytest.raises(IndexError):
            history[outside]


def test_the_last_entries_and_one_more_need_no_reading():
    history, looked = a_history()
    more = with_one_more(history, "new")
    assert (len(more), more[-1], history[-1]) == (2 * ENTRIES_OF_RUN + 4, "new", 2 * ENTRIES_OF_RUN + 2)
    assert more[-2:] == (2 * ENTRIES_OF_RUN + 2, "new")
    assert with_last(more, "other")[-2:] == (2 * ENTRIES_OF_RUN + 2, "other")
    assert in_brief(more, str)[-2:] == (str(2 * ENTRIES_OF_RUN + 2), "new")
    assert looked == []


def test_tuples_are_treated_alike():
    assert with_one_more((), 1) == (1,)
    assert with_last((1, 2), 3) == (1, 3)
    assert with_last((1, 2), None) == (1, 2)
    assert in_brief((1, 2), str) == ("1", "2")
