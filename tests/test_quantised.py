"""Pools of token codes: look-ups score what the codes stand for, and the report says what that costs."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import ConceptSubspaces
from pellucid.datasets import load_scenes
from pellucid.metrics import concept_retrieval
from pellucid.search import TokenPool, make_engine, pool_report, unit_tokens
from support.levels import at_each_level


def cosine(queries, rows):
    """The slow obvious way, in float64."""
    queries, rows = np.asarray(queries, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(rows, axis=1)
    return queries @ rows.T / np.where(lengths > 0, lengths, 1)


def random_pool(rng, n=200, tokens=6, width=4, entries=16, shared=True):
    book = rng.standard_normal((entries, width) if shared else (tokens, entries, width))
    return TokenPool(rng.integers(0, entries, (n, tokens)), book)


@settings(max_examples=60)
@given(
    st.integers(1, 300),
    st.integers(1, 9),
    st.integers(1, 5),
    st.sampled_from([1, 2, 16, 256, 257]),
    st.booleans(),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
)
def test_look_ups_are_the_cosines_of_the_decoded_rows(n, tokens, width, entries, shared, q, seed):
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, n, tokens, width, entries, shared)
    rows = pool.decode()
    assert rows.shape == (n, pool.dimension) == (n, tokens * width)
    np.testing.assert_allclose(np.linalg.norm(rows.reshape(n, tokens, width), axis=2), 1, atol=1e-6)
    queries = rng.standard_normal((q, tokens * width)) * 10.0 ** rng.integers(-8, 9)
    expected = cosine(queries, rows)
    np.testing.assert_allclose(pool.scores(queries), expected, atol=1e-6)
    # the decoded rows have length √T to float32; against that length the sums agree to the last digits
    exact = queries @ rows.T.astype(np.float64) / np.linalg.norm(queries, axis=1)[:, None] / np.sqrt(tokens)
    np.testing.assert_allclose(pool.scores(queries), exact, atol=1e-14)
    positions, best = pool.search(queries, 7)
    np.testing.assert_allclose(best, -np.sort(-exact, axis=1)[:, :7], atol=1e-14)
    np.testing.assert_allclose(np.take_along_axis(exact, positions, 1), best, atol=1e-14)


def test_many_entries_and_items_are_looked_up_too(rng):
    """Codes of four bytes, and more items than are looked up in one go."""
    pool = random_pool(rng, 1100, 9, 2, 65_537, shared=True)
    pool.codes[0] = 65_536
    queries = rng.standard_normal((2, 18))
    np.testing.assert_allclose(pool.scores(queries), cosine(queries, pool.decode()), atol=1e-6)


@pytest.mark.parametrize("codes", [np.uint8, np.uint16, np.int32])
def test_a_look_up_writes_the_items_it_is_asked_for(rng, codes):
    table, chosen = rng.standard_normal((3, 11, 200)), rng.integers(0, 200, (40, 11)).astype(codes)
    expected = table[:, np.arange(11), chosen].sum(axis=2)
    for first, last in ((0, 40), (5, 17), (39, 40), (20, 20), (-5, 60)):
        out = np.full((3, 40), 7.0)
        at_each_level("look_up", table, chosen, first, last, out)
        asked = slice(max(first, 0), max(last, 0))
        np.testing.assert_allclose(out[:, asked], expected[:, asked], atol=1e-13)
        out[:, asked] = 7
        assert (out == 7).all()


def test_codes_that_were_spoilt_are_refused(rng):
    pool = random_pool(rng, entries=16)
    pool.codes[3, 2] = 16
    with pytest.raises(ValueError, match="codes has 16; there are 16 entries, from 0"):
        pool.scores(np.ones((1, 24)))


def test_codes_take_the_room_they_need(rng):
    for entries, itemsize in ((2, 1), (256, 1), (257, 2), (65_536, 2)):
        pool = TokenPool(np.full((10, 3), entries - 1), rng.standard_normal((entries, 2)))
        assert pool.codes.itemsize == itemsize
        assert pool.nbytes == 30 * itemsize + entries * 2 * 4
        assert pool.decode()[0] == pytest.approx(np.tile(pool.codebook[0, -1], 3))


@pytest.mark.parametrize("shared", [True, False])
def test_encoding_is_the_nearest_entry(rng, shared):
    pool = random_pool(rng, shared=shared)
    np.testing.assert_array_equal(pool.encode(pool.decode() * 3), pool.codes)
    rows = unit_tokens(rng.standard_normal((50, 24)), 6)
    book = np.broadcast_to(pool.codebook, (6, 16, 4)).astype(np.float64)
    tokens = rows.reshape(50, 6, 1, 4)
    expected = np.square(tokens - book).sum(axis=3).argmin(axis=2)
    np.testing.assert_array_equal(pool.encode(rows), expected)


def test_zero_tokens_and_zero_queries(rng):
    rows = rng.standard_normal((30, 12))
    rows[3, :4] = 0
    rows[4] = 0
    units = unit_tokens(rows, 3)
    assert np.all(units[4] == 0)
    assert np.all(units[3, :4] == 0)
    pool = TokenPool.learn(rows, 3, 8, random_state=0)
    assert pool.codes[3, 0] == 0
    assert np.isfinite(pool.decode()).all()
    assert np.all(pool.scores(np.zeros((1, 12))) == 0)
    quantised = pool.quantise(np.zeros((1, 12)))
    assert np.all(pool.restore(quantised) == 0)


@pytest.mark.parametrize("shared", [True, False])
def test_as_many_codes_as_tokens_lose_nothing(rng, shared):
    rows = unit_tokens(rng.standard_normal((20, 12)).astype(np.float32), 3)
    pool = TokenPool.learn(rows, 3, 60 if shared else 20, shared=shared, random_state=0)
    np.testing.assert_allclose(pool.decode(), rows, atol=1e-6)
    report = pool_report(pool, rows, rows, k=5)
    assert report.recall == 1
    assert report.score_error < 1e-6


def test_learning_is_repeatable_and_survives_duplicates(rng):
    rows = np.repeat(rng.standard_normal((5, 12)), 20, axis=0).astype(np.float16)
    first, second = (TokenPool.learn(rows, 3, 16, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(first.codes, second.codes)
    np.testing.assert_array_equal(first.codebook, second.codebook)
    np.testing.assert_allclose(first.decode(), unit_tokens(rows, 3), atol=1e-6)
    opposite = TokenPool.learn(np.vstack([np.eye(2), -np.eye(2)]), 1, 1, random_state=0)
    assert np.linalg.norm(opposite.codebook[0, 0]) == pytest.approx(1)


def test_more_codes_come_closer(rng):
    rows = unit_tokens(rng.standard_normal((2000, 24)).astype(np.float32), 6)
    reports = [
        pool_report(TokenPool.learn(rows, 6, codes, random_state=0), rows, rows[:50] + rows[50:100], 10)
        for codes in (4, 32, 256)
    ]
    assert reports[0].recall < reports[1].recall < reports[2].recall
    assert reports[0].score_error > reports[1].score_error > reports[2].score_error
    assert reports[0].saving > 14 > reports[2].saving


@settings(max_examples=40)
@given(st.integers(1, 8), st.booleans(), st.integers(0, 2**32 - 1))
def test_quantised_queries_take_the_best_scale_and_entry(bits, shared, seed):
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, shared=shared)
    # components of a query: tokens of any length, some of them nothing
    queries = rng.standard_normal((5, 6, 4)) * rng.random((5, 6, 1)) * (rng.random((5, 6, 1)) < 0.8)
    quantised = pool.quantise(queries.reshape(5, -1), bits)
    assert quantised.scales.max() <= 2**bits - 1
    # brute force over entries, the best scale of each
    book = np.broadcast_to(pool.codebook, (6, 16, 4)).astype(np.float64)
    scales = np.maximum(np.einsum("qtd,tkd->qtk", queries, book), 0)
    left = np.linalg.norm(queries[:, :, None] - scales[..., None] * book, axis=3)
    best = left.min(axis=2)
    chosen = np.take_along_axis(scales, quantised.codes[:, :, None].astype(int), 2)[:, :, 0]
    np.testing.assert_allclose(
        np.take_along_axis(left, quantised.codes[:, :, None].astype(int), 2)[:, :, 0], best, atol=1e-9
    )
    # scales are rounded to half a step at most
    step = chosen.max(axis=1) / (2**bits - 1)
    assert np.all(
        np.abs(quantised.scales * quantised.steps[:, None] - chosen) <= 0.5 * step[:, None] * (1 + 1e-5) + 1e-7
    )
    restored = pool.restore(quantised)
    np.testing.assert_array_equal(pool.scores(quantised), pool.scores(restored))
    np.testing.assert_array_equal(pool.search(quantised, 5)[0], pool.search(restored, 5)[0])
    assert quantised.nbytes <= 5 * (6 + 4) + -(-30 * bits // 8)


def test_an_item_of_the_pool_is_a_query_without_loss(rng):
    pool = random_pool(rng)
    quantised = pool.quantise(pool.decode()[:9])
    np.testing.assert_array_equal(quantised.codes, pool.codes[:9])
    np.testing.assert_allclose(pool.restore(quantised), pool.decode()[:9], atol=1e-6)


def test_report_on_scenes():
    """Table 3 in small: quantised pools lose little, by tokens and by FAISS, for whole queries and for components."""
    scenes = load_scenes()
    rows = unit_tokens(scenes.vectors.astype(np.float32), 24)
    train, pool_rows, asks = scenes.split.train[:800], scenes.split.candidates, scenes.split.queries[:100]
    model = ConceptSubspaces(4, max_iter=1, center=False).fit(rows[train], scenes.coarse[train], scenes.coarse_names)
    pool = TokenPool.learn(rows[pool_rows], 24, 128, random_state=0)
    labels = scenes.coarse[asks], scenes.coarse[pool_rows]
    results = {}
    for name, used in (("filtered", model), ("plain", None)):
        project = (lambda x, j, m=used: x) if used is None else (lambda x, j, m=used: m.project(x, m.concept_names_[j]))
        whole = concept_retrieval(used, rows[asks], rows[pool_rows], *labels)
        coded = concept_retrieval(used, rows[asks], pool.decode(), *labels)
        looked = concept_retrieval(
            None, rows[asks], rows[pool_rows], *labels, score=lambda x, j, p=project: pool.scores(p(x, j))
        )
        assert looked.general == pytest.approx(coded.general, abs=1e-3)
        results[name] = whole.general, looked.general
    assert results["filtered"][1] > results["plain"][0]
    assert all(0 <= whole - coded + 0.01 < 0.06 for whole, coded in results.values())
    relevance = labels[0].astype(int) @ labels[1].T.astype(int) > 0
    report = pool_report(pool, rows[pool_rows], rows[asks], relevance=relevance)
    assert report.full_bytes == len(pool_rows) * 384 * 4
    assert 0.5 < report.recall < 1
    assert 0.9 < report.map_full < 1
    assert 0 < abs(report.map_full - report.map_pool) < 0.05
    assert "times less" in str(report)
    assert "mAP@20" in str(report)


def test_report_on_faiss_codes(rng):
    pytest.importorskip("faiss", reason="the search extra is not installed")
    rows = rng.standard_normal((3000, 8)) @ rng.standard_normal((8, 64))
    engine = make_engine("faiss", kind="ivfpq", lists=1, refine=0, code_bytes=16)
    engine.load([rows], np.ones(3000, dtype=bool))
    report = pool_report(engine, rows, rows[:50], 10)
    assert 0.4 < report.recall < 1
    assert 0 < report.score_error < 0.1
    assert report.saving > 5
    assert np.isnan(report.map_full)
    assert "mAP" not in str(report)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: TokenPool([[0.5]], p.codebook[0]), "codes must be a matrix of whole numbers"),
        (
            lambda p: TokenPool([[16, 0]], p.codebook[0]),
            "codes has 16 at row 0, token 0; there are 16 entries, from 0.",
        ),
        (lambda p: TokenPool([[0], [-1]], p.codebook[0]), "codes has -1 at row 1, token 0"),
        (lambda p: TokenPool([[0]], np.zeros((2, 3))), "codebook has an entry of zero length"),
        (lambda p: TokenPool([[0]], [[np.nan, 1.0]]), "codebook has nan at row 0, column 0"),
        (lambda p: TokenPool([[0, 1]], np.ones((3, 2, 4))), "There are codebooks for 3 tokens, but items have 2"),
        (lambda p: TokenPool([[0]], [1.0, 2.0]), "codebook must be (K, d) or (T, K, d)"),
        (lambda p: TokenPool(np.zeros((0, 3), int), p.codebook[0]), "codes must be a matrix of whole numbers"),
        (lambda p: p.scores(np.ones((1, 5))), "queries has 5 columns, but the pool has 24."),
        (lambda p: p.scores(np.full((1, 24), np.inf)), "queries has inf at row 0, column 0"),
        (lambda p: p.scores([["a"] * 24]), "queries must hold real numbers"),
        (lambda p: p.encode(np.ones(24)), "X must be two-dimensional"),
        (lambda p: p.search(np.ones((1, 24)), 0), "k must be at least 1, got 0."),
        (lambda p: p.quantise(np.ones((1, 24)), 9), "scale_bits must be a whole number from 1 to 8, got 9."),
        (lambda p: unit_tokens(np.ones((2, 5)), 2), "n_tokens must divide the dimension 5, got 2."),
        (lambda p: unit_tokens(np.ones((2, 4)), 0), "n_tokens must divide the dimension 4, got 0."),
        (
            lambda p: TokenPool.learn(np.ones((3, 4)), 2, 4),
            "n_codes must be between 1 and the 3 tokens there are, got 4.",
        ),
        (
            lambda p: pool_report(p, p.decode(), p.decode()[:2], relevance=[[1]]),
            "relevance must be (2, 200), but is (1, 1)",
        ),
    ],
)
def test_bad_input_gets_a_sentence(rng, call, sentence):
    with pytest.raises(ValueError) as caught:
        call(random_pool(rng))
    assert sentence in str(caught.value)


def test_on_real_image_vectors():
    folder = os.environ.get("PELLUCID_DATA")
    if not folder or not (Path(folder) / "flickr8k_efficientnet.npz").is_file():
        pytest.skip("PELLUCID_DATA does not name a folder with flickr8k_efficientnet.npz")
    with np.load(Path(folder) / "flickr8k_efficientnet.npz") as data:
        rows = next(data[name] for name in data.files if data[name].ndim == 2 and data[name].dtype.kind == "f")[:3000]
    tokens = next(t for t in range(rows.shape[1] // 8, rows.shape[1] + 1) if rows.shape[1] % t == 0)
    units = unit_tokens(rows, tokens)
    report = pool_report(TokenPool.learn(units, tokens, 64, random_state=0), units, units[:50], 10)
    assert report.recall > 0.5
    assert report.score_error < 0.2
