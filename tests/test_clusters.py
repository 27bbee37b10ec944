"""Clusters with a likelihood: one answer whatever the scale, order or number of the rows, and honest about itself."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

import pellucid
from pellucid import CommonalityClustering
from pellucid._core.kernels import settle_nodes
from pellucid.clusters import likelihood
from pellucid.clusters.communities import neighbour_graph, partition
from pellucid.clusters.directions import distinct, find_directions
from pellucid.clusters.ellipsoids import Ellipsoids, best_ellipsoids, means_of, moments_of, own_covariances, pooled
from pellucid.clusters.fits import placing_of
from pellucid.clusters.neighbours import balanced, cut
from pellucid.clusters.refining import Rows, energy, refine
from pellucid.metrics import clustering_error
from pellucid.rows import Blocks

GOLDEN = Path(__file__).parent / "golden"
TABLES = {"wine": load_wine, "iris": load_iris, "digits": load_digits, "cancer": load_breast_cancer}


@parametrize_with_checks([CommonalityClustering(3, random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def blobs(n=240, d=4, C=3, seed=0, apart=4.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % C
    return apart * rng.standard_normal((C, d))[y] + rng.standard_normal((n, d)), y


def fitted(X, C=3, **settings):
    return CommonalityClustering(C, random_state=0, **settings).fit(X)


# the objective


def slow_energy(rows, fit, labels, pull):
    """E, term by term, by SciPy's densities and loops over pairs."""
    D, W, nu = rows.Z.shape[1], fit.common, rows.Z.shape[1]
    total = 0.0
    for z, w, c in zip(rows.Z, rows.weights, labels):
        density = multivariate_normal(fit.means[c], fit.covariances[c]).logpdf(z)
        total += w * (-2 * density / D - np.log(2 * np.pi))
    for S in fit.covariances:
        total += nu / D * (np.trace(np.linalg.inv(S) @ W) + np.log(np.linalg.det(S)))
    H = rows.graph.toarray()
    n = len(labels)
    return total + pull * sum(H[i, j] for i in range(n) for j in range(i) if labels[i] != labels[j])


def test_energy_is_what_the_page_on_mathematics_says():
    X, y = blobs(60)
    rows = Rows(X, np.linspace(0.5, 1.5, 60), balanced(neighbour_graph(X)))
    W = pooled(X, rows.weights, y, 3)
    about = means_of(X, rows.weights, y, 3)
    fit = best_ellipsoids(moments_of(X, rows.weights, y, about), about, W)
    labels = (y + (np.arange(60) % 7 == 0)) % 3
    assert energy(rows, fit, fit.costs(X), labels, 0.7) == pytest.approx(slow_energy(rows, fit, labels, 0.7), rel=1e-10)


