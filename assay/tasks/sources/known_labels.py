"""Files of known labels: rows with an id, a label and what else is asked for, or an export of Label Studio.

How labels may be spelled is the caller's to say (`AnswerKind.spelled`). A missing label is null: nobody
knows. So is an empty text, unless it means something: no tag; and so are n/a, NaN and the like, unless one is
a label.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NotRequired, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.annotators.adjudication import plurality
from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.errors import BadInput
from assay.tasks.arrow import texts_of
from assay.tasks.sources.files.file import unreadable
from assay.tasks.sources.reader import file_at, open_source
from assay.tasks.sources.values import as_text, without_value

_CLASSES_LISTED = 20   # classes, in a message


def labelled_rows(
    path: str, id_column: str, label_column: str, answers: AnswerKind, *, key: str, extra: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The file's rows as (id, label in its fixed spelling or null, `extra` columns), all text.

    answers     what a label may be
    key         of the spec, named in errors

    Raises BadInput naming the file, the column and the first value that is no label.
    """
    source = open_source(path)
    columns = list(dict.fromkeys([id_column, label_column, *extra]))
    for batch in source.batches(columns):
        text = {name: as_text(batch.columns.column(i)) for i, name in enumerate(columns)}
        labels = _with_meant_blanks(text[label_column], answers.empty)
        encoded = labels.dictionary_encode()
        means = [answers.spelled(written) for written in encoded.dictionary.to_pylist()]
        spellings = texts_of(means).take(encoded.indices)
        strange = pc.and_(pc.is_null(spellings), pc.invert(without_value(labels)))
        if pc.any(strange).as_py():
            row = pc.index(strange, True).as_py()
            raise BadInput(
                f"{key}: {source.files[batch.file].path}: column {label_column!r}, row "
                f"{batch.first_row + row + 1}: {labels[row].as_py()!r} is {no_answer(answers)}; correct the "
                "file or `labels`"
            )
        arrays = [text[id_column], spellings, *(text[name] for name in extra)]
        yield pa.RecordBatch.from_arrays(arrays, names=["id", "label", *(f"shown_{name}" for name in extra)])


def rows_of_questions(
    path: str, id_column: str, answers: QuestionAnswers, *, key: str
) -> Iterator[pa.RecordBatch]:
    """The file's rows as (id, answers in their fixed spelling or null), all text; the answers to each
    question are in a column of its name.

    Raises BadInput as `labelled_rows`.
    """
    source, names = open_source(path), list(answers.questions)
    for batch in source.batches(list(dict.fromkeys([id_column, *names]))):
        columns = dict(zip(dict.fromkeys([id_column, *names]), batch.columns.columns, strict=True))
        text = {name: as_text(column) for name, column in columns.items()}
        filled = {name: pc.invert(without_value(text[name])).to_pylist() for name in names}
        cells = {name: text[name].to_pylist() for name in names}
        labels: list[str | None] = []
        for row in range(batch.columns.num_rows):
            replies = {
                name: cells[name][row] for name in names
                if filled[name][row] or (cells[name][row] == "" and answers.questions[name].empty is not None)
            }
            for name, written in replies.items():
                if answers.joint_answer({name: written}, spelled=True) is None:
                    raise BadInput(
                        f"{key}: {source.files[batch.file].path}: column {name!r}, row "
                        f"{batch.first_row + row + 1}: {written!r} is {no_answer(answers.questions[name])}; "
                        "correct the file or `labels`"
                    )
            labels.append(answers.joint_answer(replies, spelled=True) if replies else None)
        yield pa.RecordBatch.from_arrays([text[id_column], texts_of(labels)], names=["id", "label"])


def _with_meant_blanks(labels: pa.StringArray, empty: str | None) -> pa.StringArray:
    """With `empty` for labels of white space alone; most files have none."""
    encoded = labels.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    if all(text.strip() for text in texts):
        return labels
    return texts_of([text if text.strip() else empty for text in texts]).take(encoded.indices)


def no_answer(answers: AnswerKind) -> str:
    """What is said of a text that is no answer: none of the classes (...), not a number from 0 to 10."""
    names = [*answers.choices[:_CLASSES_LISTED], *(["..."] if len(answers.choices) > _CLASSES_LISTED else [])]
    listed = ", ".join(names)
    if answers.several:
        return f"no set of tags, joined by bars, out of {listed}"
    return f"none of the classes ({listed})" if names else f"not {answers.wanted}"


