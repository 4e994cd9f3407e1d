"""What the columns of a file are taken for."""

import pyarrow as pa
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.doctor.column_names import gives_away
from assay.tasks.doctor.columns import look_at_columns
from assay.tasks.doctor.roles import Told, guess_roles

N = 200


def roles(told=None, **columns):
    return guess_roles(look_at_columns({name: [pa.array(values)] for name, values in columns.items()}), told)


def half(a, b):
    return [a if n % 2 else b for n in range(N)]


IDS = [f"m{n}" for n in range(N)]
CHANCES = [n / N for n in range(N)]


def test_ids_by_other_names_and_the_index_of_a_data_frame():
    assert roles(message_id=IDS, score=CHANCES).id == "message_id"
    assert roles(**{"Unnamed: 0": list(range(N))}, score=CHANCES).id == "Unnamed: 0"
    assert roles(code=IDS, score=CHANCES).id == "code"                       # unique, whatever it is called
    assert roles(text=[f"no id {n}" for n in range(N)], score=CHANCES).id is None
    assert roles(user_id=half("a", "b"), pair_key=IDS, score=CHANCES).id == "pair_key"


def test_numbers_between_0_and_1_are_a_probability_whatever_they_are_called():
    found = roles(id=IDS, score=CHANCES, prediction=half(1, 0))
    assert (found.score, found.probability) == (None, "score")
    found = roles(id=IDS, score=[n - 90.5 for n in range(N)], prediction=half(1, 0))
    assert (found.score, found.probability) == ("score", None)
    assert roles(id=IDS, risk=CHANCES, prediction=half(1, 0)).probability == "risk"


@pytest.mark.parametrize(
    ("prediction", "label", "outcome"),
    [
        (half(1, 0), half("ham", "spam"), "classes"),          # no score: predictions alone
        ([n * 1.5 for n in range(N)], [n * 1.6 for n in range(N)], "number"),
        ([n % 5 + 1 for n in range(N)], [n % 4 + 1 for n in range(N)], "grades"),
        ([f"c{n % 7}" for n in range(N)], [f"c{n % 5}" for n in range(N)], "classes"),
    ],
)
def test_the_outcome_follows_from_predictions_and_labels(prediction, label, outcome):
    found = roles(id=IDS, prediction=prediction, label=label)
    assert (found.outcome, found.prediction, found.label) == (outcome, "prediction", "label")


def test_a_confidence_is_no_probability_of_the_positive_class():
    sure = [0.5 + n / (2 * N) for n in range(N)]
    found = roles(id=IDS, confidence=sure, prediction=half("cat", "dog"))
    assert (found.outcome, found.probability) == ("classes", "confidence")
    assert roles(id=IDS, p_cat=sure, prediction=half("cat", "dog")).outcome == "two classes"


@pytest.mark.parametrize(("prediction", "label"), [
    ("y_pred", "y_true"), ("y_hat", "y"), ("yhat", "y_test"), ("pred", "target"), ("Predicted", "Actual"),
    ("predictedLabel", "trueLabel"), ("pred_label", "gold_label"), ("model_output", "ground_truth"),
    ("label_pred", "label"), ("decision", "human_label"), ("target_prediction", "target"), ("class", "truth"),
])
@pytest.mark.parametrize("turned", [False, True])
def test_predictions_and_truth_are_told_apart_by_whole_words(prediction, label, turned):
    columns = {prediction: half(1, 0), label: half(0, 1)}
    if turned:
        columns = dict(reversed(columns.items()))
    found = roles(id=IDS, **columns)
    assert (found.prediction, found.label, found.questions) == (prediction, label, ())
    numbers = {name: [n * 1.5 + i for n in range(N)] for i, name in enumerate(columns)}
    found = roles(id=IDS, **numbers)
    assert (found.outcome, found.prediction, found.label) == ("number", prediction, label)


