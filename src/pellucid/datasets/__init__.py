"""Scenes, the data set that ships with the package."""

from pellucid.datasets.scenes import Scenes, Split, load_scenes

__all__ = ["Scenes", "Split", "load_scenes"]
