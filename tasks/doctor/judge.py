"""Judges what was counted in a file: findings, each with a remedy."""

from collections import Counter

from assay.tasks.doctor.finding import Finding, ok, problem, warning
from assay.tasks.doctor.numbers import Numbers, class_names
from assay.tasks.doctor.roles import Roles
from assay.tasks.doctor.scan import Defect, Scan
from assay.tasks.doctor.summary import ScoreSummary
from assay.tasks.report import wording

_COARSE = 20  # distinct scores, below which they are too few
_OFF = 2.0    # expected positives over counted ones, either way, that calls a probability miscalibrated


def judge(found: Scan, roles: Roles) -> list[Finding]:
    """The problems, the losses, and what is as it should be."""
    result = [_rows(found), *_ids(found, roles), *_scored(found, roles), *_decided(found, roles)]
    if roles.label is not None:
        result.append(_labels(found, roles.label))
    told = "looks like a time: it is not used, but tells windows of a monitor apart"
    result += [ok(column, told) for column in roles.time]
    if not roles.display:
        result.append(warning(
            "display", "no column of text that people could judge an item by",
            "add the columns people need to see, or name them under pool.display",
        ))
    return result


def calibration_finding(numbers: Numbers, supplied: bool) -> Finding | None:
    """Whether the probabilities expect about as many positives as there are (or are predicted)."""
    expected = float(numbers.probability.sum())
    known = numbers.label is not None
    there = float(numbers.label.sum() if numbers.label is not None else numbers.prediction.sum())
    what = "probability" if supplied else "expit(score), which stands for the probability,"
    against = "found" if known else "predicted"
    positives = wording.plural(round(expected), "positive")
    if there > 0 and 1 / _OFF <= expected / there <= _OFF:
        return ok("probability", f"{what} expects {positives}, {there:,.0f} {against}")
    return warning(
        "probability", f"{what} expects {positives} where {there:,.0f} {against}",
        "methods that trust the probabilities (static-is, sawade, bernoulli, optimal-is) would choose poor "
        "items: use auto, recalibrated or dirichlet-tree, or calibrate the probabilities",
    )


def ties_finding(scores: ScoreSummary, items: int) -> Finding | None:
    """A warning where few scores are shared by many items."""
    if scores.distinct >= _COARSE and scores.largest_tie <= items / 2:
        return None
    return warning(
        "score",
        f"{wording.plural(scores.distinct, 'distinct value')}; the commonest is shared by "
        f"{scores.largest_tie:,} of {wording.plural(items, 'item')}",
        "items with the same score cannot be told apart: a finer score saves labels",
    )


def _rows(found: Scan) -> Finding:
    if found.rows == 0:
        return problem("rows", "there are none", "an empty pool cannot be evaluated")
    return ok("rows", f"{found.rows:,}")


def _ids(found: Scan, roles: Roles) -> list[Finding]:
    if roles.id is None:
        return [problem("id", "no column names each item", "add a column with an id for every row")]
    result = []
    if found.missing_ids.count:
        result.append(_defect(roles.id, "no id", found.missing_ids, "number the rows, or drop these"))
    if found.duplicates:
        result.append(problem(roles.id, f"ids that occur more than once: {'; '.join(found.duplicates)}",
                              "drop the repeats, or name another column as the id"))
    return result or [ok(roles.id, "names each item, once")]


def _scored(found: Scan, roles: Roles) -> list[Finding]:
    if roles.score is None and roles.probability is None:
        says = "no column says how positive an item looks"
        if roles.per_class:
            says = f"one probability a class ({', '.join(roles.per_class)}), and no score of one class"
        return [problem(
            "score", says,
            "add a score or a probability of the class in question; for several classes write a spec with "
            "labels: {classes: [...]} (docs/outcomes.md), and examine that",
        )]
    result = []
    for name, defect in found.bad_numbers.items():
        if defect.count:
            result.append(_defect(name, "missing, NaN, infinite or not a number", defect,
                                  "give these rows a number, or drop them from the pool"))
        else:
            result.append(ok(name, "a finite number in every row"))
    if found.outside.count:
        result.append(_defect(str(roles.probability), "not within [0, 1]", found.outside,
                              "a probability is; if it is a score, call it score"))
    return result


def _decided(found: Scan, roles: Roles) -> list[Finding]:
    if roles.prediction is None:
        if roles.unlike is not None:
            return [warning(roles.unlike, "is called a prediction but holds no classes (a regression?)",
                            "evaluate a decision made of it: name a score or probability, and a threshold")]
        return [warning("prediction", "no column holds the decision of the system",
                        "set pool.threshold: what lies above it counts as positive")]
    name = roles.prediction
    result = []
    if len(found.predictions) > 2:
        listed = ", ".join(repr(value) for value, _ in found.predictions.most_common(5))
        return [problem(name, f"holds {len(found.predictions)} classes ({listed}), not two",
                        "write a spec with labels: {classes: [...]} (docs/outcomes.md), and examine that; or "
                        "write 1 for one class and 0 for the rest")]
    if found.missing_predictions.count:
        result.append(_defect(name, "no prediction", found.missing_predictions,
                              "give these rows one, or drop them from the pool"))
    positive, _ = class_names(found)
    n = found.predictions.get(positive, 0)
    if n in (0, found.rows):
        result.append(warning(name, f"{'no' if n == 0 else 'every'} item is predicted positive",
                              "is the threshold where it should be? Some measures do not exist then"))
    else:
        result.append(ok(name, f"{n:,} of {found.rows:,} are predicted {positive!r}"))
    return result


def _labels(found: Scan, name: str) -> Finding:
    if len(found.labels) > 2:
        return warning(name, f"holds {len(found.labels)} classes", "write 1 and 0 for one class at a time")
    known = found.rows - found.missing_labels
    listed = ", ".join(f"{n:,} {value!r}" for value, n in sorted(Counter(found.labels).items()))
    if found.missing_labels:
        return warning(name, f"{known:,} of {found.rows:,} rows are labelled ({listed})",
                       "labels of items that were not drawn by Assay cannot be used")
    return ok(name, f"every row is labelled ({listed}): `assay replay` can try methods on it")


def _defect(name: str, what: str, defect: Defect, remedy: str) -> Finding:
    more = f" and {defect.count - len(defect.first):,} more" if defect.count > len(defect.first) else ""
    rows = wording.plural(defect.count, "row", "rows")
    says = f"{what} in {rows}: {'; '.join(defect.first)}{more}"
    return problem(name, says, remedy)
