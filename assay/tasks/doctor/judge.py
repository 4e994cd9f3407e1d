"""Judges what was counted in a file, and what a spec names beside it: findings, each with a remedy."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite

import pyarrow as pa

from assay.evalcore.errors import AssayError, BadInput, plural
from assay.evalcore.outcomes.class_names import what_differs
from assay.tasks.desks.kind import Resources
from assay.tasks.doctor.column_names import gives_away
from assay.tasks.doctor.examination import Finding, ok, problem, warning
from assay.tasks.doctor.numbers import UsableRows, class_names, or_at_it, threshold_of
from assay.tasks.doctor.one_per_class import class_in_name
from assay.tasks.doctor.roles import OpenChoice, Roles
from assay.tasks.doctor.scan import Defect, Scan
from assay.tasks.doctor.summary import ScoreSummary
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.operating_system import in_the_way_of
from assay.tasks.pool.predictions.systems import codes_by_system
from assay.tasks.report import wording
from assay.tasks.sources.values import none_beside
from assay.tasks.spec.evaluation import Spec

_COARSE = 20  # distinct scores, below which they are too few
_LISTED = 8   # classes of labels that are listed
_OFF = 2.0    # expected positives over counted ones, either way, that calls a probability miscalibrated


def judge_columns(scan: Scan, roles: Roles) -> list[Finding]:
    """The problems, the losses, and what is as it should be; of a sample, what is so in the rows read. Each
    names a column or key, and problems say what to do."""
    result = [_rows(scan), ok("columns", f"taken: {roles.in_one_line}"), *_ids(scan, roles)]
    result += [*_scored(scan, roles), *_decided(scan, roles)]
    result += [problem(entry.column, entry.says, entry.remedy) for entry in roles.unread]
    if roles.label is not None:
        result.append(_labels(scan, roles, roles.label))
    differing = {
        alike: name for name, values in (
            (roles.label, [*scan.predictions, *scan.labels]), (roles.prediction, [*scan.predictions]),
            (roles.label, [*scan.labels]))
        if name is not None and roles.outcome in ("two classes", "classes")
        and (alike := what_differs(values)) is not None
    }
    result += [problem(name, f"{alike}", "write them in one way, or list both as classes in a spec")
               for alike, name in differing.items()]
    result += [
        warning(name, "by its values it could be the true label", f"if it is: --label {shlex.quote(name)}")
        for name in roles.perhaps_labels
    ]
    result += [_asked(question) for question in roles.questions]
    message = "looks like a time: it is not used, but tells windows of a monitor apart"
    result += [ok(column, message) for column in roles.time]
    result += [
        warning(f"display: {name}", f"people see it, and by its name it is {what}",
                "leave it out of --display (pool.display in a spec): people should judge for themselves")
        for name in roles.display if (what := gives_away(name)) is not None
    ]
    if not roles.display:
        result.append(warning(
            "display", "no column of text that people could judge an item by",
            "add the columns people need to see, or name them: --display (pool.display in a spec)",
        ))
    return result


def calibration_finding(numbers: UsableRows, supplied: bool, times: float) -> Finding | None:
    """Whether the probabilities expect about as many positives as there are (or are predicted); times: rows
    of the source for each of those read."""
    expected = float(numbers.probability.sum()) * times
    has_labels = numbers.label is not None
    count = times * float(numbers.label.sum() if numbers.label is not None else numbers.prediction.sum())
    about = "about " if times > 1 else ""
    what = "probability" if supplied else "expit(score), which stands for the probability,"
    against = "found" if has_labels else "predicted"
    positives = about + wording.plural(round(expected), "positive")
    if count > 0 and 1 / _OFF <= expected / count <= _OFF:
        return ok("probability", f"{what} expects {positives}, {about}{count:,.0f} {against}")
    return warning(
        "probability", f"{what} expects {positives} where {about}{count:,.0f} {against}",
        "methods that trust the probabilities (static-is, sawade, bernoulli, optimal-is) would choose poor "
        "items: use auto, recalibrated or dirichlet-tree, or calibrate the probabilities",
    )


def direction_finding(numbers: UsableRows) -> Finding | None:
    """A warning where the items predicted positive have the lower scores."""
    positive = numbers.prediction == 1
    if positive.all() or not positive.any():
        return None
    high, low = float(numbers.score[positive].mean()), float(numbers.score[~positive].mean())
    if high >= low:
        return None
    name = numbers.classes.predicted[0]
    return warning(
        "score", f"items predicted {name!r} have the lower scores: it may be the score of the other class",
        "turn it round (1 - p, or -score), or name the other class with --positive (labels.positive)",
    )


def alike_finding(numbers: UsableRows, roles: Roles) -> Finding | None:
    """A problem where the threshold that was guessed predicts one class only; a warning where it was told.
    None where a column of predictions decides, or both classes are predicted."""
    kinds = set(numbers.prediction.tolist())
    if roles.prediction is not None or len(kinds) > 1:
        return None
    which = "positive" if 1 in kinds else "negative"
    scale, what = (numbers.score, "scores") if roles.score else (numbers.probability, "probabilities")
    return (problem if roles.threshold is None else warning)(
        "threshold",
        f"every item is predicted {which}: {what} lie between {scale.min():g} and {scale.max():g}, and the "
        f"threshold is {numbers.threshold:g}",
        "say from where on an item is predicted positive: --threshold NUMBER for a file, pool.threshold in a "
        "spec",
    )


def ties_finding(scores: ScoreSummary, items: int) -> Finding | None:
    """A warning where scores tell too few items apart: there are fewer than 20 distinct ones, or more than
    half of the items share one. None elsewhere."""
    if scores.distinct >= _COARSE and scores.largest_tie <= items / 2:
        return None
    return warning(
        "score",
        f"{wording.plural(scores.distinct, 'distinct value')}; the commonest is shared by "
        f"{scores.largest_tie:,} of {wording.plural(items, 'item')}",
        "items with the same score cannot be told apart: a finer score saves labels",
    )


def _asked(question: OpenChoice) -> Finding:
    if question.decides:
        or_else = " or ".join(f"{question.option} {shlex.quote(name)}" for name in question.choices)
        listed = ", ".join(map(repr, question.choices))
        remedy = f"; or {question.otherwise}" if question.otherwise else ""
        return problem(question.option, f"{question.asks} It could be {listed}", f"say it: {or_else}{remedy}")
    return warning(question.option, f"{question.asks} Taken: {question.taken!r}",
                   f"say it with {question.option}, if it is another one")


def _rows(scan: Scan) -> Finding:
    if scan.rows == 0:
        return problem("rows", "there are none", "an empty pool cannot be evaluated")
    return ok("rows", f"{scan.total:,}" if scan.complete else f"{scan.rows:,} looked at")


def _ids(scan: Scan, roles: Roles) -> list[Finding]:
    if roles.id is None:
        return [problem("id", "no column names each item, and a row's number does so in a single file only",
                        "name it with --id, or add a column with an id for every row")]
    if roles.numbered:
        return [ok("id", "no column names each item, so the number of its row does, from 1; keep the rows in "
                         "their order, or name a column with --id")]
    result = []
    if scan.missing_ids.count:
        result.append(_defect(scan, roles.id, "no id", scan.missing_ids, "number the rows, or drop these"))
    if scan.duplicates:
        result.append(problem(roles.id, f"ids that occur more than once: {'; '.join(scan.duplicates)}",
                              "drop the repeats, or name another column as the id"))
    once = "names each item, once" if scan.complete else "no id twice in the rows looked at"
    return result or [ok(roles.id, once)]


def _scored(scan: Scan, roles: Roles) -> list[Finding]:
    unsure = roles.score is None and roles.probability is None
    if roles.outcome == "two classes" and unsure and roles.prediction is None:
        numbers = ", ".join(f"--score {shlex.quote(name)}" for name in roles.numbers[:3])
        return [problem(
            "columns", "none is called a prediction, a score or a label",
            "name them: --prediction, --score or --probability, --label"
            + (f"; columns of numbers that could be the score: {numbers}" if numbers else ""),
        )]
    result = []
    if roles.outcome in ("classes", "two classes") and unsure and not roles.per_class:
        hint = "a score or a probability" if roles.outcome == "two classes" else \
            "a confidence, or a probability for each class,"
        result.append(warning(
            "probability", "no column says how sure a prediction is",
            f"it works without; {hint} saves labels",
        ))
    if roles.per_class and roles.of_classes is None and roles.label is not None:
        result.append(warning(
            "probability", f"{', '.join(roles.per_class)} could be probabilities of classes, and neither "
            "their names nor the predictions say which is whose: they may be left out",
            "name them after the classes, as p_spam and p_ham",
        ))
    elif roles.of_classes is not None and not roles.of_classes.by_name:
        pairs = ", ".join(f"{column} of {name!r}" for name, column in roles.of_classes.columns.items())
        result.append(warning(
            "probability", f"taken by where they are high: {pairs}", "name them after the classes, as p_spam"
        ))
    for name, defect in scan.bad_numbers.items():
        if defect.count:
            result.append(_defect(scan, name, "missing, NaN, infinite or not a number", defect,
                                  "give these rows a number, or drop them from the pool"))
        else:
            result.append(ok(name, scan.which("a finite number in every row")))
    if scan.outside.count:
        result.append(_defect(scan, str(roles.probability), "not within [0, 1]", scan.outside,
                              "a probability is; if it is a score, or in percent, name it with --score"))
    return result


def _decided(scan: Scan, roles: Roles) -> list[Finding]:
    name = roles.prediction
    if name is None:
        if roles.outcome != "two classes":
            measured = "the mean, or the share of each class,"
            measured = "how far the probabilities are off" if roles.per_class else measured
            return [ok("prediction", f"there is none: {measured} can be measured (else --prediction)")]
        return _cut(scan, roles)
    result = []
    if scan.missing_predictions.count:
        result.append(_defect(scan, name, "no prediction", scan.missing_predictions,
                              "give these rows one, or drop them from the pool"))
    if roles.outcome == "number":
        return result
    if roles.outcome == "tags":
        empty = scan.predictions.get("", 0), scan.labels.get("", 0)
        none = f"; an empty text is no tag: {empty[0]:,} predictions, {empty[1]:,} labels" * any(empty)
        return [*result, ok(name, f"holds lists, or names joined by bars, which are taken for tags{none}")]
    kinds = len(scan.predictions)
    listed = ", ".join(repr(value) for value, _ in scan.predictions.most_common(5))
    if kinds > 2 and 2 * kinds > scan.rows:
        return [*result, problem(
            name, f"holds {kinds:,} different values ({listed}, ...) in {scan.rows:,} {scan.which('rows')}",
            "classes occur again and again; name the column of predictions with --prediction",
        )]
    if max(kinds, len(scan.labels)) <= 2 and roles.outcome in ("two classes", "classes"):
        return [*result, _two_ways(name, scan, roles)]
    return [*result, ok(name, f"holds {kinds} classes ({listed}{', ...' if kinds > 5 else ''})")]


def _cut(scan: Scan, roles: Roles) -> list[Finding]:
    scale = roles.score or roles.probability
    if scale is None:
        return []
    threshold = threshold_of(scan, roles)
    says = (f"no column holds it: items with {scale} above {threshold:g}{or_at_it(roles)} are predicted "
            "positive")
    if roles.threshold is not None:
        return [ok("prediction", says)]
    positive, negative = class_names(scan, roles).labelled
    if class_in_name(scale, (positive, negative)) == negative:
        return [problem(
            scale, f"by its name it is of {negative!r}, and the positive class is {positive!r}: items above "
            f"{threshold:g} would be predicted {positive!r}",
            f"turn it round (1 - p), or ask about the other class: --positive {shlex.quote(negative)}; "
            "--threshold NUMBER takes it as it is",
        )]
    percent = ", since it looks like a percentage" if threshold == 50 else ""
    return [warning("prediction", says + percent, "if the system decides elsewhere: --threshold NUMBER, or "
                                                  "pool.threshold in a spec")]


def _two_ways(name: str, scan: Scan, roles: Roles) -> Finding:
    try:
        classes = class_names(scan, roles)
    except BadInput as error:
        return problem(name, str(error), "name another column with --label or --prediction")
    positive, negative = classes.predicted
    if classes.misread is not None:
        return problem(
            name, f"{positive!r} goes with {classes.labelled[0]!r} of {roles.label!r}, and "
            f"{classes.misread!r} would be read as {classes.words[1]!r}",
            "write both columns in the same words, or ask about the other class: --positive "
            f"{shlex.quote(classes.labelled[1])}",
        )
    n = scan.predictions.get(positive, 0)
    if n in (0, scan.rows):
        which = "positive" if n else "negative"
        every = scan.which("every item")
        return warning(name, f"{every} is predicted {which} ({(positive if n else negative)!r})",
                       "is the threshold where it should be? Some measures do not exist then, others are "
                       "known without a label")
    share = f"{scan.about(n)} of {scan.about(scan.rows)}"
    return ok(name, f"{share} are predicted {positive!r}, the positive class")


def _labels(scan: Scan, roles: Roles, name: str) -> Finding:
    if roles.outcome == "tags":
        every = scan.which("row")
        return ok(name, f"every {every} has a list of tags: `assay replay` can try methods on it")
    if roles.outcome == "number" and scan.bad_labels.count:
        return _defect(scan, name, "no number", scan.bad_labels, "write a number, or leave it empty")
    if roles.outcome == "number" and not scan.missing_labels:
        return ok(name, "numbers, taken as the true values")
    grades = sorted(scan.labels) if roles.outcome == "grades" else []
    words = [text for text in grades if not _is_number(text)]
    if words:
        return problem(name, f"holds grades, and {', '.join(map(repr, words[:3]))}, which is no number",
                       "correct these rows, or leave their label empty")
    words = _beside_numbers(scan) if roles.outcome == "classes" else []
    if words:
        return problem(name, f"holds numbers, as predictions do, and {', '.join(map(repr, words[:3]))}",
                       "leave the label of these rows empty, if that is none; else write all as words")
    apart = bool(scan.predictions) and not set(scan.labels) & set(scan.predictions)
    if roles.outcome != "two classes" and apart:
        examples = ", ".join(repr(label) for label in sorted(scan.labels)[:2])
        return problem(name, f"its values ({examples}) are none of the predicted classes",
                       "write labels and predictions the same way")
    if roles.outcome == "classes" and (len(scan.labels), len(scan.predictions)) == (2, 2) and set(
        scan.labels
    ) != set(scan.predictions):       # -1 and 1 beside 0 and 1 are no three classes
        two_of_each = [" and ".join(map(repr, sorted(values))) for values in (scan.labels, scan.predictions)]
        return problem(name, f"holds {two_of_each[0]}, and predictions are {two_of_each[1]}",
                       "write labels and predictions the same way; three classes need a spec")
    count = scan.rows - scan.missing_labels
    commonest = Counter(scan.labels).most_common(_LISTED)
    listed = ", ".join(f"{n:,} {value!r}" for value, n in sorted(commonest))
    if len(scan.labels) > _LISTED:
        listed += ", ..."
    if scan.missing_labels:
        return warning(
            name,
            f"{count:,} of {scan.rows:,} {scan.which('rows')} are labelled{listed and f' ({listed})'}; "
            f"{_without_label(scan)}",
            "labels of items that were not drawn by Assay cannot be used",
        )
    every = f"every {scan.which('row')}"
    if (doubts := doubtful_classes(scan, roles)) is not None:
        return warning(name, f"{every} is labelled ({listed}); {doubts}", "leave the label of these rows "
                       "empty, if that is none; `assay replay` can try methods on the file")
    return ok(name, f"{every} is labelled ({listed}): `assay replay` can try methods on it")


def doubtful_classes(scan: Scan, roles: Roles) -> str | None:
    """The classes of labels that no row predicts, and those that are called as no value is, with their
    numbers of rows, in a sentence that says that they are taken for classes; None where there are none, or
    nothing predicts classes."""
    if roles.outcome != "classes" or not scan.predictions:
        return None
    unseen = [label for label in scan.labels if label not in scan.predictions and len(scan.labels) > 2]
    words = none_beside((), scan.labels).intersection(scan.labels, scan.predictions)
    doubts = (("never predicted, and taken for a class", unseen),
              ("a word for no value, and taken for a class since predictions have it too", sorted(words)))
    return "; ".join(f"{doubt}: " + ", ".join(
        f"{label!r} ({plural(scan.labels[label], 'row')})" for label in labels[:3]
    ) + ", ..." * (len(labels) > 3) for doubt, labels in doubts if labels) or None


def _beside_numbers(scan: Scan) -> list[str]:
    """The words of labels where every prediction is a number, and some labels are."""
    words = [text for text in scan.labels if not _is_number(text)]
    numbers = bool(scan.predictions) and all(map(_is_number, scan.predictions))
    return words if numbers and len(words) < len(scan.labels) else []


def _without_label(scan: Scan) -> str:
    """`260 have no label: 240 are empty, 20 hold 'n/a'`."""
    empty = scan.missing_labels - scan.no_label.total()
    counts = [f"{empty:,} are empty"] * bool(empty)
    counts += [f"{n:,} hold {word!r}" for word, n in scan.no_label.most_common()]
    return f"{scan.missing_labels:,} have no label: {', '.join(counts)}"


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _defect(scan: Scan, name: str, what: str, defect: Defect, remedy: str) -> Finding:
    suffix = f" and {defect.count - len(defect.first):,} more" if defect.count > len(defect.first) else ""
    rows = scan.which(wording.plural(defect.count, "row"))
    if not scan.complete:
        rows += f" ({scan.about(defect.count)} of all)"
    says = f"{what} in {rows}: {'; '.join(defect.first)}{suffix}"
    return problem(name, says, remedy)


def look_at_store(store: Store) -> Finding:
    """Whether the ledger can be written. A bucket is tried with a key that is removed again.

    What a spec names beside its pool, checked without changing it: store, desk, and systems to compare.

    Nothing is begun, no project or folder is made, and no label is needed.
    """
    if isinstance(store, LocalStore) and not store.root.exists():
        obstacle = in_the_way_of(store.root)
        if obstacle is None:
            return ok("store", f"{store.url} is not there yet and can be made")
        return problem("store", f"{store.url} cannot be made: {obstacle} is no folder we may write to",
                       "choose another folder, or get the right to write there")
    try:
        store.check()
    except AssayError as error:
        return problem("store", str(error), "the store is where everything is kept: put it right first")
    return ok("store", f"{store.url} can be written and listed")


def look_at_desk(spec: Spec) -> Finding:
    """A finding that the spec's desk can be used, or a problem that says why not. The desk is left as it is,
    and a store in memory stands in for the ledger's."""
    try:
        return ok("desk", spec.desk.look(spec.labelling, Resources(store=MemoryStore())))
    except AssayError as error:
        return problem("desk", str(error), "put it right, or choose another kind of desk")