def test_numbers_between_0_and_1_are_predictions_where_the_truth_is_such_a_number():
    found = roles(id=IDS, y_pred=CHANCES, y_true=[n / (2 * N) for n in range(N)])
    assert (found.outcome, found.prediction, found.label) == ("number", "y_pred", "y_true")
    found = roles(id=IDS, y_pred=CHANCES, y_true=half(1, 0))
    assert (found.prediction, found.probability, found.label) == (None, "y_pred", "y_true")


def test_words_that_only_contain_others_are_none_of_them():
    found = roles(id=IDS, problem=CHANCES, y_score=[n - 90.5 for n in range(N)], y_pred=half(1, 0),
                  labelled=half("yes", "no"))
    assert (found.label, found.score, found.prediction) == (None, "y_score", "y_pred")
    found = roles(id=IDS, true_score=[n - 9.5 for n in range(N)], predicted_score=[n - 9.1 for n in range(N)])
    assert (found.prediction, found.label) == ("predicted_score", "true_score")


def test_two_columns_that_would_do_are_in_question_where_the_numbers_depend_on_it():
    found = roles(id=IDS, pred_a=half(1, 0), pred_b=half(0, 1), label=half(1, 0), score=CHANCES)
    [question] = found.questions
    assert (question.option, question.choices) == ("--prediction", ("pred_a", "pred_b"))
    assert question.decides
    assert found.open
    assert "prediction in question" in found.in_one_line
    owls, cats = half("owl", "cat"), half("cat", "owl")
    found = roles(id=IDS, said_by_a=owls, said_by_b=cats, label=cats)
    assert [(one.option, one.decides) for one in found.questions] == [("--prediction", True)]
    scores = {"score": [n - 9.5 for n in range(N)], "score_2": [n - 3.5 for n in range(N)]}
    assert roles(id=IDS, label=half(1, 0), **scores).open                          # they make the predictions
    found = roles(id=IDS, label=half(1, 0), pred=half(1, 0), **scores)
    assert [one.option for one in found.questions] == ["--score"]
    assert not found.open                                                          # they only steer


