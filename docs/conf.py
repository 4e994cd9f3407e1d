"""The documentation site: `make docs` builds it into .cache/site; a warning is an error."""

import gc
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import interfaces

import assay
from assay.flows.cli.schemas import json_page
from assay.tasks.spec.reference import reference_page
from benchmarks.abilities import every_table

gc.set_threshold(200_000, 20, 100)      # pages are no garbage: to look through them took a quarter of a build

project = "Assay"
author = "The developers of Assay"
version = release = assay.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parents[1] / ".cache" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
napoleon_numpy_docstring = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 80
default_role = "literal"
html_theme = "pydata_sphinx_theme"
html_title = "Assay"
html_theme_options = {
    "show_prev_next": False, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"**": ["sidebar-nav-bs"]}

# Pages that end with tables made from the code. What is committed is their beginning.
MADE: Mapping[str, Callable[[], str]] = {
    "reference/spec": reference_page, "reference/json": json_page, "reference/methods": every_table,
    "reference/promised": interfaces.promised_page,
}


def _with_tables(_: Any, page: str, source: list[str]) -> None:
    if page in MADE:
        source[0] = f"{source[0].rstrip()}\n\n{MADE[page]()}\n"


def setup(app: Any) -> None:
    """Tables are made anew by every build, whether or not the beginning of their page changed."""
    app.connect("source-read", _with_tables)
    app.connect("env-get-outdated", lambda *_: list(MADE))
