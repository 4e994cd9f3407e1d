"""The documentation site: `make docs` builds it into .cache/site; a warning is an error."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import assay

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
