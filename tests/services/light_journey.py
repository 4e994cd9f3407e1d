"""What the light install promises, in one process that has nothing else: run by test_installed_wheel.

    python light_journey.py evaluate FOLDER [--like-windows]
    python light_journey.py extras FOLDER

Prints one JSON object.
"""

import contextlib
import errno
import io
import json
import os
import signal
import stat
import sys
from pathlib import Path

MISSING = (   # names in os
    "O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "fork", "getuid", "sched_getaffinity",
)
FOREIGN = ("fcntl", "grp", "pwd", "resource", "termios")   # modules that Windows does not have


def like_windows() -> None:
    """Take away what Windows has not, and refuse what it refuses, as far as one can tell from here."""
    import multiprocessing.context
    import shutil
    import subprocess
    import tempfile

    assert all((multiprocessing.context, subprocess, tempfile))   # the standard library guards itself
    for name in MISSING:
        delattr(os, name)
    del signal.pthread_sigmask
    shutil._use_fd_functions = False   # type: ignore[attr-defined]
    for module in FOREIGN:
        sys.modules[module] = None   # type: ignore[assignment]
    plain_open, unlink, rename = os.open, os.unlink, os.rename

    def no_folder(path, flags, mode=0o777, **more):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "a folder", path)
        return plain_open(path, flags, mode, **more)

    def writable(path, **more):
        if not os.stat(path).st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, "read-only", path)
        unlink(path, **more)

    def to_nothing(source, to, **more):
        if os.path.exists(to):
            raise FileExistsError(errno.EEXIST, "there already", to)
        rename(source, to, **more)

    def no_link(*_given, **_more):
        raise OSError(errno.EPERM, "a privilege is not held")

    os.open, os.unlink, os.remove, os.rename, os.symlink = no_folder, writable, writable, to_nothing, no_link
    import assay.tasks.operating_system as ours

    ours.WINDOWS = True


def evaluate(folder: Path) -> dict[str, object]:
    """An evaluation by a function, one by people, one in a folder, a replay and a report."""
    import pandas as pd

    import assay
    from assay.flows.cli.main import run_command_line

    rows = 200
    truth = ["spam" if i % 5 == 0 else "ham" for i in range(rows)]
    score = [((i * 37) % 100) / 100 - 0.6 + 0.7 * (label == "spam") for i, label in enumerate(truth)]
    mails = pd.DataFrame({
        "item_id": [f"mail-{i}" for i in range(rows)], "score": score,
        "predicted": ["spam" if s > 0 else "ham" for s in score], "truth": truth,
    })
    told = dict(zip(mails.item_id, mails.truth, strict=True))
    question = {"outcome": ["spam", "ham"], "prediction": "predicted", "score": "score", "measures": ["f1"]}
    answered = assay.evaluate(mails, **question, oracle="truth", target=0.1, budget=200)

    store = str(folder / "ledger")
    people = assay.begin(mails, **question, budget=30, store=store, name="people", show=["score"])
    while len(batch := people.ask()):
        people.tell(batch.assign(label=[told[item] for item in batch.item_id]))
    page = people.report(folder / "report.html").read_text(encoding="utf-8")

    replayed = assay.replay(
        mails, label="truth", prediction="predicted", score="score", outcome=["spam", "ham"],
        measures=["f1"], methods=["auto", "passive"], budgets=[50], repeats=2,
    )

    mails.to_csv(folder / "mails.csv", index=False)
    spec = (
        f"name: by-file\nstore: {store}\npool: {{source: mails.csv, id: item_id, prediction: predicted, "
        "score: score, display: [score]}\nlabels: {positive: spam, negative: ham}\nmeasure: [f1]\n"
        "budget: {labels: 20}\ndesk: {kind: folder, path: people}\n"
    )
    os.chdir(folder)
    Path("assay.yaml").write_text(spec, encoding="utf-8")
    codes = {}
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        codes["folder"] = run_command_line(["run", "assay.yaml", "--wait", "0"])
        codes["first try"] = run_command_line(["run", "mails.csv", "--label", "truth"])
        codes["verify"] = run_command_line(["verify", "people", "--store", store])
    return {
        "value": answered.value, "labels": answered.labels, "stopped_by": answered.stopped_by,
        "people": people.result.labels, "page": "<svg" in page and "F1" in page,
        "replayed": replayed.to_frame().method.tolist(), "codes": codes, "shown": shown.getvalue(),
        "files": sorted(str(path.relative_to(folder).as_posix()) for path in folder.rglob("*")),
    }


