"""`python -m benchmarks.large_pools`, with tests/ on the path (`make large-pools`)."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import boto3
from services.s3 import S3Server, s3_server

from benchmarks.__main__ import machine
from benchmarks.large_pools.freezing import Freeze, freeze, scan
from benchmarks.large_pools.page import BEGIN, END, tables
from benchmarks.large_pools.pool import COLUMNS, SHOWN, write_pool
from benchmarks.large_pools.rounds import Rounds
from benchmarks.pages import rewrite

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "large-pools.md"
RUNNERS = ("serial", "processes:2", "dask", "ray")   # Dask and Ray: as many workers as processors
LEAST = 10**6             # rows of a pool that is measured with all of them


def main(arguments: list[str] | None = None) -> int:
    """Measure what the cache does not have yet, print it, and put the tables into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_pools", description=__doc__)
    parser.add_argument("--rows", default="1e4,1e6,1e7,1e8")
    parser.add_argument("--shown", default="1e4,1e6,1e7", help="pools whose items have two texts")
    parser.add_argument("--s3", default="1e6,1e7", help="pools that are also read from and written to S3")
    parser.add_argument("--runners", default=",".join(RUNNERS))
    parser.add_argument("--folder", type=Path, default=Path(".cache/large-pools"))
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    cache = chosen.folder / "measured.jsonl"
    with tempfile.TemporaryDirectory() as made, s3_server(Path(made) / "s3") as s3:
        os.environ.update(s3.environment)
        for wanted in _wanted(chosen):
            if wanted not in [{key: one[key] for key in wanted} for one in _read(cache)]:
                one = _measured(chosen.folder, s3, **wanted)
                sys.stderr.write(f"{one}\n")
                with cache.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(one) + "\n")
    kept = _read(cache)
    freezes = sorted(
        (Freeze(**one["freeze"]) for one in kept), key=lambda f: (f.rows, f.shown, f.where, _place(f.runner))
    )
    alone = sorted((one for one in kept if "rounds" in one), key=lambda one: (one["shown"], one["rows"]))
    rounds = [(one["rows"], one["shown"], Rounds(**one["rounds"])) for one in alone]
    largest = [one for one in alone if not one["shown"]][-1]
    text = tables(freezes, rounds, largest["bytes"] / largest["rows"], machine())
    sys.stdout.write(text)
    rewrite(chosen.page, text, BEGIN, END)
    return 0


def _wanted(chosen: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    for rows in _numbers(chosen.rows):
        for where in ("disk", "S3") if rows in _numbers(chosen.s3) else ("disk",):
            for runner in _runners(chosen, rows):
                yield {"rows": rows, "shown": False, "runner": runner, "where": where}
    for rows in _numbers(chosen.shown):
        for runner in _runners(chosen, rows)[:2]:
            yield {"rows": rows, "shown": True, "runner": runner, "where": "disk"}


def _runners(chosen: argparse.Namespace, rows: int) -> list[str]:
    """Of a pool that no worker gets anything of, the first runner is enough."""
    runners: list[str] = chosen.runners.split(",")
    return runners if rows >= LEAST else runners[:1]


def _measured(
    folder: Path, s3: S3Server, rows: int, shown: bool, runner: str, where: str
) -> dict[str, Any]:
    """One freeze; by one process on disk, also the rounds after it."""
    source, columns = write_pool(folder, rows, shown), (*COLUMNS, *(SHOWN if shown else ()))
    with tempfile.TemporaryDirectory(dir=folder) as made:
        given, store = str(source), f"{made}/ledger"
        if where == "S3":
            given, store = _on_s3(source, s3), s3.new_url("large")
        bare = scan(given, columns)
        seconds, memory, digests = freeze(given, store, Path(made) / "spec", columns, runner, {})
        found = Freeze(
            rows=rows, shown=shown, runner=runner, where=where, seconds=seconds, scan=bare, memory=memory,
            digests=digests,
        )
        one = {"rows": rows, "shown": shown, "runner": runner, "where": where, "freeze": asdict(found)}
        if (runner, where) == ("serial", "disk"):
            one["bytes"] = sum(path.stat().st_size for path in Path(store).rglob("*") if path.is_file())
            command = [sys.executable, "-m", "benchmarks.large_pools.rounds", store]
            one["rounds"] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        shutil.rmtree(made, ignore_errors=True)
    return one


def _on_s3(source: Path, s3: S3Server) -> str:
    """The files of a pool, copied to the server once."""
    client = boto3.client("s3")
    there = client.list_objects_v2(Bucket=s3.bucket, Prefix=f"{source.name}/").get("KeyCount", 0)
    if not there:
        for path in sorted(source.glob("*.parquet")):
            client.upload_file(str(path), s3.bucket, f"{source.name}/{path.name}")
    return f"s3://{s3.bucket}/{source.name}"


def _read(cache: Path) -> list[dict[str, Any]]:
    if not cache.exists():
        return []
    return [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]


def _numbers(text: str) -> list[int]:
    return [int(float(number)) for number in text.split(",") if number]


def _place(runner: str) -> int:
    return RUNNERS.index(runner) if runner in RUNNERS else len(RUNNERS)


if __name__ == "__main__":
    sys.exit(main())
