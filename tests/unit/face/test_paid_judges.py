"""Judges that are functions: each row is judged once, and money is split between them and people."""

import asyncio

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.evalcore.design.two_phase import Prices, split_of_money, variance_of_split
from assay.evalcore.errors import BadInput
from assay.evalcore.reproducible import stream
from assay.face.paid_judges import PILOT
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import open_store

N = 400
MONEY = {"money": 300, "price": {"label": 2.0, "judge": 0.1}}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, N).astype(float)
    return pa.table({
        "item_id": [f"r{i}" for i in range(N)], "truth": truth, "graded": truth + rng.normal(0, 0.3, N),
        "text": ["shown"] * N,
    })


class Grader:
    """A judge that counts its calls, and fails or is cut off at some of them."""

    __name__ = "grader"

    def __init__(self, fails=(), cut=None):
        self.calls, self._fails, self._cut = [], set(fails), cut

    def __call__(self, row):
        self.calls.append(row["item_id"])
        if len(self.calls) == self._cut:
            raise KeyboardInterrupt
        if len(self.calls) in self._fails:
            raise ConnectionError("away")
        return row["graded"]


def _asked(frame, judge, **changes):
    return assay.evaluate(frame, **{
        "oracle": "truth", "outcome": {"number": {"min": 1, "max": 5}}, "measures": "mean", "judge": judge,
        "show": "text", "budget": MONEY, "target": {}, "batch_size": 20, **changes,
    })


def test_every_row_is_judged_once_through_failures_and_a_cut_and_the_cost_is_told(frame, tmp_path):
    kept = {"store": str(tmp_path / "ledger"), "name": "paid"}
    with pytest.raises(KeyboardInterrupt):
        _asked(frame, Grader(cut=PILOT + 40), **kept)     # of the second part after the pilot
    second = Grader(fails=[2])
    result = _asked(frame, second, **kept)
    assert len(second.calls) == N - PILOT - 25 + 1        # those that are kept, and one call again
    assert result.labels == 130                           # (300 - 400 * 0.1)/2
    whole = _asked(frame, Grader(), store=str(tmp_path / "another"), name="paid")
    assert (whole.value, whole.lower, whole.upper) == (result.value, result.lower, result.upper)
    third = Grader()
    assert (_asked(frame, third, **kept).value, third.calls) == (result.value, [])
    store = open_store(kept["store"])
    assert verify(store, "paid").differences == ()
    evaluation = assay.load("paid", store=kept["store"])
    note = "Spent: 260.00 at 2 a label, 50 of the pilot among them, and 40.00 for the judge."
    assert evaluation.report_data().notes[0] == note
    assert report_data is not None


def test_a_judge_that_is_dear_is_asked_of_a_part_and_one_that_says_nothing_of_the_pilot(frame):
    dear = Grader()
    more = pa.concat_tables([frame.set_column(0, "item_id", pa.array([f"{k}-{i}" for i in range(N)]))
                             for k in range(4)])
    result = _asked(more, dear, budget={"money": 300, "price": {"label": 2.0, "judge": 0.8}})
    assert PILOT < len(dear.calls) < N
    assert result.estimates[0].about == "population"
    noise = Grader()
    rows = frame.set_column(2, "graded", pa.array(np.random.default_rng(1).normal(size=N)))
    _asked(rows, noise, budget={"money": 300, "price": {"label": 2.0, "judge": 0.8}})
    assert len(noise.calls) == PILOT


def test_without_money_every_row_is_judged(frame):
    grader = Grader()
    result = _asked(frame, grader, budget=40)
    by_column = _asked(frame, "graded", budget=40, name=None)
    assert len(grader.calls) == N
    assert result.value == pytest.approx(by_column.value, abs=0.2)


@pytest.mark.parametrize(("changes", "message"), [
    ({"budget": {"money": 300}}, "needs the price of a label and of a judgement"),
    ({"budget": {"money": 100, "price": {"label": 2.0, "judge": 0.1}}}, "does not pay for twice a pilot"),
    ({"store": "somewhere"}, "kept under the evaluation's name; give name="),
    ({"data": "rows.csv"}, "read the file first"),
    ({"outcome": [1, 0], "score": "graded", "threshold": 0.5, "measures": "f1"}, "`judge` guesses other la"),
    ({"measures": "mse"}, "mse"),
    ({"show": "txt"}, "no column 'txt'"),
    ({"budget": 40, "show": "txt"}, "no column 'txt'"),
])
def test_what_cannot_be_judged_is_refused_before_a_judge_is_called(frame, changes, message):
    data, grader = changes.pop("data", frame), Grader()
    with pytest.raises(BadInput, match=message):
        _asked(data, grader, **changes)
    assert grader.calls == []


