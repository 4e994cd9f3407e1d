"""One set of responses and verdicts, in every format and with every trait of files, gives the same pool."""

import codecs
import gzip
import json

import pyarrow.parquet as pq
import pytest
import yaml
from services.log_writers import WRITERS, Case

from assay.flows.connectors import bring_in
from assay.tasks.connectors.records import Notes
from assay.tasks.connectors.registry import recognised
from assay.tasks.connectors.responses.gathering import Spool, gathered

NAN = float("nan")
# what a grader said -> what the column says, the labels, and the first measure
VERDICTS = {
    "truths": ([True, False, True, True, False, True], ["correct", "incorrect"], "correct"),
    "ones": ([1, 0, 1, 1.0, 0.0, 1], ["correct", "incorrect"], "correct"),
    "words": (["yes", "no", "Yes", "PASS", "fail", "TRUE"], ["correct", "incorrect"], "correct"),
    "letters": (["C", "I", "C", "C", "N", "C"], ["correct", "incorrect"], "correct"),
    "names": (["bad", "good", "Good", "good", "bad", "good"], ["bad", "good"], "good"),
    "grades": ([1, 5, 3, 4, 2, 5], [1, 2, 3, 4, 5], None),
    "grades with a refusal": ([1, 5, "N/A", 4, 2, 5], [1, 2, 3, 4, 5], None),
    "grades with an apology": ([1, 5, "I cannot say", 4, 2, 5], [1, 2, 3, 4, 5], None),
    "grades in words": (["Score: 7/10", "[[3]]", "8/10", "10/10", "1/10", "5"], list(range(1, 11)), None),
    "truths with a gap": ([1, 0, NAN, 1, 0, 1], ["correct", "incorrect"], "correct"),
    "other languages": (["sí", "no", "Oui", "ja", "nein", "是"], ["correct", "incorrect"], "correct"),
    "T and F": (["T", "F", "t", "T", "f", "T"], ["correct", "incorrect"], "correct"),
    "thumbs": (["👍", "👎", "👍🏽", "👍", "👎🏿", "✔️"], ["correct", "incorrect"], "correct"),
    "one name, spelled twice": (
        ["thumbs up", "thumbs_down", "Thumbs-up", "thumbs up", "thumbs down", "thumbs up"],
        ["thumbs down", "thumbs up"], "thumbs up"),
    "thoughts, fences and digits": (["<think>3? 4?</think>\n4", "```json\n5\n```", "３", "٤", "2", "1"],
                                    [1, 2, 3, 4, 5], None),
    "shares": ([0.5, 0.25, 1, 0, "C", 0.75], {"min": 0, "max": 1}, None),
}


def cases(verdicts):
    return [Case(n, f"What is {n} + ö?", f"It is {n} + ö, I think", v) for n, v in enumerate(verdicts)]


def brought(folder, files, *more):
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    found = bring_in([folder, *more], folder.with_suffix(".parquet"))
    spec = yaml.safe_load(found.spec)
    rows = pq.read_table(folder.with_suffix(".parquet")).to_pylist()
    assert spec["pool"]["prediction"] == "judge"
    assert len({row["item_id"] for row in rows}) == len(rows)
    return {row["question"]: (row["response"], row["judge"]) for row in rows}, spec, found


