"""Choosing few of many: rows that are as orthonormal as possible, result lists that do not repeat themselves."""

from pellucid.selection.diversity import diversify
from pellucid.selection.pursuit import IsometryPursuit, brute_isometry, greedy_isometry

__all__ = ["IsometryPursuit", "brute_isometry", "diversify", "greedy_isometry"]