def extras(folder: Path) -> dict[str, object]:
    """What is said where an extra is missing: by what was tried."""
    import pyarrow as pa

    import assay
    from assay.evalcore.errors import MissingExtra
    from assay.evalcore.pool.feature_strata import clusters
    from assay.flows.cli.main import run_command_line
    from assay.flows.monitor.deployment import deploy_monitor
    from assay.flows.workers.chosen import chosen_workers
    from assay.tasks import telemetry
    from assay.tasks.alerts.channels import open_channels

    os.environ |= {"LABEL_STUDIO_API_KEY": "x" * 20, "PREFECT_API_URL": "http://127.0.0.1:9/api"}
    pool = pa.table({
        "item_id": [f"i{i}" for i in range(1000)], "score": [i / 1000 for i in range(1000)],
        "truth": [int(i > 700 or i % 9 == 0) for i in range(1000)],
    })
    asked = {"outcome": [1, 0], "score": "score", "threshold": 0.5, "measures": ["f1"]}

    def begun(**more):
        return assay.begin(pool, **asked, budget=20, **more)

    def workers(setting):
        with chosen_workers(setting) as over:
            list(over(str, (1, 2)))

    def channels():
        (one,) = open_channels(None, {"ASSAY_ALERTS": "slack://a/b/c"})
        raise MissingExtra(one.problem)

    tried = {
        "s3 predictions": lambda: assay.evaluate("s3://bucket/p.parquet", **asked, oracle={}),
        "s3 store": lambda: assay.open("s3://bucket/ledger").evaluations(),
        "gs": lambda: assay.evaluate("gs://bucket/p.parquet", **asked, oracle={}),
        "az": lambda: assay.evaluate("az://bucket/p.parquet", **asked, oracle={}),
        "label-studio": lambda: begun(
            desk={"kind": "label-studio", "url": "http://127.0.0.1:9"}, show=["score"]).waiting(),
        "alerts": channels,
        "platt": lambda: assay.replay(
            pool, label="truth", score="score", threshold=0.5, measures=["f1"], methods=["platt"],
            budgets=[20], repeats=2),
        "clusters": lambda: clusters(__import__("numpy").arange(2000.0).reshape(1000, 2)),
        "mlflow": lambda: assay.evaluate(pool, **asked, oracle="truth", budget=20).to_mlflow(),
        "prometheus": lambda: telemetry.content_type(),
        "otel": lambda: telemetry.send_by_otlp([]),
        "monitor": lambda: deploy_monitor(None, "./ledger"),   # type: ignore[arg-type]
        "prefect": lambda: workers("prefect:threads:2"),
        "dask": lambda: workers("dask"),
        "ray": lambda: workers("ray"),
    }
    said = {}
    for name, what in tried.items():
        try:
            what()
            said[name] = "nothing was missing"
        except MissingExtra as error:
            said[name] = str(error)
    os.environ["ASSAY_WEBHOOK_SECRET"] = "x" * 20
    for command in (["demo", "--out", str(folder / "demo")], ["listen", "--store", str(folder / "ledger")]):
        heard = io.StringIO()
        with contextlib.redirect_stderr(heard):
            code = run_command_line(command)
        said[f"assay {command[0]}"] = f"{heard.getvalue().strip().splitlines()[-1]} ({code})"
    return said


def main() -> None:
    """Do what the command line says."""
    journey, folder, *options = sys.argv[1:]
    if options:
        like_windows()
    found = {"evaluate": evaluate, "extras": extras}[journey](Path(folder))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
