"""Which cases of a simulation the gate leaves to `make studies`."""

from typing import Any

import pytest


def in_a_study(*values: Any) -> Any:
    """A case of `parametrize` with the mark `study`; another case of the same test stays in the gate."""
    return pytest.param(*values, marks=pytest.mark.study)
