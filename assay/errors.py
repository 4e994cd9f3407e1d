"""The errors that Assay raises on purpose. Each message says what was wrong, where, and what to do about it.

>>> import assay
>>> try:
...     assay.load("no-such-evaluation", store="./no-such-folder")
... except assay.errors.BadInput as error:
...     print(type(error).__name__)
UnknownEvaluation
"""

from assay.evalcore.errors import AssayError, BadArgument, BadInput, UnknownName, Unreachable
from assay.flows.evaluation.begin import NameTaken
from assay.flows.record.named import UnknownEvaluation

__all__ = [
    "AssayError", "BadArgument", "BadInput", "NameTaken", "UnknownEvaluation", "UnknownName", "Unreachable",
]
