"""Where an evaluation begins in Python: with a frame and columns, a file of predictions, or a spec."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack

from assay.evalcore.errors import BadInput, MissingExtra
from assay.face.arguments import USUAL_QUESTION, QuestionArguments, usual_values
from assay.face.evaluation import Evaluation
from assay.face.frames import FrameSource, as_source, with_columns
from assay.face.question import COLUMNS, check_frame_columns, functions_in, in_python, spec_of
from assay.flows.evaluation.begin import NameTaken
from assay.flows.evaluation.begin import begin_evaluation as begin_spec
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.settings import Settings
from assay.tasks.spec.evaluation import Spec, asked_spec, load_spec


@usual_values(USUAL_QUESTION)
def begin(data: object = None, **arguments: Unpack[QuestionArguments]) -> Evaluation:
    """Begin an evaluation, or find it begun with the same question. Nobody is asked yet.

    A *column* is its name, or the values themselves: an array, a Series or a list with one for each row.
    Items are named by the frame's own index (pandas), by the column under `id`, by a column `item_id`, or by
    the number of the row; `ask` gives these names back in their own type.

    Args:
        data: a frame (pandas, polars, pyarrow), or a list of rows as dictionaries; the path or address of a
            file with predictions; the path of a spec (.yaml), or a spec as a mapping; or nothing, where the
            columns are given themselves.
        outcome: what a label is. Two names: the positive and the negative class. More names: classes of equal
            standing. Numbers: grades, from the lowest. `"number"`: any number. Anything else as under
            `labels` in a spec, such as `{"tags": ["war", "arts"]}` or `{"number": {"min": 0}}`.
        measures: one or several: `"f1", "recall(cat)", "fbeta(2)"`, or `{"name": "fbeta", "beta": 2}`. The
            first drives what is asked.
        prediction: column of predictions.
        score: column of numbers, the higher the more likely positive.
        probability: column of probabilities of the positive class, or of the confidence in the prediction; of
            several classes `{"prefix": "p_"}` or `{class: column}`.
        threshold: the score, or probability, from which on an item is predicted positive; instead of
            `prediction`.
        judge: columns that guess the label, but of two classes; with gaps where they say nothing. Or
            functions of a row, called once for each; what they say is kept in the store.
        earlier: columns of results of earlier systems on the same items, as judges.
        covariates: columns of numbers that say more of the items, but of one class.
        spread: column of positive numbers: how uncertain each predicted number is.
        cluster: column that names what items come together in.
        weight: column of numbers, 0 or more: what each item counts for, such as its share of the traffic.
            Measures are then of the weighted pool.
        strata: column that names the stratum of the population that each item was drawn from.
        rank: column of 1, 2, 3 and so on: where a document stands in its query, which `cluster` names.
        systems: the systems to compare: `{name: column of predictions}`, or
            `{name: {"score": column, "threshold": 0.5}}`.
        baseline: the system that others are compared with; the first unless said.
        pairs: `"all"`: every two systems are compared.
        margin: how much worse than another a system may be and be shipped; with a `price` of each system the
            cheapest is named (`ranks.ship` of the result).
        contenders: rows that are one system's answer, or compare two:
            `{"columns": ["model"], "names": ["a", "b", "c"]}`.
        thresholds: of the score, a system each.
        features: columns of numbers, for methods that cut by features.
        id: column that names the items.
        show: columns that are shown to whoever answers; no other leaves the frame.
        show_as: how one is shown: `{"picture": "image"}`.
        segments: columns that split the pool; measures are estimated in each part too.
        target: the half-width of the interval at which it stops, or `{"variance": 0.0004}`, or until the best
            of several systems is known: `{"best_of": 0.01}`, none other being better by more; 0.05, or none
            where the budget is too small for any.
        confidence: of the intervals.
        budget: the most labels it may buy, or `{"labels": 500, "audit": 50}`; 500, or every row of a smaller
            frame. Or money, split between labels and a judge that is a function where that narrows the
            interval most: `{"money": 500, "price": {"label": 2.0, "judge": 0.02}}`; a pilot of 50 rows is
            asked about first.
        limit: what the first measure must keep, for the verdict: `{"min": 0.8}`, `{"max": 0.1}` or both.
        method: how items are chosen.
        interval: `"guaranteed"`, of even or stratified draws: one that holds for any pool, at every look.
        about: `"population"`: intervals and target are about what the pool is a sample of; else `"pool"`.
        drive: the measures that the choice of items serves.
        batch_size: items in a round.
        seed: with the name, fixes every random choice.
        name: of the evaluation in its store; made of the question and the rows unless given.
        store: where its record is kept; in memory, and gone afterwards, unless named.
        question: what people are asked about every item; as in a spec, and so are the others below.
        guidelines: what people who label are told.
        desk: where people label; the caller unless said.
        adjudication: how labels are made of several answers.
        warm_start: labels of an earlier evaluation.
        labels_so_far: labels of a sample that is there already, as the first round:
            `{"label": "human", "drawn": "random"}`, or its column of chances as `weight`.
        outcomes: labels that come by themselves.
        deadline: how long a round waits.
        skipped: what becomes of items that everybody skipped.
        judges: how judges are looked at in the report: `{"features": ["length(text)", "format"]}`, an audit.
        alerts: who is told of a breach.
        freeze_runner: who freezes a large pool.

    Raises:
        BadInput: naming the argument, or the column and the rows, that are wrong.
        NameTaken: if the store has another evaluation of this name.

    Example:
        >>> import assay, pyarrow
        >>> texts = ["Win!", "Cheap!", "Lunch?", "Minutes"]
        >>> mails = pyarrow.table({"score": [0.9, 0.8, 0.3, 0.2], "text": texts})
        >>> evaluation = assay.begin(mails, outcome=["spam", "ham"], score="score", threshold=0.5,
        ...                          measures=["f1"], show="text")
        >>> len(evaluation.ask())
        4
        >>> evaluation.tell({0: "spam", 1: "spam", 2: "ham", 3: "ham"}).value
        1.0
    """
    values: Mapping[str, object] = arguments
    store = arguments["store"]
    if functions_in(arguments["judge"]):
        from assay.face.paid_judges import begin_judged

        return begin_judged({"data": data, **arguments}, begin)
    written = _spec(data)
    if written is not None:
        _refuse_beside_a_spec(values)
        spec_store = open_store(store or written.store or Settings().store)
        return Evaluation(spec_store, begin_spec(spec_store, written).name)
    data, columns = with_columns(data, {name: values[name] for name in COLUMNS})
    source = as_source(data, columns["id"], keep=store is not None)
    check_frame_columns(source, columns)
    spec = spec_of(source, {**values, **columns})
    place: Store = MemoryStore() if store is None else open_store(store)
    with _of_frame(source):
        return Evaluation(place, begin_spec(place, spec).name, source)


@contextmanager
def _of_frame(source: FrameSource) -> Iterator[None]:
    """What is wrong with a frame is said of the frame, not of the file that was made of it."""
    try:
        yield
    except (NameTaken, MissingExtra):
        raise
    except BadInput as error:
        text = in_python(str(error))
        raise BadInput(text if source.table is None else text.replace(source.path, "the frame")) from None


def _spec(data: object) -> Spec | None:
    """The spec that `data` is, or None if it is predictions."""
    if isinstance(data, Mapping) and "pool" in data:
        return asked_spec(data, "the spec")
    if isinstance(data, str | Path) and Path(data).suffix in (".yaml", ".yml"):
        return load_spec(Path(data))
    return None


def _refuse_beside_a_spec(arguments: Mapping[str, object]) -> None:
    """Raise BadInput for an argument that would change nothing: a spec says everything but the store."""
    for name, value in arguments.items():
        if name != "store" and value is not USUAL_QUESTION.get(name):
            raise BadInput(f"{name}: is given beside a spec, which says all; leave it out")
