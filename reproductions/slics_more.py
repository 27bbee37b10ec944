"""Paper 1: quantised pools (Table 3) and the map between two embeddings (section 3.7)."""

from __future__ import annotations

import dataclasses

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid.metrics import top_k
from pellucid.preparation import CenteredNormalizer, procrustes
from pellucid.search import TokenPool, unit_tokens
from reproductions.common import Task
from reproductions.data import load_coco_captions
from reproductions.slics_methods import MEASURES, chosen, cones, evaluate

TOKENS, CODES = 32, 256
PAPER_TITOK = (
    "The paper, COCO images by TiTok's 32 tokens of 12 dimensions and 4096 shared codes, as they are → as codes: "
    "unfiltered 0.564 → 0.553 general, 0.341 → 0.322 sub; S-SVD 0.823 → 0.814, 0.421 → 0.421; "
    "S-SLiCS 0.795 → 0.782, 0.382 → 0.376."
)


def aligned_table(task: Task) -> str:
    """Captions by word counts, mapped to the captions by MiniLM: are they found there, before and after?"""
    captions = np.array(load_coco_captions().caption)
    counts = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(captions[task.train.rows])
    reduced = TruncatedSVD(task.train.vectors.shape[1], random_state=0).fit(counts.transform(captions[task.train.rows]))
    raw = {
        part: reduced.transform(counts.transform(captions[getattr(task, part).rows])) for part in ("train", "queries")
    }
    centring = CenteredNormalizer().fit(raw["train"])
    source = {part: centring.transform(rows).astype(np.float32) for part, rows in raw.items()}
    turn = procrustes(source["train"], task.train.vectors).astype(np.float32)
    model = ConceptSubspaces(8, center=False).fit(task.train.vectors, task.train.coarse, task.concept_names)
    lines = [
        "## Two embeddings of the same captions (Procrustes, section 3.7)",
        "",
        f"Word counts reduced to {reduced.n_components} dimensions, mapped by an orthogonal matrix learned from "
        f"{len(task.train.rows)} training captions to MiniLM's. *Found*: the same caption is the first, or among the "
        f"first ten, of {len(task.queries.rows)}. *General* and *sub*: concept-filtered retrieval of MiniLM candidates "
        "by a model of MiniLM's space (d0=8).",
        "",
        "| query | found first | among ten | general | sub |",
        "| --- | --- | --- | --- | --- |",
    ]
    ways = {
        "word counts as they are": source["queries"],
        "word counts, mapped": source["queries"] @ turn,
        "MiniLM itself": task.queries.vectors,
    }
    for name, queries in ways.items():
        best = top_k(queries @ task.queries.vectors.T, 10)
        own = best == np.arange(len(queries))[:, None]
        found = evaluate(task, dataclasses.replace(task.queries, vectors=queries), model=model)
        lines.append(
            f"| {name} | {own[:, 0].mean():.3f} | {own.any(axis=1).mean():.3f} | "
            f"{found.general:.3f} | {found.sub:.3f} |"
        )
    return "\n".join(lines) + "\n\n"


def quantised_table(task: Task) -> str:
    """The form of Table 3: rows cut into tokens of unit length, candidates as they are or as token codes.

    The last two rows are what section 4.4.1 sketches, the query quantised with scales, and FAISS's product
    quantisation of the same vectors.
    """
    tokens = {
        part: dataclasses.replace(getattr(task, part), vectors=unit_tokens(getattr(task, part).raw, TOKENS))
        for part in ("train", "validation", "queries", "candidates")
    }
    cut = dataclasses.replace(task, **tokens)
    whole = cut.candidates.vectors
    learned = TokenPool.learn(cut.train.vectors, TOKENS, CODES, random_state=0)
    pool = TokenPool(learned.encode(whole), learned.codebook)
    compressed = product_quantised(cut)
    rows = []
    for name, options in (
        ("unfiltered", [("", lambda: {"model": None})]),
        ("S-SVD", cones(cut, cut.train.coarse, 0)),
        ("S-SLiCS", cones(cut, cut.train.coarse)),
    ):
        for measure, (size, _) in zip(MEASURES, chosen(cut, options)):
            ways = quantised_ways(dict(options)[size]()["model"], unit_rows(whole), pool, compressed)
            found = [getattr(evaluate(cut, cut.queries, score=way), measure) for way in ways]
            rows.append((name, measure, size, found))
    lines = [
        f"## {task.name}: Table 3, quantised pools",
        "",
        f"Vectors cut into {TOKENS} tokens of unit length, no mean taken off; {CODES} codes for each token, learned on "
        f"the training rows. The candidates take {whole.nbytes:,} bytes as they are and {pool.codes.nbytes:,} as codes "
        f"({whole.nbytes / pool.codes.nbytes:.0f} times less; the codebook takes {pool.codebook.nbytes:,} once).",
        "",
        "| method | measure | d0 | candidates as they are | as token codes | query too, with scales | FAISS PQ |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, measure, size, values in rows:
        lines.append(f"| {name} | {measure} | {size} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    if task.paper:
        lines += ["", PAPER_TITOK]
    return "\n".join(lines) + "\n\n"


def quantised_ways(model, whole, pool, compressed):
    """Scores of candidates as they are, as token codes, with the query quantised too, and by FAISS's codes."""

    def seen(X, j):
        return X if model is None else model.project(X, model.concept_names_[j])

    return (
        lambda X, j: unit_rows(seen(X, j)) @ whole.T,
        lambda X, j: pool.scores(seen(X, j)),
        lambda X, j: pool.scores(pool.quantise(seen(X, j))),
        lambda X, j: unit_rows(seen(X, j)) @ compressed.T,
    )


def product_quantised(task: Task):
    """The candidates as FAISS's product quantisation keeps them, as many bytes a row as there are tokens."""
    import faiss

    pool = unit_rows(task.candidates.vectors)
    index = faiss.IndexPQ(pool.shape[1], TOKENS, 8, faiss.METRIC_INNER_PRODUCT)
    index.train(unit_rows(task.train.vectors))
    index.add(pool)
    return index.reconstruct_n(0, len(pool))


def stability_table(task: Task, size: int = 8, runs: int = 5) -> str:
    """How much of the model would come out again, which the paper does not ask."""
    model = ConceptSubspaces(size, random_state=0, center=False).fit(
        task.train.vectors, task.train.coarse, task.concept_names
    )
    found = model.stability(
        task.train.vectors, task.train.coarse, runs, held_out=(task.queries.vectors, task.queries.coarse)
    )
    lines = [
        f"## How stable ({task.name}, d0={size}, {runs} refits)",
        "",
        f"{found.reproduced:.0%} of the atoms come out again with a cosine of at least 0.9; {found.explained:.0%} of "
        "the energy of the queries is explained by the cones of their concepts. AUC: how well a concept's share "
        "tells queries that have it from others, beside random cones and a fit to shuffled labels.",
        "",
        "| concept | same span | AUC | random | shuffled |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in zip(found.concept_names, found.cone_overlap, found.auc, found.auc_random, found.auc_permuted):
        lines.append(f"| {row[0]} | " + " | ".join(f"{value:.3f}" for value in row[1:]) + " |")
    return "\n".join(lines) + "\n\n"
