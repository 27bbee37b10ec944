"""Where rows come from: a source is a list of parts, each read a block at a time, here or on a Dask cluster's workers.

:class:`Blocks` and :class:`TextBlocks` are the sources that users make, of what need not be held as a whole. An array
that a fit is given as such is a source, too, with one part and one block (``Blocks.held``). A pass calls one function
on every part and takes what it returns in the order of the parts, so that sums have the same bits on any number of
workers; what a fit knows of each row from sweep to sweep (labels, costs) is cut as the parts are.
:mod:`pellucid.rows.fitting` has the loop that goes over them.
"""

from pellucid.rows.blocks import Blocks
from pellucid.rows.lazy import as_blocks, is_lazy
from pellucid.rows.parts import is_dask
from pellucid.rows.texts import TextBlocks

__all__ = ["Blocks", "TextBlocks", "as_blocks", "is_dask", "is_lazy"]
