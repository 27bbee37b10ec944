"""The picture of docs/how-to/compare.md."""

from pathlib import Path

import numpy as np

from pellucid import ConceptSubspaces, compare
from pellucid.datasets import load_scenes


def comparison_pictures(folder: Path) -> None:
    """Two sets of scenes, one of which has animals twice as likely."""
    scenes = load_scenes()
    train, rest = scenes.split.train, np.r_[scenes.split.queries, scenes.split.candidates]
    model = ConceptSubspaces().fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
    rng = np.random.default_rng(0)
    weight = 1.0 + scenes.coarse[rest, scenes.coarse_names.index("animal")]
    march, february = rng.choice(rest, 3000, p=weight / weight.sum()), rng.choice(rest, 3000)
    found = compare(scenes.vectors[march], scenes.vectors[february], model=model)
    found.plot().figure.savefig(folder / "compare-months.png", dpi=130)
