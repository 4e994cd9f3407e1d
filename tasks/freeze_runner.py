"""Who freezes a large pool, as a spec (`freeze_runner`) or the variable ASSAY_FREEZE_RUNNER says it.

    serial                       this process
    threads:N, processes:N       threads or processes of this machine; without :N one for each processor
    dask, dask:ADDRESS           a cluster of Dask: one of this machine, or the one there
    ray, ray:ADDRESS             the same with Ray
    prefect: and one of these    each shard as a task of Prefect

Who freezes changes no byte of the ledger.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from assay.evalcore.errors import BadInput
from assay.tasks.schema import wrong
from assay.tasks.secrets import secret_in

SETTING = "freeze_runner (or ASSAY_FREEZE_RUNNER)"    # in messages
SERIAL = "serial"
RUNNERS = (
    "serial, threads:N, processes:N, dask or dask:ADDRESS, ray or ray:ADDRESS, or prefect: and one of "
    "these but serial"
)
_PREFECT = "prefect"
_COUNTED = ("threads", "processes")     # a number of workers may follow
_PLACED = ("dask", "ray")               # an address may follow
_MOST = 1024                            # workers


@dataclass(frozen=True, slots=True)
class Runner:
    """Who is asked for."""

    word: str
    in_prefect: bool = False
    workers: int | None = None      # of threads and processes; None: one for each processor
    address: str | None = None      # of a cluster; None: one of this machine


def read_runner(asked: str) -> Runner:
    """What the setting means. Raises BadInput."""
    why_not = _wrong_with(asked)
    if why_not:
        raise BadInput(f"{SETTING} cannot be {asked!r}: {why_not}")
    in_prefect, word, rest = _parts(asked)
    if word in _COUNTED:
        return Runner(word, in_prefect, workers=int(rest) if rest else None)
    return Runner(word, in_prefect, address=rest)


def _parts(asked: str) -> tuple[bool, str, str | None]:
    """Whether in Prefect, the word, and what is behind the colon; None without a colon."""
    text = asked.strip()
    in_prefect = text.partition(":")[0] == _PREFECT
    word, colon, rest = (text.partition(":")[2] if in_prefect else text).partition(":")
    return in_prefect, word, rest if colon else None


def _wrong_with(asked: str) -> str | None:
    """Why this cannot be the setting; None where it can."""
    in_prefect, word, rest = _parts(asked)
    if word == SERIAL and not in_prefect and rest is None:
        return None
    if word not in (*_COUNTED, *_PLACED) or rest == "":
        return f"it may be {RUNNERS}"
    if rest is None:
        return None
    if word in _PLACED:
        secret = secret_in(rest)
        return secret and f"{secret}; clusters take secrets from the environment"
    if not rest.isdecimal() or not 1 <= int(rest) <= _MOST:
        return f"the number of workers is a whole number from 1 to {_MOST}"
    return None


def _checked(asked: str) -> str:
    why_not = _wrong_with(asked)
    if why_not:
        raise wrong(why_not)
    return asked


def _checked_in_a_spec(asked: str) -> str:
    why_not = _wrong_with(asked)
    if why_not:
        raise wrong(f"cannot be {asked!r}: {why_not}")
    return asked


FreezeRunnerVariable = Annotated[str, AfterValidator(_checked)]      # the message says what it is already
FreezeRunner = Annotated[str, AfterValidator(_checked_in_a_spec)]
