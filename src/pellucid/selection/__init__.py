"""Choosing few of many: columns that are as orthonormal as possible, result lists that do not repeat themselves."""

from pellucid.selection.diversity import diversify

__all__ = ["diversify"]
