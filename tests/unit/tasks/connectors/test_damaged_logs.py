"""Damaged logs, whatever the damage: imported, or refused with what is wrong. Never a traceback."""

import io
import json
import random
import shutil
import zipfile
from pathlib import Path

import pytest
from services.log_writers import Case, helm, langsmith_experiment, openai_evals, promptfoo_csv, weave_calls

from assay.evalcore.errors import BadInput
from assay.flows.connectors import bring_in
from assay.tasks.connectors.inspect_logs import zipped

LOGS = Path(__file__).parents[3] / "logs"
STRANGE = [None, [], {}, "", "x", 0, -1, 1.5, True, [None], {"a": None}, "\ud800", 10**400, float("nan"),
           "a\0b", [[]], {"": ""}, "²", "9" * 5_000]
SEEDS = 15


def strange_within(value, rng, times):
    """With some values, anywhere in it, gone or replaced by others."""
    whole = [value]
    places = [(whole, 0)]
    for holder, key in places:      # grows while it is walked
        inner = holder[key]
        places += [(inner, k) for k in (inner if isinstance(inner, dict) else range(len(inner)))
                   ] if isinstance(inner, dict | list) else []
    for holder, key in rng.choices(places, k=times):
        if isinstance(holder, dict) and key in holder and rng.random() < 0.4:
            del holder[key]
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = rng.choice(STRANGE)
    return whole[0]


def changed_json(text, rng):
    """A JSON text, or one of JSON Lines, that is still sound."""
    try:
        return json.dumps(strange_within(json.loads(text), rng, rng.choice([1, 2, 5])))
    except ValueError:
        # the console exporter of OpenTelemetry puts a line break behind every object
        lines = text.replace("\n}\n{", "\n}\0{").split("\0") if "\n}\n{" in text else text.splitlines()
        place = rng.randrange(len(lines))
        lines[place] = changed_json(lines[place], rng)
        return "\n".join(lines)


def damaged(path, rng):
    """The bytes of a file with some damage."""
    data = path.read_bytes()
    kind = rng.choice(["cut", "bytes", "values", "values", "values"])
    if kind == "values" and zipfile.is_zipfile(path):
        with zipped(path) as archive:
            entries = {name: archive.read(name) for name in archive.names}
        name = rng.choice(sorted(entries))
        entries[name] = changed_json(entries[name].decode(), rng).encode()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, entry in entries.items():
                archive.writestr(name, entry)
        return packed.getvalue()
    if kind == "values" and path.suffix in (".json", ".jsonl"):
        return changed_json(data.decode(), rng).encode(errors="replace")
    place = rng.randrange(len(data))
    return data[:place] + (b"" if kind == "cut" else rng.randbytes(3) + data[place + 3 :])


@pytest.mark.parametrize("format", [
    "inspect", "lm-eval", "promptfoo", "datasets", "otel", "phoenix", "langfuse", "langsmith", "deepeval",
    "ragas",
])
def test_a_damaged_log_is_imported_or_refused(tmp_path, format):
    refused = 0
    for seed in range(SEEDS):
        rng = random.Random(f"{format} {seed}")
        folder, to = tmp_path / f"logs-{seed}", tmp_path / f"pool-{seed}.parquet"
        shutil.copytree(LOGS / format, folder)
        path = rng.choice(sorted(p for p in folder.rglob("*") if p.is_file()))
        path.write_bytes(damaged(path, rng))
        try:
            bring_in([folder], to, rng.choice([None, format]))
        except BadInput:
            refused += 1
        assert to.exists() or not list(tmp_path.glob(f".pool-{seed}*"))
        shutil.rmtree(folder)
    assert 0 < refused < SEEDS


@pytest.mark.parametrize("writer", [promptfoo_csv, langsmith_experiment, openai_evals, helm, weave_calls])
def test_a_damaged_export_is_imported_or_refused(tmp_path, writer):
    cases = [Case(n, f"q{n}?", f"a{n}", verdict) for n, verdict in enumerate([1, 5, 3, 4, 2, 5])]
    outcomes = []
    for seed in range(SEEDS):
        rng = random.Random(f"{writer.__name__} {seed}")
        folder = tmp_path / f"logs-{seed}"
        folder.mkdir()
        for name, data in writer(cases).items():
            (folder / name).write_bytes(data)
        path = rng.choice(sorted(folder.iterdir()))
        path.write_bytes(damaged(path, rng))
        try:
            bring_in([folder], tmp_path / f"pool-{seed}.parquet")
            outcomes.append("imported")
        except BadInput:
            outcomes.append("refused")
    assert set(outcomes) == {"imported", "refused"}


@pytest.mark.parametrize(("log", "change"), [
    ("datasets", {"train/state.json": {"_data_files": [{}]}}),
    ("datasets", {"train/state.json": {"_data_files": [1.5]}}),
    ("datasets", {"train/state.json": {"_data_files": 3}}),
    ("datasets", {"train/state.json": {"_data_files": [{"filename": "a\0b"}]}}),
    ("datasets", {"train/state.json": {"_data_files": [{"filename": "\ud800"}]}}),
    ("datasets", {"train/dataset_info.json": {"features": "text"}}),
    ("datasets", {"dataset_dict.json": {"splits": 1.5}}),
    ("inspect/sums.json", {"samples": [[]]}), ("inspect/sums.json", {"samples": [None]}),
    ("inspect/sums.json", {"eval": "x"}), ("inspect/sums.json", {"samples": 7}),
    ("inspect/sums.json", {"samples": [{"scores": 1.5}]}),
])
def test_values_of_another_kind_are_refused_with_the_file(tmp_path, log, change):
    given = tmp_path / Path(log).name
    if (LOGS / log).is_dir():
        shutil.copytree(LOGS / log, given)
        for name, text in change.items():
            (given / name).write_text(json.dumps(text))
    else:
        given.write_text(json.dumps(json.loads((LOGS / log).read_text()) | change))
    with pytest.raises(BadInput, match=str(given)):
        bring_in([given], tmp_path / "pool.parquet", log.split("/")[0])
    assert not (tmp_path / "pool.parquet").exists()
