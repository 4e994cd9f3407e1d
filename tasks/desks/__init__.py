"""Desks: where people label. `open_desk` turns the spec's `desk` into one."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from assay.tasks.desks.protocol import Desk, DeskRefused
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.spec.parts import FolderDesk, LabelStudioDesk, SimulatedDesk

if TYPE_CHECKING:
    from assay.tasks.spec.evaluation import Spec


def open_desk(
    spec: "Spec",
    store: Store,
    *,
    identity: str = "",
    environment: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.time,
) -> Desk:
    """The desk of one evaluation. Nothing is sent or written yet: that is `prepare`.

    store        the ledger's; only the simulated desk keeps anything in it, outside the record
    identity     tells apart evaluations of one name in different ledgers on one Label Studio
    environment  where LABEL_STUDIO_API_KEY is looked up
    clock        seconds since some moment that is the same for every process

    Raises DeskRefused if a token is needed and there is none, BadInput for an unusable address.
    """
    desk = spec.desk
    classes = [spec.labels.positive, spec.labels.negative]   # the order of hotkeys
    # Each kind is imported when it is chosen: the SDK of one of them takes seconds.
    if isinstance(desk, LabelStudioDesk):
        from assay.tasks.desks.label_studio import desk as label_studio
        from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi

        token = environment.get(TOKEN_VARIABLE, "").strip()
        if not token:
            raise DeskRefused(
                f"desk.kind label-studio needs an access token for {desk.url}; put one into the environment "
                f"variable {TOKEN_VARIABLE} (Label Studio: Account & Settings)"
            )
        return label_studio.LabelStudioDesk(
            LabelStudioApi(desk.url, token),
            evaluation=spec.name, classes=classes, display=spec.pool.display, show_as=spec.pool.show_as,
            title=desk.project, identity=identity, annotators_per_item=desk.annotators_per_item,
        )
    if isinstance(desk, FolderDesk):
        from assay.tasks.desks.folder import desk as folder

        return folder.FolderDesk(
            Path(desk.path).expanduser(), evaluation=spec.name, classes=classes, display=spec.pool.display,
            annotators_per_item=desk.annotators_per_item,
        )
    if isinstance(desk, SimulatedDesk):
        from assay.tasks.desks.simulated import desk as simulated

        return simulated.SimulatedDesk(
            desk.labels, evaluation=spec.name, classes=classes, store=store,
            id_column=desk.id or spec.pool.id, label_column=desk.label,
            annotators_per_item=desk.annotators_per_item, error_rate=desk.error_rate, delay=desk.delay,
            annotators=None if desk.annotators is None else [
                (one.false_positive, one.miss) for one in desk.annotators
            ],
            seed=spec.seed, clock=clock,
        )
    raise TypeError(f"no desk of type {type(desk).__name__}")
