"""The gallery: the order of its examples, and their pictures, which are found among the variables of an example, since
figures of this package are not pyplot's."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst
from sphinx_gallery.sorting import FileNameSortKey

# what most people come for, first
ORDER = (
    "search_by_a_part", "but_not_that", "which_concepts", "why_retrieved", "topics", "what_changed", "trends",
    "concept_erasure", "clusters_of_a_table", "diverse_results", "composed_queries", "names_of_concepts",
    "label_errors", "what_drives_a_target", "clusters_of_digits", "how_many_clusters", "yes_no_structure",
    "isometry_pursuit", "images_without_a_network", "how_many_atoms",
)  # fmt: skip


class Order(FileNameSortKey):
    """By the list above; a file that it does not name is an error."""

    def __call__(self, filename: str) -> int:
        return ORDER.index(filename.removeprefix("plot_").removesuffix(".py"))


def scraper(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save each figure that an example drew so far, once, and show it."""
    import matplotlib.pyplot as plt

    values = list(variables["example_globals"].values())
    figures = {id(f): f for f in (v.figure if isinstance(v, Axes) else v for v in values) if isinstance(f, Figure)}
    names = []
    for figure in figures.values():
        if not getattr(figure, "in_the_gallery", False):
            figure.in_the_gallery = True
            names.append(next(variables["image_path_iterator"]))
            figure.savefig(names[-1], dpi=110)
    plt.close("all")
    return figure_rst(names, settings["src_dir"])