@settings(max_examples=40)
@given(
    n=st.integers(4, 60), d=st.integers(1, 6), C=st.integers(1, 5), pull=st.sampled_from([None, 0.0, 0.3, 5.0]),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_the_objective_never_rises_and_no_cluster_runs_empty(n, d, C, pull, seed):
    rng = np.random.default_rng(seed)
    X = np.ascontiguousarray(rng.standard_normal((n, d)) * rng.choice([1e-3, 1.0, 50.0], d))
    C = min(C, n)
    rows = Rows(X, rng.uniform(0.2, 3, n), balanced(neighbour_graph(X)))
    start = rng.permutation(np.arange(n) % C)
    found = refine(rows, start, C, pull, 30, 0.0)
    scale = 1 + np.abs(found.objective[0])
    assert (np.diff(found.objective) <= 1e-9 * scale).all()
    assert (np.bincount(found.labels, minlength=C) > 0).all()
    last = slow_energy(rows, found.ellipsoids, found.labels, found.pull)
    assert found.objective[-1] == pytest.approx(last, rel=1e-6, abs=1e-6)


def test_closed_forms_cannot_be_improved():
    X, y = blobs(90)
    W = pooled(X, np.ones(90), y, 3)
    about = np.zeros((3, 4))
    best = best_ellipsoids(moments_of(X, None, y, about), about, W)
    rows = Rows(X, np.ones(90), sparse.csr_matrix((90, 90)))
    least = energy(rows, best, best.costs(X), y, 0.0)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(10):
            A = rng.standard_normal((3, 4, 4))
            other = Ellipsoids(
                best.means + size * rng.standard_normal((3, 4)), best.covariances + size * (A @ A.transpose(0, 2, 1)), W
            )
            assert energy(rows, other, other.costs(X), y, 0.0) > least


@settings(max_examples=50)
@given(n=st.integers(1, 25), C=st.integers(1, 4), pull=st.sampled_from([0.0, 0.5, 4.0]), seed=st.integers(0, 2**32 - 1))
def test_a_pass_of_moves_is_that_of_a_slow_loop(n, C, pull, seed):
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    H = sparse.csr_matrix(np.triu(A, 1) + np.triu(A, 1).T)
    H.sort_indices()
    costs, labels = rng.standard_normal((n, C)), rng.integers(0, C, n)
    slow, moves = labels.copy(), 0
    for i in range(n):
        if (slow == slow[i]).sum() == 1:
            continue
        value = costs[i] - pull * np.array([H.toarray()[i, slow == c].sum() for c in range(C)])
        c = int(np.argmin(value))
        if value[c] < value[slow[i]]:
            slow[i], moves = c, moves + 1
    found = labels.copy()
    indptr, indices = H.indptr.astype(np.int32), H.indices.astype(np.int32)
    assert settle_nodes(indptr, indices, H.data, costs, found, pull) == moves
    np.testing.assert_array_equal(found, slow)


def test_moves_that_would_leave_the_arrays_are_refused():
    graph = neighbour_graph(np.random.default_rng(0).standard_normal((9, 2)))
    good = dict(indptr=graph.indptr, indices=graph.indices, labels=np.zeros(9, dtype=np.int64))
    for name, value in (("indices", 9), ("labels", 2), ("labels", -1), ("indptr", 99)):
        bad = {key: array.copy() for key, array in good.items()}
        bad[name][3] = value
        before = bad["labels"].copy()
        assert settle_nodes(bad["indptr"], bad["indices"], graph.data, np.zeros((9, 2)), bad["labels"], 1.0) == -1
        np.testing.assert_array_equal(bad["labels"], before)


# right on tables


@pytest.mark.parametrize(("name", "most"), [("wine", 0.06), ("iris", 0.14), ("digits", 0.05), ("cancer", 0.11)])
def test_tables_as_they_come(name, most):
    X, y = TABLES[name](return_X_y=True)
    C = len(np.unique(y))
    model = fitted(X, C)
    assert clustering_error(model.labels_, y) <= most
    assert np.mean(model.predict(X) == model.labels_) >= 0.995
    assert (np.diff(model.objective_) <= 1e-9 * np.abs(model.objective_[0])).all()
    start, _ = partition(neighbour_graph(find_places(X)), C, 4, np.random.RandomState(0))
    labels = start[distinct(X).which]
    assert clustering_error(model.labels_, y) <= clustering_error(labels, y) + 0.003


def find_places(X):
    known = distinct(X)
    return find_directions(X[known.first], known.weights, "auto").into(X[known.first])


@pytest.mark.parametrize("name", ["wine", "iris", "digits"])
def test_scale_shift_order_and_repetition_of_rows_change_nothing(name):
    X, y = (part[:900] for part in TABLES[name](return_X_y=True))
    C, order = len(np.unique(y)), np.random.default_rng(0).permutation(len(X))
    labels = fitted(X, C).labels_
    for other in (1e-4 * X, 1e6 * X, X + 300.0, np.concatenate([X, X])):
        assert adjusted_rand_score(fitted(other, C).labels_[: len(X)], labels) >= 0.995
    back = np.argsort(order)
    np.testing.assert_array_equal(fitted(X[order], C).labels_[back], labels)


def test_columns_of_different_units_are_brought_to_one_variance_and_others_are_not():
    assert np.ptp(fitted(load_wine().data).column_scale_) > 0
    assert np.ptp(fitted(load_iris().data).column_scale_) == 0
    assert np.ptp(fitted(load_digits().data, 10).column_scale_) == 0
    assert np.ptp(fitted(load_wine().data, scale=False).column_scale_) == 0
    assert np.ptp(fitted(load_iris().data, scale=True).column_scale_) > 0


def test_subspaces_that_no_graph_tells_apart_are_found_without_it():
    rng = np.random.default_rng(0)
    bases = [np.linalg.qr(rng.standard_normal((12, 3)))[0] for _ in range(3)]
    y = np.arange(450) % 3
    X = np.einsum("nk,ndk->nd", rng.standard_normal((450, 3)), np.array(bases)[y])
    X += 1.5 * rng.standard_normal((450, 3)) @ np.linalg.qr(rng.standard_normal((12, 3)))[0].T
    X += 0.05 * rng.standard_normal(X.shape)
    assert clustering_error(fitted(X).labels_, y) <= 0.02


# parts


def test_mean_own_and_common_are_the_row():
    X = load_digits().data[:600]
    model = fitted(X, 10)
    parts = {name: model.reconstruct(X, name) for name in ("mean", "own", "common")}
    np.testing.assert_allclose(sum(parts.values()), X, atol=1e-9)
    np.testing.assert_allclose(parts["mean"], model.means_[model.labels_])
    np.testing.assert_allclose(model.shares(X).sum(axis=1), 1, atol=1e-9)
    labels, codes, common = model.encode(X)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert codes.shape == (len(X), model.n_atoms_)
    assert common.shape == (len(X), model.n_common_)
    everything = fitted(X, 10, n_atoms=40)  # all directions: the codes make up the own part
    found = everything.encode(X)
    own = np.einsum("nk,nkd->nd", found.codes, everything.atoms_[found.labels])
    np.testing.assert_allclose(own, everything.reconstruct(X, "own"), atol=1e-8)


def test_what_is_own_and_what_is_common():
    """A cluster that varies in one direction more than the others owns it; the direction that all vary in is common."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    X = 6 * np.eye(3, 6)[y] + 0.3 * rng.standard_normal((600, 6))
    X[:, 5] += 2 * rng.standard_normal(600)
    X[y == 0, 3] += 2 * rng.standard_normal(200)
    model = fitted(X)
    first = model.predict(6 * np.eye(3, 6)[:1])[0]
    assert np.abs(model.atoms_[first][0]).argmax() == 3
    assert np.abs(model.common_atoms_[0]).argmax() == 5
    fit = placing_of(model).ellipsoids
    own = own_covariances(Ellipsoids(fit.means, fit.covariances, model.common_covariance_))
    assert (np.linalg.eigvalsh(own) >= -1e-9).all()
    shared = fit.covariances - own
    assert (np.linalg.eigvalsh(model.common_covariance_ - shared) >= -1e-9).all()


def test_what_does_not_exceed_the_common_covariance_is_not_own():
    A = np.random.default_rng(0).standard_normal((4, 4))
    W = A @ A.T + np.eye(4)
    own = own_covariances(Ellipsoids(np.zeros((3, 4)), np.stack([W, 3 * W, 0.7 * W]), W))
    np.testing.assert_allclose(own, np.stack([0 * W, 2 * W, 0 * W]), atol=1e-9)


def test_atoms_are_unit_vectors_and_as_many_as_asked_for():
    X, _ = load_wine(return_X_y=True)
    model = fitted(X, 3, n_atoms=2, n_common=0)
    assert model.atoms_.shape == (3, 2, 13)
    assert model.common_atoms_.shape == (0, 13)
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=2), 1)
    np.testing.assert_array_equal(model.labels_, fitted(X, 3).labels_)
    assert fitted(X, 3, n_atoms=99).n_atoms_ == 13


# how sure


def test_chances_and_scores():
    X, _ = blobs(600, 5, 3, apart=2.0)
    model = fitted(X[:400])
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X))
    mixture = GaussianMixture(3, means_init=model.means_, random_state=0).fit(X[:400])
    assert np.corrcoef(model.score_samples(X[400:]), mixture.score_samples(X[400:]))[0, 1] > 0.99
    for rate in (0.02, 0.1, 0.3):
        assert model.outliers(X[400:], rate).mean() == pytest.approx(rate, abs=0.07)
    assert model.outliers(X[:3] + 50).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.outliers(X, 1.5)


def test_chances_are_calibrated_where_clusters_overlap():
    X, y = blobs(3000, 3, 2, apart=0.9, seed=3)
    model = fitted(X[:2000], 2)
    chances = model.predict_proba(X[2000:])
    found = model.predict(X[2000:])
    right = found == y[2000:] if np.mean(found == y[2000:]) > 0.5 else found != y[2000:]
    assert chances.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.1)


def test_a_row_that_lies_outside_of_all_directions_is_an_outlier():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((500, 45)) * 5, 0.1 * rng.standard_normal((500, 15))], axis=1)
    model = fitted(X, 2)
    odd = X[:5].copy()
    odd[:, 45:] += 3.0
    assert model.outliers(odd).all()
    assert model.outliers(X, 0.01).mean() <= 0.03


# rows of any kind


def test_blocks_of_few_rows_are_the_rows():
    X, _ = blobs(400, 6)
    for blocks in (Blocks(X, rows=130), Blocks(X, rows=400)):
        model = fitted(blocks)
        np.testing.assert_array_equal(model.labels_, fitted(X).labels_)
        np.testing.assert_array_equal(model.predict(X), fitted(X).predict(X))


@pytest.mark.parametrize("batch_size", [None, 100])
def test_more_rows_than_the_sample_are_passed_over(monkeypatch, batch_size):
    X, y = blobs(900, 6, apart=5.0)
    monkeypatch.setattr(likelihood, "GRAPH_ROWS", 200)
    model = fitted(X, batch_size=batch_size)
    assert len(model.labels_) == 900
    assert clustering_error(model.labels_, y) <= 0.01
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.counts_.sum() == pytest.approx(900, rel=0.02 if batch_size is None else 0.5)
    if batch_size is None:
        assert (np.diff(model.objective_) <= 1e-9 * np.abs(model.objective_[0])).all()


def test_a_checkpoint_changes_no_bit(monkeypatch, tmp_path):
    X, _ = blobs(900, 6, apart=0.7)
    monkeypatch.setattr(likelihood, "GRAPH_ROWS", 200)
    plain = fitted(X, tol=0, max_iter=4)
    assert plain.n_iter_ >= 3

    class Killed(Exception):
        pass

    sweeps, count = likelihood.sweep, [0]

    def killing(*given):
        count[0] += 1
        if count[0] == 3:
            raise Killed
        return sweeps(*given)

    monkeypatch.setattr(likelihood, "sweep", killing)
    model = CommonalityClustering(3, random_state=0, tol=0, max_iter=4)
    with pytest.raises(Killed):
        model.fit(X, checkpoint=tmp_path / "c")
    monkeypatch.setattr(likelihood, "sweep", sweeps)
    model.fit(X, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(model.covariances_, plain.covariances_)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.objective_, plain.objective_)


def test_partial_fits_go_on_and_survive_a_file(tmp_path):
    X, y = blobs(900, 5, apart=4.0)
    model = CommonalityClustering(3, random_state=0)
    for batch in np.split(X, 9):
        model.partial_fit(batch)
    assert clustering_error(model.predict(X), y) <= 0.01
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    for one in (model, again):
        one.partial_fit(X[:100] + 0.1)
    np.testing.assert_array_equal(again.covariances_, model.covariances_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_same_seed_gives_the_same_bits_and_float32_stays():
    X, _ = load_digits(return_X_y=True)
    a, b = fitted(X.astype(np.float32), 10), fitted(X.astype(np.float32), 10)
    np.testing.assert_array_equal(a.covariances_, b.covariances_)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.atoms_.dtype == a.transform(X[:3].astype(np.float32)).dtype == np.float32


def test_labels_start_more_rows_than_the_sample_too(monkeypatch):
    X, y = blobs(900, 6, apart=5.0)
    monkeypatch.setattr(likelihood, "GRAPH_ROWS", 200)
    np.testing.assert_array_equal(fitted(X, init=y).labels_, y)
    model = fitted(X, warm_start=True)
    first = model.labels_
    np.testing.assert_array_equal(model.fit(X).labels_, first)
    with pytest.raises(ValueError, match="a whole number for each of 900 rows"):
        fitted(X, init=y[:200])


def test_a_warm_start_goes_on():
    X, _ = load_digits(return_X_y=True)
    model = fitted(X, 10, warm_start=True)
    first = model.labels_
    assert adjusted_rand_score(model.fit(X).labels_, first) > 0.99


def test_the_golden_file_still_loads():
    model = pellucid.load(GOLDEN / "readings" / "clusters_likelihood.safetensors")
    X = np.load(GOLDEN / "readings" / "clusters_likelihood.npy")
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    old = pellucid.load(GOLDEN / "commonality_clustering.safetensors")
    assert old.reading == "paper"


# odd data


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 3)),
        np.ones((20, 3)) * 1e30,
        np.repeat(np.eye(3), 10, axis=0),
        np.array([[1.0], [2.0], [4.0]]),
        np.linspace(0, 1, 30)[:, None] ** 2,
        np.outer(np.arange(40.0), np.ones(5)),
        np.column_stack([np.arange(40.0), np.full(40, 7.0)]),
        1e200 * np.random.default_rng(0).standard_normal((40, 3)),
        1e-200 * np.random.default_rng(0).standard_normal((40, 3)),
        np.random.default_rng(0).standard_normal((12, 400)),
        (np.finfo(np.float32).max / 4 * np.random.default_rng(0).uniform(-1, 1, (40, 3))).astype(np.float32),
        np.random.default_rng(0).standard_cauchy((200, 3)) ** 3,
    ],
    ids=["zeros", "constant", "three", "one column", "squares", "rank 1", "constant column", "huge", "tiny", "wide",
         "float32 limit", "cauchy"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:There are only", "ignore:.*a single row")
def test_odd_rows_have_an_answer(X):
    model = fitted(X)
    assert len(model.labels_) == len(X)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.score_samples(X)).all()
    np.testing.assert_allclose(model.reconstruct(X), X, rtol=1e-5, atol=1e-6 * np.abs(X).max())
    assert np.mean(model.predict(X) == model.labels_) >= 0.9
    assert set(model.labels_) == set(range(len(model.counts_)))


def test_a_row_that_takes_a_cluster_for_itself_is_named():
    wine = load_wine().data
    with pytest.warns(UserWarning, match=r"of 3 clusters are a single row \(.*row 178"):
        fitted(np.r_[wine, 1e6 * wine[:1]])


def test_cells_that_are_no_numbers_are_named_with_what_to_do():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    wine = load_wine(as_frame=True).data
    for table in (wine.assign(kind="red"), polars.from_pandas(wine.assign(kind="red"))):
        with pytest.raises(ValueError, match=r"Column 'kind' of X holds 'red'.*leave it out.*get_dummies"):
            fitted(table)
    with pytest.raises(ValueError, match="Column 'when' of X"):
        CommonalityClustering().select_n_clusters(wine.assign(when=pandas.Timestamp("2020-02-03")))
    wine.loc[[5, 9], "ash"] = np.nan
    for table in (wine, polars.from_pandas(wine)):
        with pytest.raises(ValueError, match=r"NaN in row 5, column 'ash'.*1 more row: drop such rows, or fill"):
            fitted(table)
    with pytest.raises(ValueError, match="NaN in row 5, column 2"):
        fitted(wine.to_numpy())
    with pytest.raises(ValueError, match="infinity in row 0, column 'ash'"):
        fitted(wine.fillna(np.inf).iloc[5:])


def test_fewer_different_rows_than_clusters_are_said():
    with pytest.warns(UserWarning, match="only 2 different rows for 5 clusters"):
        model = fitted(np.repeat(np.eye(2), 20, axis=0), 5)
    assert model.transform(np.eye(2)).shape == (2, 2)
    assert clustering_error(model.labels_, np.repeat([0, 1], 20)) == 0


def test_a_hundred_thousand_rows_of_three_kinds_take_no_time():
    X = np.repeat(np.random.default_rng(0).standard_normal((3, 4)), [50_000, 30_000, 20_000], axis=0)
    model = fitted(X)
    assert np.bincount(model.labels_).tolist() == [50_000, 30_000, 20_000]


def test_one_cluster_and_labels_of_ones_own():
    X, y = blobs()
    assert not fitted(X, 1).labels_.any()
    np.testing.assert_allclose(fitted(X, 1).predict_proba(X), 1)
    model = fitted(X, 3, init=y)
    np.testing.assert_array_equal(model.labels_, y)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (dict(sparsity=0.2), 'sparsity belongs to reading="paper"'),
        (dict(codes="lasso"), 'codes belongs to reading="paper"'),
        (dict(init="paper"), 'needs reading="paper"'),
        (dict(reading="paper", scale=True), "standardise them before"),
        (dict(init=[0, 1]), "a whole number for each of 240 rows"),
        (dict(init=np.zeros(240, dtype=int)), "every label from 0 to 2"),
        (dict(n_clusters=999), "n_clusters=999"),
    ],
)
def test_bad_input_gets_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        CommonalityClustering(**{"n_clusters": 3, **settings}).fit(blobs()[0])


def test_missing_values_are_refused_with_what_to_do():
    X = blobs()[0]
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        CommonalityClustering(3).fit(X)


@pytest.mark.parametrize("method", ["predict_proba", "score_samples", "outliers"])
def test_the_papers_model_has_no_chances(method):
    model = CommonalityClustering(3, 1, 1, reading="paper", random_state=0).fit(blobs()[0])
    assert not hasattr(model, method)
    with pytest.raises(AttributeError):
        getattr(model, method)


# how many


@pytest.mark.parametrize(("name", "true"), [("wine", 3), ("iris", 3), ("digits", 10)])
def test_the_true_number_lies_in_the_range(name, true):
    sizes = None if true < 10 else range(6, 14)
    counts = CommonalityClustering(random_state=0).select_n_clusters(TABLES[name]().data[:1000], sizes, n_runs=3)
    assert counts.structured
    assert counts.low <= true <= counts.high
    assert counts.low <= counts.best <= counts.high
    assert f"most stable number is {counts.best}" in str(counts)


@pytest.mark.parametrize("seed", range(4))
def test_noise_has_no_structure(seed):
    rng = np.random.default_rng(seed)
    kinds = (
        rng.standard_normal((300, 5)),
        rng.random((300, 3)),
        rng.standard_normal((300, 8)) @ rng.standard_normal((8, 8)),
        rng.exponential(size=(300, 4)),
    )
    counts = CommonalityClustering(random_state=0).select_n_clusters(kinds[seed], range(2, 9), n_runs=4)
    assert not counts.structured
    assert "No clear structure" in str(counts)


def test_well_separated_blobs_are_counted():
    X, _ = blobs(400, 5, 5, apart=6.0)
    counts = CommonalityClustering(random_state=0).select_n_clusters(X, n_runs=3)
    assert counts.best == 5
    assert counts.stability[counts.n_clusters.index(5)] > 0.99
    ax = counts.plot()
    assert ax.get_xlabel() == "clusters"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (dict(sizes=()), "Name numbers of clusters to try"),
        (dict(sizes=(1, 2)), "one cluster always agrees"),
        (dict(sizes=(2, 99)), "99 clusters are too many for 20 different rows"),
        (dict(n_runs=1), "n_runs must be at least 2"),
    ],
)
def test_a_scan_that_makes_no_sense_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        CommonalityClustering(2).select_n_clusters(np.eye(20), **call)


# what they are


def test_a_description_names_the_features_that_were_planted():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.standard_normal((300, 6))
    X[y == 0, 1] += 8
    X[y == 1, 4] -= 8
    X[:, 5] *= 30  # another unit
    model = fitted(X)
    told = model.describe(X, feature_names=list("abcdef"))
    names = {card.name for card in told.clusters}
    assert any(name.startswith("high b") for name in names)
    assert any(name.startswith("low e") for name in names)
    for card in told.clusters:
        for feature in card.features:
            assert feature.low < feature.difference < feature.high
            assert feature.adjusted_p <= 0.05
        assert all(model.labels_[i] == card.cluster for i in card.typical + card.borderline)
    assert sum(card.count for card in told.clusters) == 300
    frame = told.to_frame()
    assert set(frame.columns) >= {"cluster", "feature", "difference", "low", "high", "adjusted_p"}
    assert len(str(told).splitlines()) == 4
    assert told.plot().get_xlabel().startswith("difference")


def test_features_that_say_nothing_are_not_named():
    """Labels that have nothing to do with the rows: hardly any feature passes."""
    from pellucid.clusters.describing import differences

    rng = np.random.default_rng(0)
    named = 0
    for _ in range(200):
        X, labels = rng.standard_normal((80, 10)), rng.integers(0, 3, 80)
        named += any(differences(X, labels, 3, [str(i) for i in range(10)]))
    assert named <= 0.1 * 200


def test_texts_name_clusters():
    X, y = blobs(90, apart=8.0)
    words = [["cat", "kitten"], ["car", "lorry"], ["apple", "pear"]]
    texts = [f"this is the {words[c][i % 2]}, {i}" for i, c in enumerate(y)]
    model = fitted(X)
    for card in model.describe(X, texts=texts).clusters:
        true = y[model.labels_ == card.cluster][0]
        assert set(card.words[:2]) == set(words[true])
        assert not card.features
        assert card.name.split(", ")[0] in words[true]
    wide = np.concatenate([X, np.zeros((90, 60))], axis=1)
    model = fitted(wide)
    cards = model.describe(wide, titles=texts).clusters
    assert all(card.name == f"like {texts[card.typical[0]]}" for card in cards)
    with pytest.raises(ValueError, match="texts holds 3, but there are 90"):
        model.describe(wide, texts=["a", "b", "c"])


def test_clusters_are_concepts():
    X = load_digits(n_class=4).data
    model = fitted(X, 4)
    concepts = model.to_concepts(X, n_atoms=3)
    assert len(concepts.concept_names_) == 4
    right = np.mean(concepts.predict_proba(X).argmax(axis=1) == model.labels_)
    assert right > 0.97
    with pytest.raises(ValueError, match="names holds 2, but there are 4"):
        model.to_concepts(X, names=["a", "b"])


def test_cut_counts_each_edge_once():
    graph = sparse.csr_matrix(np.array([[0, 1.0, 2], [1, 0, 4], [2, 4, 0]]))
    assert cut(graph, np.array([0, 1, 1])) == 3.0
