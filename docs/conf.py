"""Sphinx configuration: Markdown pages, an API reference from the docstrings, no network."""

import pellucid

project = "Pellucid"
author = "the Pellucid authors"
copyright = "2026, the Pellucid authors"
version = release = pellucid.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Pellucid"
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the pages of reference.py say which to show


def setup(app):
    """Write the pages of the API reference before Sphinx looks for pages."""
    import sys
    from pathlib import Path

    here = Path(__file__).parent
    sys.path.insert(0, str(here))
    import reference

    reference.write(here / "api")
