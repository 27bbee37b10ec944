"""Tables of vectors that stay where they are: attached to read, and never written."""

from pellucid.search.attached.address import attach
from pellucid.search.attached.collection import AttachedCollection

__all__ = ["AttachedCollection", "attach"]
