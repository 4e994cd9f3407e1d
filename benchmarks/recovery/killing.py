"""Processes that are killed with SIGKILL, at moments drawn from a seed.

    a process     is the command line, or a function, and follows its own effects into a named pipe
                  (tasks.effects)
    the killer    reads the pipe, and kills at a moment drawn from a seed: while the n-th effect is going on,
                  while the effect killed least so far is going on, or at any time at all

Most processes are forked from one that has imported the libraries, which saves seconds of every start; of the
command line every tenth is started from nothing, as a person would.
"""

import math
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from assay.tasks.effects import VARIABLE
from benchmarks.recovery.effects_pipe import Follower

LONGEST_RUN = 600.0        # seconds without an end or a kill: something hangs
FROM_NOTHING = 10          # every so many starts of the command line import everything anew
_LIGHT = [f"assay.flows.{part}" for part in (
    "cli.main", "evaluation.begin", "evaluation.drive", "drivers.sweep", "monitor.tick"
)]
_WITH_SERVERS = ["benchmarks.recovery.warm", "boto3"]


@dataclass(frozen=True, kw_only=True)
class Kill:
    """One death."""

    inside: tuple[str, ...]     # effects begun and not ended, in the order they began
    ended: int                  # effects that had ended in this process


class Killer:
    """Draws the moments, and remembers which effects it has killed."""

    def __init__(self, seed: int, most: int) -> None:
        self.random = random.Random(seed)
        self.most = most                     # effects of one process, before it is killed
        self.killed: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.took: dict[str, float] = {}     # effect -> seconds, a moving mean
        self._began: dict[str, float] = {}

    def plan(self) -> tuple[str, Any]:
        """("at", n) the n-th effect; ("in", name) the effect killed least; ("after", seconds)."""
        draw = self.random.random()
        if draw < 0.45:
            return "at", int(math.exp(self.random.uniform(0, math.log(self.most))))
        if draw < 0.8 and self.seen:
            seen = sorted(self.seen)
            fewest = min(self.killed[name] for name in seen)
            return "in", self.random.choice([name for name in seen if self.killed[name] == fewest])
        return "after", self.random.uniform(0.0, 4.0)

    def learn(self, sign: str, effect: str, now: float) -> None:
        """An effect began (+) or ended (-) now, in seconds of some clock."""
        if sign == "+":
            self.seen[effect] += 1
            self._began[effect] = now
        elif effect in self._began:
            took = now - self._began.pop(effect)
            self.took[effect] = 0.8 * self.took.get(effect, took) + 0.2 * took

    def pause(self, effect: str) -> float:
        """How far into an effect to strike: anywhere in its usual length."""
        return max(0.0, self.random.uniform(0, 0.9) * self.took.get(effect, 0.002))


