"""Sphinx configuration: Markdown pages, an API reference from the docstrings, no network."""

import os
import sys
from pathlib import Path

import pellucid

sys.path.insert(0, str(Path(__file__).parent))

project = "Pellucid"
author = "the Pellucid authors"
copyright = "2026, the Pellucid authors"
version = release = pellucid.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "mathml", "sphinx_gallery.gen_gallery"]
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
exclude_patterns = ["_build"]
html_extra_path = ["llms.txt"]
html_theme = "furo"
html_title = "Pellucid"
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "image_scrapers": "drawn.scraper",
    "within_subsection_order": "drawn.Order",
    # building the pages for a test takes no minute; `make docs` runs every example, and fails where one does
    "plot_gallery": os.environ.get("PELLUCID_GALLERY", "no") == "yes",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 60,
    "remove_config_comments": True,
}
suppress_warnings = ["config.cache"]
numpydoc_show_class_members = False  # the pages of reference.py say which to show


def setup(app):
    """Write the pages of the API reference before Sphinx looks for pages."""
    import reference

    reference.write(Path(__file__).parent / "api")
