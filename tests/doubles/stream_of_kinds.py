"""Streams of daily predictions of every kind of labels, with a limit that every day keeps."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from doubles import outcomes
from doubles.stream import FIRST, monitor_data, write_stream
from doubles.stream_of_classes import classes_data, write_classes

# of each kind: a mean of items, and a limit that it keeps
MEANS = {"number": "mae", "tags": "jaccard", "preference": "win_rate", "grades": "mean"}
LEAST = {"number": 0.5, "tags": 0.1, "preference": 0.1, "grades": 2}
KINDS = ("two classes", "classes", *MEANS)

WRITERS: Mapping[str, Callable[..., Any]] = {**outcomes.WRITERS, "grades": outcomes.write_grades}


def stream_of(kind: str, folder: Path, days: int, **changes: Any) -> dict[str, Any]:
    """The files of so many days, and a monitor of them as plain data; changes as in `classes_data`."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "classes":
        write_classes(folder, days)
        return classes_data(folder, **changes)
    if kind == "two classes":
        write_stream(folder, days)
        monitor = {key.removeprefix("monitor_"): changes.pop(key) for key in list(changes)
                   if key.startswith("monitor_")}
        return monitor_data(folder, **monitor) | {"method": "auto"} | changes
    parts = outcomes.spec_of(kind, folder)
    for d in range(days):
        own, day = folder / str(d), FIRST + timedelta(days=d)
        own.mkdir(parents=True)
        WRITERS[kind](own, seed=d)
        for source, name in (("pool.csv", "predictions"), ("labels.csv", "labels")):
            text = (own / source).read_text(encoding="utf-8").replace("item-", f"{d}-item-")
            (folder / f"{name}-{day}.csv").write_text(text, encoding="utf-8")
    data = classes_data(folder, **{
        "labels": parts["labels"], "measure": [MEANS[kind]], "threshold": {"min": LEAST[kind]}, "name": kind,
        **changes,
    })
    data["pool"] = {**parts["pool"], "source": data["pool"]["source"], "id": "item_id"}
    return data


def with_groups(folder: Path) -> None:
    """Adds to every day `four`, clusters of four items, and `side`, segments of a third and two thirds."""
    for path in folder.glob("predictions-*.csv"):
        day = pd.read_csv(path, dtype=str, keep_default_na=False)
        place = np.arange(len(day))
        day.assign(four=place // 4, side=np.where(place % 3, "left", "right")).to_csv(path, index=False)