def with_differing(before: Sequence[int], rows: pa.RecordBatch) -> list[int]:
    """By system, the rows that it predicts otherwise than the first, with these checked rows. One count a
    system, added to those before."""
    if not before:
        return []
    codes = codes_by_system(rows, len(before))
    new = (codes != codes[:, :1]).sum(axis=0).tolist()
    return [old + count for old, count in zip(before, new, strict=True)]


def of_systems(spec: Spec, differing: Sequence[int], rows: int, total: int) -> Iterator[Finding]:
    """What the predictions alone say of every comparison; nothing where none is asked for.

    differing: of the rows that were read; total: rows of the source.
    """
    all_read = rows == total
    baseline, *systems = list(spec.pool.compared) or [""]
    for name, differences in zip(systems, differing[1:], strict=True):
        about = f"pool.systems.{name}"
        count = round(differences * total / rows) if rows else differences
        on = plural(count, "item") if all_read else f"about {plural(count, 'item')}"
        looked_at = "" if all_read else " looked at"
        if not count:
            yield warning(about, f"predicts the same as {baseline!r} for every item{looked_at}",
                          "there is nothing to compare; correct the columns, or leave it out")
        elif count <= spec.budget.labels:
            yield ok(about, f"differs from {baseline!r} on {on}, no more than the budget: "
                            "the difference can be known exactly")
        else:
            share = wording.percent(round(differences / rows, 4))
            yield ok(about, f"differs from {baseline!r} on {on} ({share} of the pool), "
                            "where most labels go")
