"""Where this machine keeps things and who works for it: the environment, read once and handed down as plain
values.

A misspelt variable is silently ignored, so nothing that changes a number has its home here: what an
evaluation is lives in its spec. Secrets (the token of Label Studio, S3 credentials) are read where they are
used and are no part of this.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

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
_MOST_WORKERS = 1024   # workers


@dataclass(frozen=True, slots=True)
class Runner:
    """Who does the work over shards, as a spec or the environment asks.

    Who freezes a large pool, as a spec (`freeze_runner`) or the variable ASSAY_FREEZE_RUNNER says it.

        serial                       this process
        threads:N, processes:N       threads or processes of this machine; without :N one for each processor
        dask, dask:ADDRESS           a cluster of Dask: one of this machine, or the one there
        ray, ray:ADDRESS             the same with Ray
        prefect: and one of these    each shard as a task of Prefect

    Who freezes changes no byte of the ledger.
    """

    word: str
    in_prefect: bool = False
    workers: int | None = None      # of threads and processes; None: one for each processor
    address: str | None = None      # of a cluster; None: one of this machine


def read_runner(setting: str) -> Runner:
    """Who freezes a large pool, as the text of the setting has it: the word, such as threads or dask,
    whether inside Prefect, and the number of workers or an address. Raises BadInput for text that means
    nothing."""
    why_not = _wrong_with(setting)
    if why_not:
        raise BadInput(f"{SETTING} cannot be {setting!r}: {why_not}")
    in_prefect, word, argument = _parts(setting)
    if word in _COUNTED:
        return Runner(word, in_prefect, workers=int(argument) if argument else None)
    return Runner(word, in_prefect, address=argument)


def _parts(setting: str) -> tuple[bool, str, str | None]:
    """Whether in Prefect, the word, and what is behind the colon; None without a colon."""
    text = setting.strip()
    in_prefect = text.partition(":")[0] == _PREFECT
    word, colon, argument = (text.partition(":")[2] if in_prefect else text).partition(":")
    return in_prefect, word, argument if colon else None


def _wrong_with(setting: str) -> str | None:
    """Why this cannot be the setting; None where it can."""
    in_prefect, word, argument = _parts(setting)
    if word == SERIAL and not in_prefect and argument is None:
        return None
    if word not in (*_COUNTED, *_PLACED) or argument == "":
        return f"it may be {RUNNERS}"
    if argument is None:
        return None
    if word in _PLACED:
        secret = secret_in(argument)
        return secret and f"{secret}; clusters take secrets from the environment"
    if not argument.isdecimal() or len(argument) > 6 or not 1 <= int(argument) <= _MOST_WORKERS:
        return f"the number of workers is a whole number from 1 to {_MOST_WORKERS}"
    return None


def _checked(setting: str) -> str:
    why_not = _wrong_with(setting)
    if why_not:
        raise wrong(why_not)
    return setting


def _checked_in_a_spec(setting: str) -> str:
    why_not = _wrong_with(setting)
    if why_not:
        raise wrong(f"cannot be {setting!r}: {why_not}")
    return setting


FreezeRunnerVariable = Annotated[str, AfterValidator(_checked)]      # the message says what it is already
FreezeRunner = Annotated[str, AfterValidator(_checked_in_a_spec)]


# The variables.

Seconds = Annotated[float, Field(allow_inf_nan=False, le=366 * 24 * 3600)]


class Settings(BaseModel):
    """Variables named ASSAY_<FIELD>. Making one raises BadInput that names each variable that is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    def __init__(self, **values: object) -> None:
        names = {f"ASSAY_{name}".upper(): name for name in type(self).model_fields}
        environment = {names[key.upper()]: text for key, text in os.environ.items() if key.upper() in names}
        try:
            super().__init__(**environment | values)
        except ValidationError as error:
            raise BadInput("; ".join(
                f"the environment variable ASSAY_{'_'.join(map(str, problem['loc'])).upper()} cannot be "
                f"{str(problem['input'])[:60]!r}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
                for problem in error.errors()
            )) from None

    store: str = Field(
        default="./assay-ledger", min_length=1,
        description="The store that commands and sweeps look in: a folder, file://... or s3://bucket/prefix.",
    )
    repost_after: Seconds = Field(
        default=600.0, ge=0,
        description="Seconds after which items that are not on Label Studio are posted again. A post may "
        "succeed minutes after its reply was lost; waiting keeps copies rare.",
    )
    poll_first: Seconds = Field(
        default=2.0, gt=0, description="Seconds before `run` looks at the desk again, at first."
    )
    poll_longest: Seconds = Field(
        default=60.0, gt=0, description="Seconds between two looks of `run`, at most."
    )
    sweep_workers: int = Field(
        default=4, ge=1, le=64, description="Evaluations a sweep advances at the same time."
    )
    freeze_runner: FreezeRunnerVariable = Field(
        default=SERIAL,
        description="Who freezes the shards of a pool of more than about a million rows, where the spec does "
        "not say (`freeze_runner`). The result does not depend on it.",
    )
    forecast_worlds: int | None = Field(
        default=None, ge=1, le=1_000,
        description="Simulated worlds of a forecast of labels (positive and negative class). Fewer take less "
        "time, and the error that the forecast states is larger. Unless given, as many as it takes: "
        "24 to 72.",
    )
    pages: Path | None = Field(
        default=None, description="A folder for the pages of monitors, one folder each, for a web server."
    )
    prometheus: Path | None = Field(
        default=None,
        description="A folder for the figures of monitors, for the textfile collector of node_exporter.",
    )
    otel: bool = Field(
        default=False,
        description="Send the figures of monitors by OTLP, to where OpenTelemetry's OTEL_ variables say.",
    )
