"""Sphinx configuration: Markdown pages, an API reference from the docstrings, no network."""

import sys
from pathlib import Path

import pellucid

sys.path.insert(0, str(Path(__file__).parent))

project = "Pellucid"
author = "the Pellucid authors"
copyright = "2026, the Pellucid authors"
version = release = pellucid.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "mathml"]
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Pellucid"
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the pages of reference.py say which to show


def setup(app):
    """Write the pages of the API reference before Sphinx looks for pages."""
    import reference

    reference.write(Path(__file__).parent / "api")
