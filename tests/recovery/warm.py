"""What a forked process of `recovery.kills` has imported before it begins: everything slow, and no more.

The SDK of Label Studio imports most of itself when its first client is made.
"""

import pyarrow.dataset
import rich.console

import flows.begin
import flows.cli
import flows.evaluate
import flows.reporting
import tasks.desks.label_studio
from tasks.desks.label_studio_api import LabelStudioApi
from tasks.ledger.s3_store import S3Store

__all__ = ["S3Store", "flows", "pyarrow", "rich", "tasks"]
LabelStudioApi("http://127.0.0.1:1", "nobody")
