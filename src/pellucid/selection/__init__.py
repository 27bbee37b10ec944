"""Choosing few of many: rows that are as orthonormal as possible, result lists that do not repeat themselves."""

from typing import TYPE_CHECKING

from pellucid._core.lazy import lazily

if TYPE_CHECKING:
    from pellucid.selection.diversity import diversify
    from pellucid.selection.pursuit import IsometryPursuit, brute_isometry, greedy_isometry

_HOMES = {
    "IsometryPursuit": "pursuit",
    "brute_isometry": "pursuit",
    "diversify": "diversity",
    "greedy_isometry": "pursuit",
}
__all__ = ["IsometryPursuit", "brute_isometry", "diversify", "greedy_isometry"]

__getattr__, __dir__ = lazily(__name__, _HOMES)
