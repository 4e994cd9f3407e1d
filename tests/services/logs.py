"""Logs of other tools, made by the tools themselves: `make connectors` makes them anew."""

import os
from pathlib import Path

LOGS = Path(os.environ.get("ASSAY_LOGS", Path(__file__).parents[1] / "logs"))
