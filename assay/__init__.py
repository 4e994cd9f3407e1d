"""Assay: how good is a model on today's traffic, and how sure are we?

    import assay

    result = assay.evaluate(frame, outcome=["spam", "ham"], prediction="predicted", score="score",
                            measures=["f1"], oracle=label_of, target=0.05, budget=300)
    print(result.summary())

`evaluate` asks a function, `begin` asks people or a tool of your own; `replay` tries methods on labelled
predictions, `estimate` reads labels that you have; `import_logs` makes a pool of other tools' logs; `open`
and `load` find evaluations again, `report` shows several. Names are imported when they are used: `import
assay` alone is quick.
"""

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay import errors
    from assay.face.beginning import begin
    from assay.face.evaluation import Evaluation, load
    from assay.face.inline import aevaluate, evaluate
    from assay.face.labelled import estimate
    from assay.face.logs import Logs, import_logs
    from assay.face.recycling import recycle
    from assay.face.repeating import repeats
    from assay.face.results import Estimate, Estimates, Replay, Result
    from assay.face.several import Evaluations, open, report
    from assay.face.simulation import replay

__all__ = [
    "Estimate", "Estimates", "Evaluation", "Evaluations", "Logs", "Replay", "Result",
    "aevaluate", "begin", "errors", "estimate", "evaluate", "import_logs", "load", "open", "recycle",
    "repeats", "replay", "report",
]

_HOMES = {
    "begin": "beginning", "load": "evaluation", "Evaluation": "evaluation", "evaluate": "inline",
    "aevaluate": "inline",
    "estimate": "labelled", "open": "several", "Evaluations": "several",
    "Estimate": "results", "Estimates": "results", "Replay": "results", "Result": "results",
    "replay": "simulation", "recycle": "recycling", "repeats": "repeating",
    "report": "several", "import_logs": "logs",
    "Logs": "logs",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__version__":
        return import_module("assay.tasks.ledger.life").versions()["assay"]
    if name == "errors":
        return import_module("assay.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}; it has {', '.join(__all__)}")
    collects = gc.isenabled()
    gc.disable()    # what an import makes is no garbage, and looking through it takes a fifth of the time
    try:
        return getattr(import_module(f"assay.face.{_HOMES[name]}"), name)
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