@pytest.mark.parametrize("explained", [0.0, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("judge", [0.01, 0.2, 0.9])
def test_the_split_is_the_best_of_all(explained, judge):
    prices, items, money = Prices(label=1.0, judge=judge), 2_000, 200.0
    split = split_of_money(money, prices, explained, items)
    judged = np.arange(1, items + 1)
    labels = np.minimum(np.floor(money - judge * judged), judged)
    least = min(
        [variance_of_split(200, 0, explained, items)]
        + [variance_of_split(n, m, explained, items) for n, m in zip(labels, judged, strict=True) if n >= 1]
    )
    assert split.labels * prices.label + split.judged * prices.judge <= money
    assert split.variance <= least + 1 / items + 5e-4 * least + 1e-4    # whole numbers of items


def test_its_variance_is_that_of_double_sampling_with_regression():
    rng, items, explained = stream(1, "two phases"), 4_000, 0.6
    judge = rng.normal(size=items)
    truth = np.sqrt(explained) * judge + np.sqrt(1 - explained) * rng.normal(size=items)
    explained = float(np.corrcoef(judge, truth)[0, 1] ** 2)
    split = split_of_money(300, Prices(label=1.0, judge=0.1), explained, items)
    assert split.labels < split.judged < items
    values = []
    for _ in range(2_000):
        judged = rng.choice(items, split.judged, replace=False)
        labelled = judged[: split.labels]
        slope = np.cov(judge[labelled], truth[labelled])[0, 1] / judge[labelled].var(ddof=1)
        values.append(truth[labelled].mean() + slope * (judge[judged].mean() - judge[labelled].mean()))
    # the variance of 2,000 values is known to 3.2%; four such, and 1/n for the slope
    expected = split.variance * truth.var()
    assert np.var(values) == pytest.approx(expected, rel=0.13 + 1 / split.labels)


def test_two_judges_of_one_name_are_both_called_and_cost_twice_as_much(frame):
    rng, calls = np.random.default_rng(5), [0, 0]

    def judge(number):
        def said(row):
            calls[number] += 1
            return row["graded"] + rng.normal(0, 0.5)
        return said

    budget = {"money": 300, "price": {"label": 2.0, "judge": 0.05}}
    result = _asked(frame, [judge(0), judge(1)], budget=budget)
    assert calls[0] == calls[1] > PILOT
    assert 2.0 * result.labels + 0.05 * sum(calls) <= 300


def test_a_coroutine_that_fails_is_called_again(frame):
    attempts = []

    async def grader(row):
        attempts.append(row["item_id"])
        if len(attempts) == 30:
            raise ConnectionError("away")
        return row["graded"]

    assert _asked(frame, grader).labels > 0
    assert len(attempts) == len(set(attempts)) + 1


@pytest.mark.parametrize(("budget", "says"), [
    ({**MONEY, "labels": 60}, "labels has no meaning beside money"),
    ({**MONEY, "price": {"label": 2.0, "judge": 0.1, "x": 1}}, r"price\.x has no meaning"),
    ({**MONEY, "money": float("inf")}, "an amount of money needs the price"),
    ({**MONEY, "money": True}, "an amount of money needs the price"),
])
def test_amounts_that_are_none_are_refused(frame, budget, says):
    with pytest.raises(BadInput, match=says):
        _asked(frame, Grader(), budget=budget)


def test_a_judgement_without_end_is_refused(frame):
    with pytest.raises(BadInput, match="judge: said inf"):
        _asked(frame, lambda row: float("inf"))


@pytest.mark.parametrize("free", ["judge", "prediction"])
def test_a_judge_that_tells_nothing_beyond_what_is_free_is_not_bought(frame, free):
    echo = Grader()
    known = {"judge": [echo, "graded"]} if free == "judge" else {"prediction": "call", "measures": "mae"}
    frame = frame.append_column("call", pa.array(np.clip(np.array(frame["graded"]), 1, 5)))
    budget = {"money": 300, "price": {"label": 2.0, "judge": 0.2}}
    _asked(frame, known.pop("judge", echo), budget=budget, **known)
    assert len(echo.calls) == PILOT


def test_a_judge_that_tells_more_than_what_is_free_is_bought(frame):
    rough = frame.append_column("rough", pa.array(
        np.array(frame["truth"]) + np.random.default_rng(8).normal(0, 1.5, N)))
    grader = Grader()
    _asked(rough, [grader, "rough"], budget={"money": 300, "price": {"label": 2.0, "judge": 0.2}})
    assert len(grader.calls) > 2 * PILOT


@pytest.mark.parametrize("between", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("price", [0.01, 0.1])
def test_the_split_beside_what_is_free_is_the_least_of_simulated_variances(between, price):
    """Double sampling with two regressors, one of which costs nothing; labels alone have that one too."""
    rng, items, money = stream(2, f"free regressor {between} {price}"), 3_000, 200.0
    prices = Prices(label=1.0, judge=price)
    free, own, noise = rng.normal(size=(3, items))
    judge = np.sqrt(between) * free + np.sqrt(1 - between) * own
    truth = 0.6 * free + 0.6 * own + 0.4 * noise
    left_free, left = _residual_share(truth, free), _residual_share(truth, free, judge)
    split = split_of_money(money, prices, 1 - left, items, 1 - left_free)
    assert (split.judged == 0) == (between == 1.0)

    def simulated(judged, labels, runs=600):
        values = []
        for _ in range(runs):
            at = rng.choice(items, judged or items, replace=False)
            x = np.stack([np.ones(len(at)), free[at], *([judge[at]] if judged else [])], axis=1)
            slope = np.linalg.lstsq(x[:labels], truth[at[:labels]], rcond=None)[0]
            values.append(slope @ x.mean(axis=0))
        return np.var(values)

    chosen = simulated(split.judged, split.labels)
    # the variance of 600 values is known to 5.8%: four of these, and 2/n for the slopes
    assert chosen == pytest.approx(split.variance * truth.var(), rel=0.23 + 2 / split.labels)
    for judged in {0, split.judged // 3, min(3 * split.judged, items)} - {split.judged}:
        labels = int(money - prices.judge * judged)
        if labels >= 30 and (labels < judged or not judged):
            assert simulated(judged, labels) > chosen * (1 - 0.23)


def _residual_share(truth, *columns):
    x = np.stack([np.ones(len(truth)), *columns], axis=1)
    return (truth - x @ np.linalg.lstsq(x, truth, rcond=None)[0]).var() / truth.var()


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_money_in_the_hands_of_the_caller(frame, library, tmp_path):
    grader, rows = Grader(), frame
    if library == "pandas":
        rows = frame.to_pandas().drop(columns="item_id").set_index(np.arange(N) * 3 + 5)
        rows["item_id"] = rows.index
        rows = rows.rename(columns={"item_id": "number"})
    truth = dict(zip(rows.index.tolist(), rows["truth"], strict=True)) if library == "pandas" else \
        dict(zip(frame["item_id"].to_pylist(), frame["truth"].to_pylist(), strict=True))

    class Judge(Grader):
        def __call__(self, row):
            self.calls.append(row["graded"])
            return row["graded"]

    asked = {"outcome": {"number": {"min": 1, "max": 5}}, "measures": "mean", "show": "text",
             "budget": MONEY, "target": {}, "batch_size": 25, "name": "by-hand",
             "store": str(tmp_path / "ledger")}
    grader = Judge()
    evaluation = assay.begin(rows, judge=grader, **asked)
    assert len(grader.calls) == PILOT
    assert not evaluation.finished
    told = 0
    while True:
        batch = evaluation.ask()
        items = list(batch["item_id"]) if library == "pandas" else batch["item_id"].to_pylist()
        if not items:
            break
        told += len(items)
        result = evaluation.tell({item: truth[item] for item in items})
        if told == 75:      # in another process
            again = Judge()
            evaluation = assay.begin(rows, judge=again, **asked)
            assert again.calls == []
    assert (evaluation.finished, evaluation.name) == (True, "by-hand")
    assert (told, result.labels) == (130, 130)
    assert len(grader.calls) == N
    assert "50 of the pilot among them" in evaluation.report_data().notes[0]
    assert result.notes[-1] == evaluation.report_data().notes[0]
    whole = assay.evaluate(rows, judge=Judge(), oracle=truth, **{**asked, "store": str(tmp_path / "another")})
    assert (whole.value, whole.lower) == (result.value, result.lower)


def test_money_inside_an_event_loop(frame):
    loops, at_once = set(), [0, 0]

    async def asynchronous_grader(row):
        loops.add(id(asyncio.get_running_loop()))
        at_once[0] += 1
        at_once[1] = max(at_once)
        await asyncio.sleep(0.001)
        at_once[0] -= 1
        return row["graded"]

    async def whole():
        loops.add(id(asyncio.get_running_loop()))
        return await assay.aevaluate(
            frame, oracle=dict(zip(frame["item_id"].to_pylist(), frame["truth"].to_pylist(), strict=True)),
            outcome={"number": {"min": 1, "max": 5}}, measures="mean", judge=asynchronous_grader, show="text",
            budget=MONEY, target={}, batch_size=20, concurrency=7,
        )

    result = asyncio.run(whole())
    assert (result.labels, len(loops)) == (130, 1)
    assert at_once[1] == 7


def test_a_caller_who_gives_up_is_no_longer_judged_for(frame):
    calls = []

    async def slow(row):
        calls.append(row["item_id"])
        await asyncio.sleep(0.01)
        return row["graded"]

    async def given_up():
        task = asyncio.ensure_future(assay.aevaluate(
            frame, oracle="truth", outcome={"number": {"min": 1, "max": 5}}, measures="mean", judge=slow,
            show="text", budget=30, concurrency=1,
        ))
        while not calls:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(given_up())
    assert len(calls) <= 25 < N
