"""The ways to rank candidates by one concept of a query that paper 1's tables and a sceptic would compare.

A method is a list of options; an option has a name and either a ``model`` (queries are projected) or a ``score``, as
``concept_retrieval`` takes them. Which option is taken is decided on validation queries, for each measure.
"""

from __future__ import annotations

import copy
from functools import cache
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression

from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.concepts import zero_shot_labels
from pellucid.metrics import concept_retrieval
from pellucid.preparation import CenteredNormalizer
from pellucid.search.wanted import Asked, Learned, wanted
from pellucid.solvers import lasso
from reproductions.common import Task

SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16)
WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0)
REGULARISATIONS = (1.0, 10.0)
THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
PENALTIES = (0.1, 0.15, 0.2, 0.3)
MEASURES = ("general", "sub")


def evaluate(task: Task, queries, model=None, score=None):
    """mAP@20 of the queries (validation or test) against the test candidates."""
    return concept_retrieval(
        model,
        queries.vectors,
        task.candidates.vectors,
        queries.coarse,
        task.candidates.coarse,
        query_fine=queries.fine,
        candidate_fine=task.candidates.fine,
        fine_to_coarse=task.fine_to_coarse,
        score=score,
    )


def chosen(task: Task, options):
    """For each measure, then for the sum of both: the option that is best on validation queries, and its retrieval of
    the test queries."""
    options = [(name, how, evaluate(task, task.validation, **how())) for name, how in options]
    ways = [lambda r: r.general, lambda r: r.sub, lambda r: r.general + r.sub]
    picked = [max(options, key=lambda option: way(option[2])) for way in ways]
    found = {name: evaluate(task, task.queries, **how()) for name, how, _ in picked}
    return [(name, found[name]) for name, _, _ in picked]


def cones(task: Task, labels, max_iter=10, sizes=SIZES, **settings):
    """A model per size."""

    @cache
    def model(size):
        return ConceptSubspaces(size, max_iter=max_iter, **settings, center=False).fit(
            task.train.vectors, labels, task.concept_names
        )

    return [(str(size), lambda size=size: {"model": model(size)}) for size in sizes]


def guessed_labels(task: Task):
    """The concept words nearest to each training row, as many as rows have concepts on average."""
    active = max(1, round(float(task.train.coarse.sum(axis=1).mean())))
    return active, zero_shot_labels(task.train.raw, task.concept_vectors, active)


def ours(task: Task):
    """This library's own score with its defaults: one setting, so that there is nothing to choose."""
    model = ConceptSubspaces(center=False, random_state=0).fit(
        task.train.vectors, task.train.coarse, task.concept_names
    )

    def score(X, j):
        name = task.concept_names[j]
        asked = Asked([(Learned(name, model.cones, [name], j), 1.0)], [], True)
        return wanted(X, asked, model.presence_model).scores(task.candidates.vectors, model.presence_model)

    return [("defaults", lambda: {"score": score})]


def probabilities(task: Task):
    """Of each concept for each candidate, from a logistic regression on the vectors, by regularisation."""

    @cache
    def of(C):
        with one_blas_thread():
            return np.array(
                [
                    LogisticRegression(max_iter=2000, C=C)
                    .fit(task.train.vectors, task.train.coarse[:, j])
                    .predict_proba(task.candidates.vectors)[:, 1]
                    for j in range(len(task.concept_names))
                ]
            )

    return of


def plus_probability(task: Task, of):
    pool = task.candidates.vectors
    return [
        (
            f"λ={weight:g}, C={C:g}",
            lambda C=C, weight=weight: {"score": lambda X, j: X @ pool.T + weight * of(C)[j]},
        )
        for C, weight in product(REGULARISATIONS, WEIGHTS)
    ]


def filtered_by_classifier(task: Task, of):
    """Those with a probability above a threshold come first, by plain cosine; then the others, likewise."""
    pool = task.candidates.vectors
    return [
        (
            f"p>{least:g}, C={C:g}",
            lambda C=C, least=least: {"score": lambda X, j: X @ pool.T + 10.0 * (of(C)[j] > least)},
        )
        for C, least in product(REGULARISATIONS, THRESHOLDS)
    ]


def towards_word(task: Task):
    """The query moved towards the concept word."""
    pool = task.candidates.vectors
    word = unit_rows(np.asarray(task.concept_vectors) - task.train.raw.mean(axis=0))
    return [
        (f"λ={weight:g}", lambda weight=weight: {"score": lambda X, j: unit_rows(X + weight * word[j]) @ pool.T})
        for weight in WEIGHTS
    ]


class Splice:
    """SpLiCE as a model: a query is a sparse non-negative combination of words, as many as the penalty lets in.

    Filtered, only the words nearest to the concept's own word are kept. Words are normalised, centred with their own
    mean and normalised again; concept words likewise (paper 1, section 4.4).
    """

    def __init__(self, task: Task, penalty: float) -> None:
        centring = CenteredNormalizer().fit(np.asarray(task.word_vectors, dtype=np.float32))
        self.words = centring.transform(np.asarray(task.word_vectors, dtype=np.float32))
        concepts = centring.transform(np.asarray(task.concept_vectors, dtype=np.float32))
        self.group = np.argmax(self.words @ concepts.T, axis=1)
        self.concept_names_ = task.concept_names
        self.filtered = False
        rows = np.vstack([task.validation.vectors, task.queries.vectors])
        codes = lasso(rows, self.words, penalty, positive=True).codes
        self.codes = {row.tobytes(): code for row, code in zip(rows, codes)}
        self.n_words = float((codes > 0).sum(axis=1).mean())

    def project(self, X, concept):
        codes = np.array([self.codes[row.tobytes()] for row in X])
        if self.filtered:
            codes = codes * (self.group == self.concept_names_.index(concept))
        return codes @ self.words


def splice(task: Task):
    """Options of SpLiCE and of F-SpLiCE, which share their codes."""
    model = cache(lambda penalty: Splice(task, penalty))

    def options(filtered):
        def how(penalty):
            one = copy.copy(model(penalty))
            one.filtered = filtered
            return {"model": one}

        return [(f"α={penalty:g}", lambda penalty=penalty: how(penalty)) for penalty in PENALTIES]

    return options(False), options(True)