MOST_EXPORT_BYTES = 1 << 30   # of an export: all of it is held in memory
_EXPORT_BUFFER_BYTES = 1 << 20   # read at once
_HOW = "export the project as JSON (not JSON-MIN or CSV; a CSV file goes under `source`)"


def exported_labels(path: str, field: str, answers: AnswerKind, *, key: str) -> dict[str, str]:
    """Item -> label in its fixed spelling, of every item that has one.

    field     of a task's data, which names the item
    answers   what a label may be
    key       of the spec, named in errors

    Raises BadInput naming the file, the task and what is wrong.

    Labels in an export of Label Studio, in its format JSON: tasks with the annotations of several people.

        [{"id": 1, "data": {"item_id": "a17", "text": "..."},
          "annotations": [{"completed_by": 3, "was_cancelled": false, "updated_at": "...",
                           "result": [{"type": "choices", "value": {"choices": ["spam"]}}]}]}]

    Of each person the annotation that was updated last counts; skipped ones and those without a choice do
    not. An item has the label that most people gave it, and none where the most are tied.
    """
    votes: dict[str, dict[str, int]] = {}
    for number, task in enumerate(_tasks(path, key), start=1):
        place = f"{key}: {path}: task {task.get('id', number)}"
        data = task.get("data")
        if not isinstance(data, Mapping) or data.get(field) is None:
            fields = ", ".join(sorted(data)) if isinstance(data, Mapping) else "no data"
            raise BadInput(
                f"{place}: has no {field!r}, only {fields}; name the field that holds the item's id as "
                "warm_start.id"
            )
        counts = votes.setdefault(str(data[field]), {})
        for written in _answers(task, place):
            label = answers.spelled(written)
            if label is None:
                raise BadInput(f"{place}: {written!r} is {no_answer(answers)}; correct the file or `labels`")
            counts[label] = counts.get(label, 0) + 1
    labels = {item_id: plurality(counts) for item_id, counts in votes.items() if counts}
    return {item_id: label for item_id, label in labels.items() if label is not None}


class _Annotation(TypedDict, total=False):
    updated_at: str | None
    completed_by: int | dict[str, int] | None     # a person, or the number of one
    was_cancelled: bool
    result: Sequence[Mapping[str, Mapping[str, Sequence[str]] | None]] | None


class _Task(TypedDict):
    id: NotRequired[int]
    data: NotRequired[Mapping[str, object]]
    annotations: Sequence[_Annotation] | None


def _tasks(path: str, key: str) -> list[_Task]:
    file = file_at(path)
    if file.size > MOST_EXPORT_BYTES:
        raise BadInput(f"{key}: {path}: is larger than {MOST_EXPORT_BYTES >> 30} GB; export in parts")
    try:
        with file.open(_EXPORT_BUFFER_BYTES) as opened:
            tasks = json.loads(opened.read())
    except (ValueError, RecursionError, OSError) as error:
        raise unreadable(path, f"it is not JSON ({error})") from None
    if not (isinstance(tasks, list) and all(isinstance(t, dict) and "annotations" in t for t in tasks)):
        raise BadInput(f"{key}: {path}: is not a list of tasks with annotations; {_HOW}")
    return tasks


def _answers(task: _Task, place: str) -> Iterator[str]:
    """What each person chose last, in Label Studio's words."""
    by_person: dict[int | str | None, _Annotation] = {}
    annotations = [annotation for annotation in task["annotations"] or () if isinstance(annotation, dict)]
    for annotation in sorted(annotations, key=lambda annotation: str(annotation.get("updated_at") or "")):
        person = annotation.get("completed_by")
        by_person[person.get("id") if isinstance(person, dict) else person] = annotation
    for newest in by_person.values():
        if newest.get("was_cancelled"):
            continue
        chosen = {
            choice for part in newest.get("result") or () if isinstance(part, dict)
            for choice in (part.get("value") or {}).get("choices") or ()
        }
        if len(chosen) > 1:
            listed = ", ".join(sorted(map(str, chosen)))
            raise BadInput(f"{place}: one annotation has several choices ({listed}); keep one of them")
        yield from map(str, chosen)
