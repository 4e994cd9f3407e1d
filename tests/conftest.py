"""Fixtures that several files of tests use. Real servers start once a session, when first asked for."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

# Before numpy is imported, and for every process that tests start. Our matrices are small: a second thread
# mostly waits for the first and takes a processor from the other tests meanwhile.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Modules are compiled once, and not by every process that tests start: that is most of what many of them do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Forecasts of labels take seconds. Tests of what forecasts say take this back.
os.environ.setdefault("ASSAY_FORECAST_WORLDS", "4")

import pytest
from doubles.checked_json import CheckedJson
from hypothesis import HealthCheck, settings
from services.order import LongFirst, first_alone
from services.s3 import FOREIGN_VARIABLES, S3Server, s3_server

# The gate sees the same 50 examples every time; ASSAY_HYPOTHESIS=explore looks for new ones, twice as many.
# On a busy machine an example may take long: that is no failure.
SLOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", derandomize=True, max_examples=50, **SLOW)
settings.register_profile("explore", derandomize=False, **SLOW)
settings.load_profile(os.environ.get("ASSAY_HYPOTHESIS", "gate"))


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_forced_to_the_disk() -> Iterator[None]:
    """No test cuts the real power. Whether the store asks for it is tested in test_local_store_crashes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", os.fstat)
        yield


@pytest.fixture(scope="session", autouse=True)
def _all_json_fits_its_schema() -> Iterator[None]:
    """Whatever a test prints with `--json` fits the published schema of its command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.flows.cli.output.json", CheckedJson)
        yield


def pytest_configure() -> None:
    """What this process compiles is kept too, whatever it was started with."""
    sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """All tests and modules that were imported stay to the end: garbage is not looked for among them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


# Where tests look at figures. Elsewhere each kind of figure is put together once a process, and not drawn:
# that is half the time of a report.
FIGURES_ARE_SEEN = (
    "tests/unit/tasks/report/", "tests/browser/", "tests/end_to_end/test_demo.py",
    "tests/end_to_end/test_curves.py", "tests/end_to_end/test_documentation.py",
    "tests/features/test_bundles.py",
)


@pytest.fixture(scope="session")
def _put_together_here() -> set[tuple[str, float]]:
    """What the tests of this process have put together: the functions that draw, and the widths."""
    return set()


@pytest.fixture(autouse=True)
def _figures_that_nobody_sees_are_not_drawn(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
    _put_together_here: set[tuple[str, float]],
) -> None:
    def put_together(draw: Callable[[Any], None], size: tuple[float, float]) -> str:
        kind = getattr(draw, "func", draw).__qualname__, size[0]
        if kind not in _put_together_here:
            from matplotlib.figure import Figure

            draw(Figure(figsize=size))
            _put_together_here.add(kind)
        return "data:image/svg+xml;base64,"

    if not request.node.nodeid.startswith(FIGURES_ARE_SEEN):
        monkeypatch.setattr("assay.tasks.report.rendering._drawn", put_together)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Of several processes (`-n`) one compiles the modules, and the others read what it compiled."""
    with first_alone() if hasattr(session.config, "workerinput") else nullcontext():
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongFirst | None:
    """With `--dist loadfile`: which files go to one process, and which go first."""
    return LongFirst(config, log) if config.getvalue("dist") == "loadfile" else None


# --- S3 ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server; until the session ends the AWS_* environment points to it and to nothing else."""
    import botocore.loaders

    with s3_server(tmp_path_factory.mktemp("s3")) as server, pytest.MonkeyPatch.context() as environment:
        for name in FOREIGN_VARIABLES:
            environment.delenv(name, raising=False)
        for name, value in server.environment.items():
            environment.setenv(name, value)
        # every test with credentials of its own has a client of its own; the descriptions of S3 are read once
        environment.setattr("botocore.loaders.create_loader", cache(botocore.loaders.create_loader))
        yield server


# --- Label Studio -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def label_studio() -> Iterator["LocalLabelStudio"]:  # noqa: F821
    """A real Label Studio; the first time on a machine it is installed, which takes minutes."""
    from assay.tasks.desks.label_studio.local import LocalLabelStudio, LocalLabelStudioError, install

    try:
        install()
    except LocalLabelStudioError as error:
        pytest.skip(f"Label Studio cannot be installed here: {error}")
    with LocalLabelStudio() as server:
        yield server


@pytest.fixture(scope="session")
def label_studio_api(label_studio: "LocalLabelStudio") -> "LabelStudioApi":  # noqa: F821
    """Our client of the real server, signed in as its owner."""
    from assay.tasks.desks.label_studio.api import LabelStudioApi

    return LabelStudioApi(label_studio.url, label_studio.token)


@pytest.fixture(scope="session")
def people(label_studio: "LocalLabelStudio") -> list["Person"]:  # noqa: F821
    """Three people who can sign in; the first is the owner."""
    from services.label_studio_people import new_person, owner

    url, token = label_studio.url, label_studio.token
    return [owner(url, token), new_person(url, token), new_person(url, token)]


# --- Prefect ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator["PrefectServer"]:  # noqa: F821
    """A real Prefect server with a home of its own."""
    from services.prefect_server import prefect_server

    with prefect_server(tmp_path_factory.mktemp("prefect")) as server:
        yield server


@pytest.fixture
def in_prefect(prefect_api: "PrefectServer") -> Iterator["PrefectServer"]:  # noqa: F821
    """Flows called in this process report to the real server."""
    from services.prefect_server import reporting_to

    with reporting_to(prefect_api):
        yield prefect_api