def together(folder, files):
    """All that the files hold, by question what people see and the verdict, and the scale."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    notes = Notes()
    importer, places = recognised([folder], None, notes)
    with Spool() as spool:
        gathering = gathered(importer.files(places, notes), spool, notes)
        [(name, verdicts)] = gathering.judges.items()
        texts = [spool.at(item.place) for item in gathering.items]
    written = [verdicts.written.get(item.judged[name]) for item in gathering.items]
    assert len(texts) == len({text["question"] for text in texts})
    return {text["question"]: (text["response"], v) for text, v in zip(texts, written, strict=True)}, verdicts


@pytest.mark.parametrize("said", VERDICTS)
def test_the_same_verdicts_mean_the_same_in_every_format(tmp_path, said):
    values, labels, good = VERDICTS[said]
    pools = {}
    for writer in WRITERS:
        pools[writer.__name__], verdicts = together(tmp_path / writer.__name__, writer(cases(values)))
        assert [*verdicts.scale.labels.values()] == [labels], writer.__name__
        measure = verdicts.scale.measures[0]
        assert measure == ("mean" if good is None else {"name": "rate", "class": good}), writer.__name__
        gaps = [v for v in values if v in ("N/A", "I cannot say") or v != v]
        assert sum(verdicts.gaps.values()) == len(gaps), writer.__name__
    first = pools.pop("inspect_json")
    assert len(first) == len(values)
    assert {name: pool for name, pool in pools.items() if pool != first} == {}


def recoded(encoding, mark=b""):
    return lambda text: mark + text.decode().encode(encoding)


def reversed_keys(text):
    try:
        whole = json.loads(text)
    except ValueError:
        lines = text.splitlines() if text.startswith(b"{\"") else []
        return b"\n".join(map(reversed_keys, lines)) or text
    return json.dumps(turned(whole)).encode()


def turned(value):
    if isinstance(value, dict):
        return {key: turned(inner) for key, inner in reversed(value.items())}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


TRAITS = {
    "gzip": gzip.compress,
    "mark of UTF-8": recoded("utf-8", codecs.BOM_UTF8),
    "UTF-16": recoded("utf-16"),
    "UTF-16, compressed": lambda text: gzip.compress(text.decode().encode("utf-16")),
    "other order of keys": reversed_keys,
    "line breaks of Windows": lambda text: text.replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("trait", TRAITS)
def test_how_a_file_is_written_changes_nothing(tmp_path, trait):
    six = cases([1, 5, 3, 4, 2, 5])
    for writer in WRITERS:
        if writer.__name__ == "inspect_archive":
            continue
        files = {name: TRAITS[trait](data) for name, data in writer(six).items()}
        pool, _ = together(tmp_path / writer.__name__, files)
        assert pool == {case.question: (case.response, case.verdict) for case in six}, writer.__name__


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_is_there_twice_counts_once_and_parts_are_a_whole(tmp_path, writer):
    six = cases([1, 5, 3, 4, 2, 5])
    whole = writer(six)
    pool, _, found = brought(tmp_path / "twice", {**whole, **{f"copy-{n}": d for n, d in whole.items()}} if
                             writer.__name__ != "lm_eval" else whole)
    assert found.written.rows == len(pool) == 6
    if writer.__name__ != "lm_eval":
        assert any("(6 times)" in note for note in found.notes)
    parts = tmp_path / "parts"
    parts.mkdir()
    for number, part in enumerate((six[:4], six[4:])):
        (parts / f"{number}").mkdir()
        for name, data in writer(part).items():
            (parts / f"{number}" / name).write_bytes(data)
    bring_in([parts], tmp_path / "parts.parquet")
    rows = pq.read_table(tmp_path / "parts.parquet").to_pylist()
    assert {row["question"]: row["response"] for row in rows} == {c.question: c.response for c in six}
    assert len({row["item_id"] for row in rows}) == len(rows) == 6


def test_a_response_that_a_model_gave_again_is_a_row_of_its_own(tmp_path):
    six = cases([1, 5, 3, 4, 2, 5])
    again = [*six, *(six[0]._replace(number=number) for number in (6, 7))]
    for writer in WRITERS:
        _, _, found = brought(tmp_path / writer.__name__, writer(again))
        assert found.written.rows == 8, writer.__name__


@pytest.mark.parametrize("writer", WRITERS)
def test_other_responses_under_the_same_ids_are_all_kept(tmp_path, writer):
    six = cases([1, 5, 3, 4, 2, 5])
    others = [case._replace(question=f"And {case.number}?", response=f"No: {case.number}") for case in six]
    for number, part in enumerate((six, others)):
        (tmp_path / "logs" / f"{number}" / "model").mkdir(parents=True)
        for name, data in writer(part).items():
            (tmp_path / "logs" / f"{number}" / "model" / name).write_bytes(data)
    found = bring_in([tmp_path / "logs"], tmp_path / "pool.parquet")
    rows = pq.read_table(tmp_path / "pool.parquet").to_pylist()
    assert {(row["question"], row["response"]) for row in rows} == {(c.question, c.response)
                                                                  for c in (*six, *others)}
    assert found.written.rows == 12
