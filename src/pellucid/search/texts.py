"""Texts as queries: an encoder makes vectors of them, which are brought to where the items lie.

Texts of another modality than the items (CLIP's captions of photos) crowd around a mean of their own. It is taken out
of them, in place of the items' mean if a model takes that out of items (paper 1, section 4.1).
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid.preparation import CenteredNormalizer
from pellucid.search.encoders import EncoderError, find_encoder

# items whose texts are embedded to see where texts lie; the mean of 64 captions serves as well as that of 400
PROBES, SAMPLED = 64, 2_000
# fewer texts or items than these do not tell where their means are
FEWEST_TEXTS, FEWEST_ITEMS = 8, 20
# the share of the mean squared distance between a text and an item that lies between their means, from which on texts
# lie apart: with the items' own texts, and with texts that are about anything
OWN_TEXTS, ANY_TEXTS = 0.2, 0.35
# squared length of the mean of unit vectors below which nothing is left of it, and from which on there is one
CENTRED, CROWDED = 0.003, 0.02
# lengths that differ by this factor are those of vectors that were made in another way
LENGTHS = 2.0
# texts whose vectors are kept: who searches asks next why
KEPT = 256
TEXT_COLUMNS = ("text", "caption", "captions", "title", "body")
# about anything, where the items have no texts
ANYTHING = (
    "a dog runs along a beach", "two people talk in an office", "a bowl of soup on a table", "a red car on a street",
    "the price of oil rose last week", "how to repair a bicycle tyre", "a child plays the piano", "snow on a mountain",
    "the patient was given an antibiotic", "a recipe with rice and beans", "a boat in a harbour at night",
    "an old church in a small town", "the court dismissed the appeal", "a team scores in the last minute",
    "a woman reads a newspaper", "error while opening the file", "a bird on a branch", "flowers in a garden",
    "a train arrives at the station", "the history of the Roman empire", "a cat sleeps on a chair",
    "a man with a hat and a guitar", "instructions for a washing machine", "the planets of the solar system",
    "a good book for the holidays", "I would like to return my order", "children swim in a lake",
    "a plate with fruit and cheese", "the novel has three parts", "a horse behind a fence", "a crowded market",
    "a letter to the editor",
)  # fmt: skip


class Text(str):
    """A text to search for, also where an item has it for an id.

    Parameters
    ----------
    text : str
        The text.

    Examples
    --------
    >>> from pellucid.search import Text
    >>> Text("17")
    Text('17')
    """

    def __new__(cls, text: str) -> Text:
        return super().__new__(cls, text)

    def __repr__(self) -> str:
        return f"Text({str.__repr__(self)})"


class TextEncoder:
    """Turns texts into vectors for queries.

    Parameters
    ----------
    encoder : str, callable or object
        What embeds: ``"module:function"``, or ``"sentence-transformers:MODEL"``, ``"fastembed:MODEL"``,
        ``"openai:MODEL"`` (any service of that protocol: ``"openai:MODEL@http://127.0.0.1:11434/v1"``),
        ``"clip:MODEL"`` or ``"open_clip:MODEL/TRAINED_ON"``; a function from a list of n texts to n vectors; or an
        object of sentence-transformers, fastembed, LangChain or LlamaIndex that embeds.
    texts : sequence of str, default=None
        Texts like those that will be searched for, if texts and items are of different modalities: the mean of their
        vectors is taken out of queries. Some dozens will do. None finds out: from the items' own texts, if they have
        any, else from texts that are about anything.

    Attributes
    ----------
    name : str
        What the encoder is called.

    Raises
    ------
    EncoderError
        If there is no such encoder.

    Examples
    --------
    >>> from pellucid.search import TextEncoder
    >>> encoder = TextEncoder(lambda texts: [[len(text), text.count("a")] for text in texts])
    >>> encoder.encode(["a cat"]).tolist()
    [[5.0, 2.0]]
    """

    def __init__(self, encoder: Any, *, texts: Iterable[str] | None = None) -> None:
        self.name, self._function = find_encoder(encoder)
        if isinstance(texts, str):
            raise TypeError("texts must be a list of texts, not one.")
        self.texts = None if texts is None else [str(text) for text in texts]
        if self.texts is not None and len(self.texts) < 2:
            raise ValueError("texts must be two at least: their mean is taken out of queries, and one has no other.")
        self._kept: OrderedDict[str, NDArray[np.float64]] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"TextEncoder({self.name!r})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Vectors of texts, as they come.

        Parameters
        ----------
        texts : list of str
            The texts.

        Returns
        -------
        ndarray of shape (n, d)
            A vector for each.

        Raises
        ------
        EncoderError
            If the encoder fails, or gives something else than a vector of finite numbers for each.
        """
        asked = [str(text) for text in texts]
        empty = next((i for i, text in enumerate(asked) if not text.strip()), None)
        if empty is not None:
            raise EncoderError("A text to search for is empty: write what you look for.")
        with self._lock:  # an encoder need not stand two threads
            new = [text for text in dict.fromkeys(asked) if text not in self._kept]
            made = dict(zip(new, self._encoded(new))) if new else {}
            rows = np.array([made[text] if text in made else self._kept[text] for text in asked])
            for text in asked:
                self._kept[text] = made.get(text, self._kept.get(text))  # type: ignore[assignment]
                self._kept.move_to_end(text)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return rows

    def _encoded(self, texts: list[str]) -> NDArray[np.float64]:
        try:
            found = self._function(texts)
            if hasattr(found, "__next__"):
                found = list(found)
        except (EncoderError, ImportError):
            raise
        except Exception as error:
            said = " ".join(str(error).split()) or "no reason given"
            raise EncoderError(f"The encoder {self.name} failed: {type(error).__name__}: {said}") from error
        try:
            rows = np.asarray(found, dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise EncoderError(
                f"The encoder {self.name} gave {type(found).__name__}, which is no table of numbers: it must give one "
                "vector for each text, all of one length."
            ) from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise EncoderError(
                f"The encoder {self.name} was given a list of {len(texts)} texts and gave an array of shape "
                f"{rows.shape}: it must give one vector for each, ({len(texts)}, d)."
            )
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            raise EncoderError(f"The encoder {self.name} gave a value that is not finite for {shown(texts[wrong[0]])}.")
        zero = np.flatnonzero(~rows.any(axis=1))
        if len(zero):
            raise EncoderError(f"The encoder {self.name} gave a vector of zeros for {shown(texts[zero[0]])}.")
        return rows


@dataclass(frozen=True)
class TextCheck:
    """How an encoder's vectors lie beside the items of a collection.

    Attributes
    ----------
    dimension : int
        Numbers in a vector.
    n_texts : int
        Texts that were looked at.
    source : {"given", "items", "any"}
        Which: those that were given, texts of the items, or texts about anything.
    length : float
        Median length of the vectors of texts.
    item_length : float
        Median length of the items' vectors.
    gap : float
        How much of the mean squared distance between a text and an item lies between their means, from 0 to 1; 0.4 for
        CLIP's captions and photos.
    apart : bool
        Whether queries get a mean of their own.
    """

    dimension: int
    n_texts: int
    source: str
    length: float
    item_length: float
    gap: float
    apart: bool


class TextQueries:
    """Texts as prepared queries for a collection; what the encoder is like is looked at once, at the first of them."""

    def __init__(self, encoder: TextEncoder, collection: Any, preparation: CenteredNormalizer | None) -> None:
        self.encoder, self.collection, self.preparation = encoder, collection, preparation
        self._lock = threading.Lock()

    def prepared(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Rows (n, d) as the model sees items."""
        rows = self._checked(self.encoder.encode(texts))
        return self.place(rows)

    def place(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Vectors of texts brought to where prepared items lie."""
        _, mine = self._looked
        before = self.preparation
        if not self.check.apart:
            return rows if before is None else np.asarray(before.transform(rows))
        if before is None or not before.center:
            return unit_rows(unit_rows(rows) - mine)
        own = copy(before)
        own.mean_ = mine
        return np.asarray(own.transform(rows))

    @property
    def check(self) -> TextCheck:
        """How the encoder's vectors lie beside the items."""
        return self._looked[0]

    @property
    def _looked(self) -> tuple[TextCheck, NDArray[np.float64]]:
        with self._lock:
            return self._look

    @cached_property
    def _look(self) -> tuple[TextCheck, NDArray[np.float64]]:
        """The check, and the mean of texts at unit length (d,)."""
        given = self.encoder.texts
        own = [] if given else texts_of(self.collection)
        enough = len(own) >= FEWEST_TEXTS
        texts, source = (given, "given") if given else (own, "items") if enough else (list(ANYTHING), "any")
        rows = self._probed(texts, source)
        items = np.asarray(self.collection.sample(SAMPLED), dtype=np.float64)
        lengths = np.linalg.norm(items, axis=1)
        units = items[lengths > 0] / lengths[lengths > 0, None]
        theirs = units.mean(axis=0)
        known = self.collection.preparation  # rows that an earlier version prepared lie around zero
        if known is not None:
            theirs = np.asarray(known.mean_)
        elif self.preparation is not None and self.preparation.center:
            theirs = np.asarray(self.preparation.mean_)
        mine = unit_rows(rows).mean(axis=0) if len(rows) else theirs
        gap, (text_mean, item_mean) = gap_of(mine, len(rows), theirs, len(units))
        told = len(rows) >= FEWEST_TEXTS and len(units) >= FEWEST_ITEMS
        centred = told and item_mean < CENTRED and text_mean > CROWDED
        far = told and gap > (OWN_TEXTS if source == "items" else ANY_TEXTS)
        apart = source == "given" or centred or far
        item_length = float(np.median(lengths))
        length = float(np.median(np.linalg.norm(rows, axis=1))) if len(rows) else item_length
        found = TextCheck(rows.shape[1], len(texts), source, length, item_length, gap, apart)
        self._warn(found, centred, raw=known is None)
        return found, mine

    def _probed(self, texts: list[str], source: str) -> NDArray[np.float64]:
        """Vectors of texts to look at; an encoder that knows no texts but its own is taken as it is."""
        try:
            rows = self._checked(self.encoder.encode(texts))
        except EncoderError as error:
            if source == "given":
                raise
            warnings.warn(f"Whether texts lie where the items do was not looked at: {error}", stacklevel=7)
            return np.empty((0, self.collection.dimension))
        if np.ptp(unit_rows(rows), axis=0).max() < 1e-9:
            raise EncoderError(
                f"The encoder {self.encoder.name} gives the same vector for all of {len(rows)} texts that were tried."
            )
        return rows

    def _warn(self, found: TextCheck, centred: bool, raw: bool) -> None:
        if found.apart and found.source != "given":
            if centred:
                why = "the collection's lie around zero, as if a mean had been taken out, and those of texts do not"
            else:
                why = f"{found.gap:.0%} of their squared distance lies between the means, as of captions and photos"
            whose = "of the items" if found.source == "items" else "about anything"
            warnings.warn(
                f"Vectors of texts and of the collection lie apart: {why}. The mean of {found.n_texts} texts {whose} "
                "is taken out of queries; texts like yours are better (--texts FILE, TextEncoder(texts=…)). If one "
                "model is to have made both, check that it did.",
                stacklevel=6,
            )
        short, long = sorted((found.length, found.item_length))
        if raw and short * LENGTHS < long:
            warnings.warn(
                f"The encoder's vectors have length {found.length:.3g}, the collection's {found.item_length:.3g}. "
                "Cosines do not depend on it, but see that both are of one model.",
                stacklevel=6,
            )

    def _checked(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if rows.shape[1] != self.collection.dimension:
            raise EncoderError(
                f"The encoder {self.encoder.name} gives vectors of {rows.shape[1]} numbers, but the collection has "
                f"{self.collection.dimension}: search with the model that made the collection's vectors."
            )
        return rows


def gap_of(mine: NDArray[np.float64], n: int, theirs: NDArray[np.float64], m: int) -> tuple[float, tuple[float, float]]:
    """‖μ − ν‖² over E‖t − c‖² for unit vectors with means μ of n texts and ν of m items, and ‖μ‖², ‖ν‖²; each square
    less what it has by chance."""
    spreads = [(1 - mean @ mean) * size / max(1, size - 1) for mean, size in ((mine, n), (theirs, m))]
    chance = [spread / max(1, size) for spread, size in zip(spreads, (n, m))]
    apart = max(0.0, float((mine - theirs) @ (mine - theirs)) - sum(chance))
    squares = float(mine @ mine - chance[0]), float(theirs @ theirs - chance[1])
    return float(apart / max(apart + sum(spreads), 1e-12)), squares


def texts_of(collection: Any) -> list[str]:
    """Texts of some items, if they have any: of the first column that is called like one."""
    if not len(collection):
        raise EncoderError("The collection is empty: there is nothing to search.")
    page = next(iter(collection.id_pages()))  # all ids of a table that others made may be too many
    some = np.unique(np.linspace(0, len(page) - 1, PROBES).astype(np.int64))
    rows = [collection.item(collection.position(page[i])) for i in some]
    for name in TEXT_COLUMNS:
        found = [value[0] if isinstance(value, list) and value else value for value in (row.get(name) for row in rows)]
        texts = [value for value in found if isinstance(value, str) and value.strip()]
        if len(texts) * 2 > len(rows):
            return list(dict.fromkeys(texts))
    return []


def shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def text_encoder(encoder: Any, texts: Iterable[str] | None = None) -> TextEncoder | None:
    """An encoder as it is kept: as it came if it is one already."""
    if encoder is None or isinstance(encoder, TextEncoder):
        return encoder
    return TextEncoder(encoder, texts=texts)