@dataclass(kw_only=True)
class Victims:
    """Starts processes in a folder, and kills them."""

    folder: Path
    killer: Killer
    with_servers: bool       # imports what talks to servers beforehand
    _starts: Any = field(default_factory=lambda: count(1))
    _context: Any = field(default_factory=lambda: multiprocessing.get_context("forkserver"))

    def __post_init__(self) -> None:
        warm = _WITH_SERVERS if self.with_servers else []
        self._context.set_forkserver_preload([*warm, *_LIGHT, "scipy.stats", "pyarrow.dataset"])

    def command(
        self, words: Sequence[str], environment: Mapping[str, str], may_kill: bool
    ) -> Kill | None:
        """One process with the command line, until it ends well (None) or is killed."""
        return self._run((_command_line, list(words)), environment, may_kill)

    def function(
        self, function: Callable[..., None], arguments: Sequence[Any], may_kill: bool
    ) -> Kill | None:
        """One process that calls a function of a module, until it ends well (None) or is killed."""
        return self._run((function, *arguments), {}, may_kill)

    def _run(self, work: tuple[Any, ...], environment: Mapping[str, str], may_kill: bool) -> Kill | None:
        number = next(self._starts)
        pipe, output = self.folder / f"effects-{number}", self.folder / f"output-{number}"
        follower = Follower(pipe)
        process = self._start(number, work, {**os.environ, **environment, VARIABLE: str(pipe)}, output)
        try:
            struck = self._follow(process, follower, self.killer.plan() if may_kill else None)
        finally:
            process.kill()
            process.wait()
        follower.read(0)
        follower.close()
        if not struck or process.returncode == 0:
            assert process.returncode == 0, f"exit code {process.returncode}: {output.read_text()[-3000:]}"
            output.unlink()
            return None
        output.unlink(missing_ok=True)
        inside = _open_effects(follower.lines)
        self.killer.killed.update(inside[-1:])
        return Kill(inside=inside, ended=sum(line.startswith("-") for line in follower.lines))

    def _start(
        self, number: int, work: tuple[Any, ...], environment: Mapping[str, str], output: Path
    ) -> "_Process":
        if work[0] is _command_line and number % FROM_NOTHING == 0:
            with output.open("wb") as opened:
                return _Process(subprocess.Popen(
                    [sys.executable, "-m", "assay.flows.cli.entry", *work[1]], cwd=self.folder, stdout=opened,
                    stderr=opened, env=dict(environment),
                ))
        forked = self._context.Process(
            target=_in_folder, args=(str(self.folder), dict(environment), str(output), *work)
        )
        forked.start()
        return _Process(forked)

    def _follow(self, process: "_Process", follower: Follower, plan: tuple[str, Any] | None) -> bool:
        """Follow the process; whether it was struck before it had ended."""
        how, what = plan or ("never", None)
        give_up = time.monotonic() + LONGEST_RUN
        first: float | None = None     # when its first effect began
        begun = 0
        while process.running():
            now = time.monotonic()
            assert now < give_up, f"still running after {LONGEST_RUN} s, in {_open_effects(follower.lines)}"
            if how == "after" and first is not None and now - first >= what:
                process.kill()
                return True
            for line in follower.read(0.02):
                first = first or now
                name = line.split(" ", 2)[2]
                self.killer.learn(line[0], name, now)
                begun += line[0] == "+"
                reached = (how == "at" and begun >= what) or (how == "in" and name == what)
                if line[0] == "+" and (reached or (how != "never" and begun >= self.killer.most)):
                    time.sleep(self.killer.pause(name))
                    process.kill()
                    return True
        return False


def _open_effects(lines: Iterable[str]) -> tuple[str, ...]:
    """The effects that a log leaves open, in the order they began; the process may have had threads."""
    opened: list[str] = []
    for line in lines:
        sign, _process, name = line.split(" ", 2)
        if sign == "+":
            opened.append(name.strip())
        elif name.strip() in opened:
            opened.reverse()
            opened.remove(name.strip())   # the last of that name
            opened.reverse()
    return tuple(opened)


class _Process:
    """Started from nothing or forked: the same to us."""

    def __init__(self, process: Any) -> None:
        self._process = process
        self._forked = hasattr(process, "is_alive")

    def running(self) -> bool:
        return self._process.is_alive() if self._forked else self._process.poll() is None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)

    def wait(self) -> None:
        if self._forked:
            self._process.join()
        else:
            self._process.wait()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode if self._forked else self._process.returncode


def _in_folder(
    folder: str, environment: dict[str, str], output: str, work: Callable[..., None], *arguments: Any
) -> None:
    """What a forked process does: its work, with its own environment and output."""
    os.chdir(folder)
    os.environ.update(environment)
    opened = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    work(*arguments)
    sys.stdout.flush()
    os._exit(0)


def _command_line(words: list[str]) -> None:
    from assay.flows.cli.main import run_command_line

    code = run_command_line(words)
    sys.stdout.flush()
    os._exit(code)
