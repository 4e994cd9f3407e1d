"""Refusals of replays and estimates name columns as they were given."""

import pandas as pd
import pytest

import assay

N = 30


def frame(**changed):
    rows = pd.DataFrame({
        "truth": ["abc"[n % 3] for n in range(N)], "said": ["abc"[n % 2] for n in range(N)],
        "p_a": [0.5] * N, "p_b": [0.3] * N, "p_c": [0.2] * N,
    }, index=[f"i{n}" for n in range(N)])
    for name, value in changed.items():
        rows.loc["i7", name] = value
    return rows


def replayed(rows, **more):
    return assay.replay(rows, label="truth", outcome=["a", "b", "c"], prediction="said", probability="p_",
                        measures=["accuracy"], methods=["passive"], budgets=[10], repeats=2, **more)


def estimated(rows):
    rows.loc[rows.index[N // 2 :], "truth"] = None
    return assay.estimate(rows, label="truth", outcome=["a", "b", "c"], prediction="said", probability="p_",
                          measures=["accuracy"])


@pytest.mark.parametrize("asked", [replayed, estimated])
@pytest.mark.parametrize(("changed", "message"), [
    ({"p_c": 1.9}, r"column 'p_c': row 8: 1\.9 is not between 0 and 1"),
    ({"p_c": 0.9}, r"column 'p_a': row 8 begins probabilities whose sum is 1\.7, not 1"),
    ({"said": "d"}, r"column 'said', row 8: 'd' is none of the classes a, b, c"),
])
def test_a_column_is_named_as_it_was_given(asked, changed, message):
    with pytest.raises(assay.errors.BadInput, match=message):
        asked(frame(**changed))


def test_two_classes_speak_of_the_columns_too():
    rows = pd.DataFrame({"truth": [n % 2 for n in range(N)], "said": [n % 3 % 2 for n in range(N)],
                         "sure": [1.7] + [0.5] * (N - 1)}, index=[f"i{n}" for n in range(N)])
    message = r"column 'sure': row 1: 1\.7 .* give the column as score"
    with pytest.raises(assay.errors.BadInput, match=message):
        assay.replay(rows, label="truth", prediction="said", probability="sure", outcome=[1, 0],
                     measures=["f1"], methods=["passive"], budgets=[10], repeats=2)


def test_a_measure_that_lacks_a_column_is_named():
    rows = frame().drop(columns=["p_a", "p_b", "p_c"])
    with pytest.raises(assay.errors.BadInput, match="'log_loss' needs a probability of each class"):
        assay.replay(rows, label="truth", outcome=["a", "b", "c"], prediction="said", measures=["log_loss"],
                     methods=["passive"], budgets=[10], repeats=2)


def test_where_every_row_has_a_label_the_argument_for_the_size_is_named():
    message = r"every row has a label; .*how many items it has \(pool_size\)"
    with pytest.raises(assay.errors.BadInput, match=message):
        assay.estimate(frame(), label="truth", outcome=["a", "b", "c"], prediction="said",
                       measures=["accuracy"])
