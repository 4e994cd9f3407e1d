"""The errors among labelled items: which, how many, and in what order."""

from assay.evalcore.weighted.sample import MOST_LISTED, LabelledItem, wrong_predictions


def item(name, predicted, label, **changes):
    given = {"item_id": name, "predicted": predicted, "label": label, "round": 1, "cell": 0, "chance": 0.5,
             "chance_kind": "inclusion"}
    return LabelledItem(**(given | changes))


def test_those_that_weigh_most_come_first_and_what_they_stand_for_is_added_up():
    found = wrong_predictions(
        [item("a", 1, 0, weight=2.0), item("right", 1, 1, weight=90.0), item("b", 0, 1, weight=7.5),
         item("c", 0, 2, weight=2.0)],
        by_size=False,
    )
    assert [one.item_id for one in found.items] == ["b", "a", "c"]
    assert (found.labelled, found.count, found.weight) == (4, 3, 11.5)


def test_without_weights_the_least_likely_come_first():
    found = wrong_predictions([item("a", 1, 0, chance=0.9), item("b", 1, 0, chance=0.01)], by_size=False)
    assert [one.item_id for one in found.items] == ["b", "a"]
    assert found.weight is None


def test_of_numbers_the_largest_errors_come_first():
    found = wrong_predictions(
        [item("a", 3.0, 2.5, weight=90.0), item("b", 1.0, 4.0, weight=1.0), item("right", 2.0, 2.0)],
        by_size=True,
    )
    assert [one.item_id for one in found.items] == ["b", "a"]


def test_of_many_the_first_are_listed_and_all_are_counted():
    found = wrong_predictions([item(str(i), 1, 0, weight=1.0) for i in range(60)], by_size=False)
    assert (len(found.items), found.count, found.weight) == (MOST_LISTED, 60, 60.0)
