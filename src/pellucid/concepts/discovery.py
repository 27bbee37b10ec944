"""ConceptDiscovery: concepts of rows that nobody labelled, with names, and coarse ones that hold them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pellucid._core.callers import outside
from pellucid._core.interrupts import unchanged_by_failure
from pellucid._core.saved import Fitted
from pellucid.concepts import levels
from pellucid.concepts.dictionary import (
    COSINE_ROWS,
    Dictionary,
    chosen_number,
    chosen_price,
    codes_of,
    comes_again,
    uses_of,
)
from pellucid.concepts.discovered import UNSTABLE
from pellucid.concepts.discriminant import FoundPresence, learn_discriminants, used
from pellucid.concepts.estimator import ConceptSubspaces
from pellucid.concepts.found_names import Names, general_words, named, told_apart
from pellucid.concepts.online import TOL
from pellucid.concepts.presence import Presence
from pellucid.concepts.rearranging import RearrangedConcepts
from pellucid.concepts.words import Vocabulary
from pellucid.rows import Blocks, is_lazy
from pellucid.rows.fitting import run
from pellucid.rows.lazy import fitted_blocks

# rows, and numbers in them, that presence, names and coarse concepts are learned from, and rows of either half by which
# it is seen what comes out again, at most
DRAWN_ROWS, DRAWN_NUMBERS, HALF_ROWS = 50_000, 1 << 25, 10_000
# items that are kept as examples of each concept
EXAMPLES = 10
# rows from which on it is said that nothing came out again: of fewer little can
TOLD_ROWS = 200
# rows that coarse concepts are learned from, at most, and concepts from which on there are coarse ones
COARSE_ROWS, LEAST_FINE = 10_000, 6


class ConceptDiscovery(RearrangedConcepts):
    """Find the concepts of rows without any labels: directions of which each row uses a few.

    What is fitted is a :class:`ConceptSubspaces`, whose concepts have one atom each: it searches, explains, tells which
    concepts a row has, and is saved, as one that was fitted to labels. Rows are taken raw.

    Parameters
    ----------
    n_concepts : int or "auto", default="auto"
        How many concepts to find. How many there are cannot be told from the rows alone, so "auto" takes rather too
        many (3√n, at most 256), of which those that are duplicates, unstable or empty are marked.
    n_coarse : int or "auto", default="auto"
        How many coarse concepts to find that hold them; "auto" is the root of their number, 0 none.
    center : bool, default=True
        Normalise rows, subtract the mean of the normalised training rows and normalise again, in every method; False
        takes rows as they are.
    max_iter : int, default=10
        Passes over the rows, at most; of many rows fewer are enough.
    sparsity : float, default=None
        What a coefficient costs, α‖x‖ in ½‖x − aB‖² + α‖x‖·Σa; the larger, the fewer concepts a row uses. None is .85
        standard deviations of the cosine of two rows.
    batch_size : int, default=None
        Rows per mini-batch; None takes a twentieth of them.
    tol : float, default=2e-3
        Stop when the error improves by less than this share.
    random_state : int, default=0
        Seed of whatever is drawn at random; the same seed gives the same bits, None other ones each time.
    verbose : int, default=0
        Show a bar while fitting if positive (on a terminal).

    Attributes
    ----------
    concept_names_ : ndarray of shape (S,)
        Names, all different; numbers where there were neither texts nor words.
    concept_words_ : ndarray of shape (S,)
        The first words that name each concept, with commas between them; empty where there are none.
    atoms_ : ndarray of shape (S, d)
        A direction for each concept, of unit length, in the space of prepared rows.
    share_ : ndarray of shape (S,)
        The share of the rows that have each concept.
    stability_ : ndarray of shape (S,)
        The cosine of each direction with its partner among those found in one half of the rows, and in the other: the
        mean of both.
    example_rows_ : ndarray of shape (S, E)
        Numbers of the rows that hold most of each concept, the most first; −1 where there are no more.
    explained_ : float
        The share of the energy of the rows that their codes explain.
    n_rows_ : int
        How many there were.
    under_ : ndarray of bool of shape (S, C)
        Which coarse concepts hold each concept; at least one does. Where there are any, as all ``coarse_…``.
    coarse_concept_names_ : ndarray of shape (C,)
        Names of the coarse concepts; see :meth:`coarse`, which makes a model of them.
    coarse_words_ : ndarray of shape (C,)
        The first words that name each, with commas between them.
    coarse_atoms_, coarse_groups_, coarse_usage_, coarse_objective_, coarse_presence_coef_ : ndarray
        What the model of coarse concepts is made of.
    coarse_presence_intercept_, coarse_presence_calibration_, coarse_presence_threshold_ : ndarray
        More of it.
    coarse_presence_counts_, coarse_presence_weight_ : ndarray
        More of it.
    groups_, usage_, objective_, n_iter_, n_dead_, sparsity_, preparation_, n_features_in_, label_names_ : ndarray
        As in :class:`ConceptSubspaces`.
    presence_coef_, presence_intercept_, presence_calibration_, presence_threshold_ : ndarray
        As in :class:`ConceptSubspaces`, but learned in closed form from the rows that use each concept.
    presence_counts_, presence_weight_, presence_sharp_, presence_sharp_intercept_ : ndarray
        More of it; the sharp ones tell rows that stand out.

    See Also
    --------
    ConceptSubspaces : Learns concepts from labels.
    pellucid.compare : Says which concepts are more frequent in one set of rows than in another.

    Examples
    --------
    >>> from pellucid import ConceptDiscovery
    >>> from pellucid.datasets import load_scenes
    >>> scenes = load_scenes()
    >>> rows = scenes.split.train[:500]
    >>> model = ConceptDiscovery(24, max_iter=3, n_coarse=0).fit(
    ...     scenes.vectors[rows], texts=[scenes.texts[i] for i in rows]
    ... )
    >>> model.shares(scenes.vectors[:5]).shape
    (5, 24)
    """

    _presence_type: ClassVar[type[Presence]] = FoundPresence
    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        **ConceptSubspaces._fitted_arrays,
        "presence_sharp_": Fitted("f", ("S", "n_features_in_"), optional=True),
        "presence_sharp_intercept_": Fitted("f", ("S",), optional=True),
        "concept_words_": Fitted("U", ("S",)),
        "share_": Fitted("f", ("S",)),
        "stability_": Fitted("f", ("S",)),
        "example_rows_": Fitted("i", ("S", "E")),
        "under_": Fitted("b", ("S", "C"), optional=True),
        "coarse_words_": Fitted("U", ("C",), optional=True),
        **levels.fitted_arrays(),
    }
    _fitted_values: ClassVar[dict[str, type]] = {**ConceptSubspaces._fitted_values, "explained_": float, "n_rows_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_concepts": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_coarse": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        **{
            name: ConceptSubspaces._parameter_constraints[name]
            for name in ("center", "max_iter", "sparsity", "batch_size", "random_state", "verbose")
        },
        "tol": [Interval(Real, 0, None, closed="left")],
    }
    tol: float

    # what a model of labels could have been told
    n_atoms, update, init, monotone, ridge, presence = 1, "online", None, False, 0.0, True

    def __init__(
        self,
        n_concepts: int | str = "auto",
        *,
        n_coarse: int | str = "auto",
        center: bool = True,
        max_iter: int = 10,
        sparsity: float | None = None,
        batch_size: int | None = None,
        tol: float = TOL,
        random_state: int | None = 0,
        verbose: int = 0,
    ) -> None:
        self.n_concepts = n_concepts
        self.n_coarse = n_coarse
        self.center = center
        self.max_iter = max_iter
        self.sparsity = sparsity
        self.batch_size = batch_size
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @unchanged_by_failure
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: None = None,
        *,
        texts: Sequence[str] | None = None,
        words: Sequence[str] | Vocabulary | None = None,
        word_vectors: ArrayLike | None = None,
        namer: Callable[[Names], str] | None = None,
    ) -> ConceptDiscovery:
        """Find the concepts, and name them.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.
        y : None
            Ignored; here because scikit-learn passes it.
        texts : sequence of str, default=None
            A text for each row: concepts are named by what their items' texts say and those of others do not.
        words : list of str or Vocabulary, default=None
            Words that concepts may be named by.
        word_vectors : array-like of shape (n_words, d), default=None
            Their vectors as they come, from the encoder of the rows or the text tower that goes with it.
        namer : callable, default=None
            Called with what is known of each concept (:class:`pellucid.concepts.Names`), returns its name; one that
            was given already, or an empty one, is made up for.

        Returns
        -------
        ConceptDiscovery
            The fitted model itself.

        Raises
        ------
        ValueError
            If there are not as many texts as rows, or word vectors are of another width than rows, or all rows are
            equal.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X, texts = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5, ["a cat", "cats", "the dog", "one dog"] * 5
        >>> sorted(ConceptDiscovery(2).fit(X, texts=texts).concept_names_.tolist())
        ['cat', 'dog']
        """
        rows = self._rows_to_learn(X)
        if texts is not None and len(texts) != len(rows):
            raise ValueError(f"There are {len(rows)} rows, but {len(texts)} texts.")
        vocabulary = self._vocabulary(words, word_vectors)
        rng = check_random_state(self.random_state)
        count = chosen_number(*rows.shape) if isinstance(self.n_concepts, str) else int(self.n_concepts)
        source = Dictionary(rows, self.sparsity_, float(self.tol), self.batch_size)
        state, _ = run(
            source.begin([count], "", rng),
            lambda state: source.sweep(state, rng),
            lambda state: source.over(state, self.max_iter),
            bar=("finding concepts", self.max_iter, self.verbose),
            say=lambda state: f"error {state.history[-1]:.4g}",
            stopped=lambda state: f"Stopped after {len(state.history) - 1} passes; what was found is usable.",
        )
        found = uses_of(rows, state.atoms, self.sparsity_, EXAMPLES)
        order = np.argsort(-found.members, kind="stable")
        self.atoms_, self.groups_ = state.atoms[order], np.arange(len(order))
        self.usage_, self.n_dead_ = np.asarray(state.grams.diagonal())[order], int((found.members == 0).sum())
        self.objective_, self.n_iter_ = np.array(state.history), len(state.history) - 1
        self.share_, self.example_rows_ = found.members[order] / found.rows, found.examples[order]
        self.n_rows_ = found.rows
        self.explained_ = 1 - found.left / found.energy if found.energy > 0 else 0.0
        at, drawn = self._drawn(rows, rng)
        self.stability_ = comes_again(
            drawn[np.sort(rng.permutation(len(drawn))[: 2 * HALF_ROWS])],
            self.atoms_,
            self.sparsity_,
            float(self.tol),
            self.max_iter,
            rng,
        )
        codes = codes_of(drawn, self.atoms_, self.sparsity_)
        has = used(codes)
        self._keep_presence(learn_discriminants(drawn, has, rng))
        said = None if texts is None else ["" if texts[i] is None else str(texts[i]) for i in at]
        self._name(named(self.atoms_, codes, said, vocabulary), texts, namer)
        self._find_coarse(drawn, has, said, vocabulary, rng)
        if self.n_rows_ >= TOLD_ROWS and (self.stability_ < UNSTABLE).all():
            warnings.warn(
                "No concept came out again of halves of the rows: they may hold none, or too few rows of each. Take "
                "fewer by n_concepts=, or more rows.",
                stacklevel=outside(),
            )
        return self

    def _rows_to_learn(self, X: Any) -> Blocks:
        """Prepared rows, with α chosen."""
        self._validate_params()
        for name in [*self._fitted_arrays, *self._fitted_values]:
            if hasattr(self, name):
                delattr(self, name)
        data: Any = fitted_blocks(self, X) if is_lazy(X) else self._rows(X, reset=True)
        if len(data) < 2:
            raise ValueError(f"Concepts cannot be found in {len(data)} sample: give at least 2 rows, better hundreds.")
        data = self._learn_preparation(data, in_batches=True)
        rows = data if isinstance(data, Blocks) else Blocks.held(data)
        if self.sparsity is None:
            some = np.unique(np.linspace(0, len(rows) - 1, COSINE_ROWS).astype(np.int64))
            self.sparsity_ = chosen_price(rows.take(some))
        else:
            self.sparsity_ = float(self.sparsity)
        return rows

    def _vocabulary(self, words: Any, vectors: Any) -> Vocabulary | None:
        if words is None:
            return None
        if vectors is None and not isinstance(words, Vocabulary):
            raise ValueError("Words need vectors, from the encoder of the rows: give word_vectors= too.")
        vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words, vectors)
        if vocabulary.vectors.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Words have vectors of {vocabulary.vectors.shape[1]} numbers, but rows have {self.n_features_in_}: "
                "both must come from the same encoder."
            )
        return vocabulary

    def _drawn(self, rows: Blocks, rng: np.random.RandomState) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Some rows, by their numbers."""
        most = max(2, min(DRAWN_ROWS, DRAWN_NUMBERS // rows.shape[1]))
        at = np.arange(len(rows)) if len(rows) <= most else np.sort(rng.permutation(len(rows))[:most])
        return at, rows.take(at)

    def _keep_presence(self, found: Presence) -> None:
        for name in self._presence_names():
            setattr(self, f"presence_{name}_", getattr(found, name))

    def _presence_of(self, rows: Blocks, has: Any, groups: Any = None) -> Presence:
        rng = check_random_state(self.random_state)
        at, drawn = self._drawn(rows, rng)
        some = has.take(at) != 0 if isinstance(has, Blocks) else has[at]
        return learn_discriminants(drawn, some, rng, None if groups is None else groups[at])

    def _find_coarse(
        self,
        rows: NDArray[Any],
        has: NDArray[np.bool_],
        texts: list[str] | None,
        vocabulary: Vocabulary | None,
        rng: np.random.RandomState,
    ) -> None:
        """Coarse concepts of the drawn rows, and which fine ones they hold."""
        S = len(self.concept_names_)
        count = round(float(np.sqrt(S))) if isinstance(self.n_coarse, str) else min(int(self.n_coarse), S)
        if count == 0 or (isinstance(self.n_coarse, str) and S < LEAST_FINE):
            return
        some = np.sort(rng.permutation(len(rows))[:COARSE_ROWS])
        made = levels.coarse_model(rows[some], count, self.sparsity_, self.max_iter, rng)
        if made is None:
            return
        model, members = made
        self.under_ = levels.holders(has[some], members)
        if vocabulary is None:
            said = None if texts is None else [texts[i] for i in some]
            known = named(levels.directions(model), members.astype(float), said, None)
        else:
            known = general_words(levels.directions(model), self.atoms_, self.under_, vocabulary)
        model.concept_names_ = np.array(told_apart(known), dtype=object)
        levels.keep(self, model)
        self.coarse_words_ = np.array([", ".join(words) for words in known], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
