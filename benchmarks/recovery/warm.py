"""What a forked process of `kills` has imported before it begins: everything slow, and no more.

The SDK of Label Studio imports most of itself when its first client is made.
"""

import pyarrow.dataset
import rich.console

from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.ledger.stores.s3 import S3Store

__all__ = ["S3Store", "pyarrow", "rich"]
LabelStudioApi("http://127.0.0.1:1", "nobody")
