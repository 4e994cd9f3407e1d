"""Where this machine keeps things: the environment, read once and handed down as plain values.

A misspelt variable is silently ignored, so nothing that changes a number has its home here: what an
evaluation is lives in its spec. Secrets (the token of Label Studio, S3 credentials) are read where they are
used and are no part of this.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from assay.evalcore.errors import BadInput
from assay.tasks.freeze_runner import SERIAL, FreezeRunnerVariable

Seconds = Annotated[float, Field(allow_inf_nan=False, le=366 * 24 * 3600)]


class Settings(BaseSettings):
    """Variables named ASSAY_<FIELD>. Making one raises BadInput that names each variable that is wrong."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", frozen=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise BadInput("; ".join(
                f"the environment variable ASSAY_{'_'.join(map(str, found['loc'])).upper()} cannot be "
                f"{str(found['input'])[:60]!r}: {found['msg'][:1].lower()}{found['msg'][1:]}"
                for found in error.errors()
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
