"""The documentation site: `make docs` builds it into .cache/site; a warning is an error."""

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "Assay"
author = "The developers of Assay"
version = release = installed("assay-evaluation")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_click"]
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parents[1] / ".cache" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
html_theme = "pydata_sphinx_theme"
html_title = "Assay"
html_theme_options = {
    "show_prev_next": False, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"**": ["sidebar-nav-bs"]}


_NAMED = re.compile(r"([\w.*]+(?:, [\w.*]+)*) {2,}(\S.*)")     # "data   a frame ...", in docstrings


def _as_fields(
    _app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Lists of arguments as fields, each with the lines that go on below it."""
    result, inside = [], False
    for line in lines:
        named = _NAMED.fullmatch(line)
        if named:
            if not inside and result and result[-1]:
                result.append("")
            field = f"param {named[1]}" if named[1].isidentifier() else named[1].replace("*", "\\*")
            result.append(f":{field}: {named[2]}")
        elif inside and line.startswith(" "):
            result.append("   " + line.strip())
        else:
            if inside and line:
                result.append("")
            result.append(line)
        inside = bool(named) or (inside and line.startswith(" "))
    lines[:] = result


def setup(app: "Sphinx") -> None:
    """Hooks of the build."""
    app.connect("autodoc-process-docstring", _as_fields)