def test_what_is_missing_is_no_class():
    label = ["1", "0", "", "n/a"] * (N // 4)
    found = roles(id=IDS, score=CHANCES, prediction=half("1", "0"), label=label)
    assert (found.outcome, found.label) == ("two classes", "label")
    words = ["spam", "ham", "", "NA"] * (N // 4)
    assert roles(id=IDS, score=CHANCES, prediction=half("ham", "spam"), label=words).outcome == "two classes"
    classes = ["spam", "ham", "NA", "NA"] * (N // 4)
    assert roles(id=IDS, prediction=classes, label=words).outcome == "classes"     # NA is predicted


def test_decimal_commas_are_told():
    found = roles(id=IDS, score=[f"{n},5" for n in range(N)], label=half(1, 0))
    assert ([one.column for one in found.unread], found.score, found.display) == (["score"], None, ())
    assert found.unread[0].says == "'0,5' is no number: it has a decimal comma, as 0,5"


def test_what_could_be_two_columns_is_a_question_and_what_is_told_is_none():
    columns = {"id": IDS, "score": CHANCES, "label": half(1, 0), "truth": half(0, 1)}
    [question] = roles(**columns).questions
    assert (question.option, question.taken, question.choices) == ("--label", "label", ("label", "truth"))
    found = roles(Told(label="truth"), **columns)
    assert (found.questions, found.label) == ((), "truth")
    with pytest.raises(BadInput, match="no column 'gone' with values; there are id, score"):
        roles(Told(label="gone"), **columns)


def test_words_that_are_all_labels_too_may_be_the_prediction_whatever_the_column_is_called():
    found = roles(id=IDS, guess=half("owl", "cat"), label=half("cat", "owl"), place=half("roof", "tree"))
    assert (found.prediction, found.label) == ("guess", "label")
    assert [(one.option, one.taken) for one in found.questions] == [("--prediction", "guess")]
    assert "'guess' has the same values as 'label'" in found.questions[0].asks
    assert roles(id=IDS, guess=half("owl", "cat")).prediction is None             # no label to compare with
    named = roles(id=IDS, guess=half("owl", "cat"), label=half("cat", "owl"), pred=half("cat", "owl"))
    assert (named.prediction, named.questions) == ("pred", ())


def test_numbers_that_nothing_was_made_of_are_kept_for_a_hint():
    percent = [n / 2 for n in range(N)]
    assert roles(id=IDS, rating=percent, is_spam=[True, False] * (N // 2)).numbers == ("rating",)


def test_true_and_false_may_be_a_label_and_are_no_segment():
    found = roles(id=IDS, score=CHANCES, same=half(True, False), region=half("north", "south"))
    assert (found.perhaps_labels, found.segments, found.label) == (("same",), ("region",), None)


def test_the_predicted_words_in_another_column_may_be_labels_and_are_no_segment():
    truth = [("spam", "ham", "", "n/a")[n % 4] for n in range(N)]
    given = {"id": IDS, "score": CHANCES, "decision": half("spam", "ham")}
    found = roles(**given, wahrheit=truth, region=half("north", "south"))
    assert (found.perhaps_labels, found.segments, found.label) == (("wahrheit",), ("region",), None)
    assert roles(**given, label=truth, second=truth).perhaps_labels == ()


def test_judges_hold_what_a_label_may_be():
    grade = [n % 5 + 1 for n in range(N)]
    found = roles(id=IDS, label=grade, judge_a=grade, judge_b=half("good", "bad"))
    assert found.judges == ("judge_a",)
    assert "label 'label', judge 'judge_a', no prediction" in found.in_one_line


@pytest.mark.parametrize("name", ["answer", "output", "model_answer"])
def test_texts_that_people_grade_are_shown_whatever_their_name_and_are_no_classes(name):
    said = {name: [f"a long answer, number {n}" for n in range(N)]}
    found = roles(id=IDS, prompt=[f"question {n}" for n in range(N)], **said, grade=[n % 5 for n in range(N)])
    assert found.display == ("prompt", name)
    found = roles(id=IDS, human=[n % 5 + 1 for n in range(N)], judge=[n % 5 + 1 for n in range(N)], **said)
    assert (found.prediction, found.display, gives_away(name)) == (None, (name,), None)


def test_names_that_give_the_answer_away():
    assert gives_away("label") == gives_away("target_answer") == "the truth"
    assert gives_away("model_score") == "a score"
    assert gives_away("text") is None


def test_the_column_that_is_predicted_is_the_truth_if_both_hold_numbers():
    prices, guesses = [n * 1.5 for n in range(N)], [n * 1.6 for n in range(N)]
    found = roles(house=IDS, predicted_price=guesses, price=prices)
    assert (found.outcome, found.prediction, found.label) == ("number", "predicted_price", "price")
    assert roles(house=IDS, predicted_price=guesses, size=prices).label is None


def test_a_percentage_is_a_score():
    percent = [n / 2 for n in range(N)]
    for name in ("P(spam)", "prob", "risk %", "pct_spam"):
        assert roles(id=IDS, **{name: percent}).score == name
    assert roles(id=IDS, size=percent).score is None


def test_a_threshold_makes_the_predictions():
    told = Told(threshold=70.0)
    found = roles(told, id=IDS, score=[n - 90.5 for n in range(N)], decision=half("a", "b"))
    assert (found.threshold, found.prediction, found.score) == (70.0, None, "score")
    with pytest.raises(BadInput, match="--threshold makes predictions"):
        roles(Told(threshold=1.0, prediction="decision"), id=IDS, score=CHANCES, decision=half(1, 0))
    with pytest.raises(BadInput, match="--threshold makes predictions"):
        roles(told, id=IDS, label=[n + 0.5 for n in range(N)])


def test_forecasts_of_numbers_are_predictions():
    numbers = [n + 0.25 for n in range(N)]
    found = roles(Told(label="actual"), id=IDS, forecast_date=IDS, forecast=numbers, actual=numbers)
    assert (found.prediction, found.outcome) == ("forecast", "number")
    assert found.in_one_line == "id 'id', prediction 'forecast', label 'actual'"
    found = roles(Told(label="actual"), id=IDS, actual=numbers)
    assert found.in_one_line == "id 'id', label 'actual', no prediction"
