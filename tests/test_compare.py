"""How two sets differ: closed forms, planted shifts, and sets that do not differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import pellucid
from pellucid import ConceptSubspaces, compare
from pellucid.concepts import Vocabulary
from pellucid.concepts.comparison import taken_apart
from pellucid.concepts.drivers import chosen_often
from pellucid.concepts.trends import breaks, drift
from support.commands import fails, found, run


def drawn(rng, n, shares):
    return rng.random((n, len(shares))) < shares


def by_name(found, name, attribute):
    return getattr(found, attribute)[found.concepts.index(name)]


# two sets


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(20, 80), st.integers(20, 80))
def test_without_levels_it_is_a_test_of_two_shares(seed, n, m):
    rng = np.random.default_rng(seed)
    A, B = drawn(rng, n, [0.3, 0.5]), drawn(rng, m, [0.5, 0.5])
    found = compare(A, B, names=["a", "b"])
    for j, name in enumerate(["a", "b"]):
        assert by_name(found, name, "difference") == pytest.approx(A[:, j].mean() - B[:, j].mean(), abs=1e-6)
        held = A[:, j].sum() + B[:, j].sum()
        if 5 <= held <= n + m - 5:
            # the usual test with pooled variance
            slow = stats.ttest_ind(A[:, j], B[:, j]).pvalue
            assert by_name(found, name, "p") == pytest.approx(slow, abs=0.02)
        assert by_name(found, name, "low") <= by_name(found, name, "difference") <= by_name(found, name, "high")


def test_sides_may_be_exchanged():
    rng = np.random.default_rng(0)
    A, B = drawn(rng, 300, [0.2, 0.5, 0.7]), drawn(rng, 200, [0.5, 0.5, 0.6])
    one, two = compare(A, B), compare(B, A)
    assert one.concepts == two.concepts
    np.testing.assert_allclose(one.difference, -two.difference)
    np.testing.assert_allclose(one.p, two.p)
    np.testing.assert_allclose(one.low, -two.high, atol=0.03)


def test_planted_differences_are_found_and_others_are_not():
    rng = np.random.default_rng(0)
    shares = np.full(40, 0.2)
    moved = shares.copy()
    moved[:5] += 0.08
    hits, wrong, quiet = [], [], []
    for _ in range(25):
        found = compare(drawn(rng, 3000, moved), drawn(rng, 3000, shares))
        names = {name for name, sure in zip(found.concepts, found.found) if sure}
        planted = {f"concept {j}" for j in range(5)}
        hits.append(len(names & planted) / 5)
        wrong.append(len(names - planted) / max(1, len(names)))
        quiet.append(not compare(drawn(rng, 1000, shares), drawn(rng, 1000, shares)).found.any())
    assert np.mean(hits) > 0.98
    assert np.mean(wrong) < 0.08
    assert np.mean(quiet) > 0.8


def test_intervals_hold_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(80):
        found = compare(drawn(rng, 400, [0.5, 0.3]), drawn(rng, 300, [0.4, 0.3]), rate=0.1, names=["a", "b"])
        held += [by_name(found, "a", "low") <= 0.1 <= by_name(found, "a", "high")]
        held += [by_name(found, "b", "low") <= 0.0 <= by_name(found, "b", "high")]
    assert 0.83 < np.mean(held) < 0.97


def test_what_is_given_is_held_fixed():
    """Who lives in the north has the concept more often, and A has more of them; nothing else differs."""
    rng = np.random.default_rng(0)
    north = [rng.random(2000) < 0.8, rng.random(2000) < 0.2]
    A, B = (np.where(who[:, None], drawn(rng, 2000, [0.7]), drawn(rng, 2000, [0.3])) for who in north)
    assert compare(A, B).found.all()
    found = compare(A, B, given=north)
    assert not found.found.any()
    assert abs(found.difference[0]) < 0.04
    numbers = [who + 0.1 * rng.random(2000) for who in north]
    assert not compare(A, B, given=numbers).found.any()
    whole = compare(A, B, given=(np.zeros(2000, int), np.zeros(2000, int)))
    np.testing.assert_allclose(whole.p, compare(A, B).p)


def test_levels_are_weighted_as_mantel_and_haenszel_do():
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=900) * (rng.random(900) < 0.7)
    in_a = rng.random(900) < 0.2 + 0.3 * level
    P = rng.random((900, 2))
    a, b = P[in_a], P[~in_a]
    found = compare(a, b, given=(level[in_a], level[~in_a]), names=["x", "y"])
    counts = np.array([[(side == k).sum() for k in range(3)] for side in (level[in_a], level[~in_a])])
    weight = counts[0] * counts[1] / counts.sum(axis=0)
    for j, name in enumerate(["x", "y"]):
        apart = [a[level[in_a] == k, j].mean() - b[level[~in_a] == k, j].mean() for k in range(3)]
        assert by_name(found, name, "difference") == pytest.approx(np.average(apart, weights=weight))


def test_few_groups_are_told_by_students_distribution():
    rng = np.random.default_rng(0)
    means = rng.random(8)
    rows = np.repeat(means, 50)[:, None]
    found = compare(rows[:200], rows[200:], groups=(np.repeat(np.arange(4), 50), np.repeat(np.arange(4, 8), 50)))
    off = (means - means.mean()) / 4
    t = abs(means[:4].mean() - means[4:].mean()) / np.sqrt((off**2).sum() * 8 / 7)
    assert found.p[0] == pytest.approx(2 * stats.t.sf(t, 6))


def test_groups_count_and_not_their_rows():
    """Ten people on either side, each with hundreds of items that are all alike."""
    found, naive = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sides = [np.repeat(rng.random((10, 1)), 200, axis=0) for _ in range(2)]
        A, B = (rng.random(side.shape) < side for side in sides)
        who = [np.repeat(np.arange(10), 200), np.repeat(np.arange(10, 20), 200)]
        naive.append(compare(A, B).found[0])
        found.append(compare(A, B, groups=who))
    assert np.mean(naive) > 0.6
    assert np.mean([each.found[0] for each in found]) < 0.21
    assert found[0].high[0] - found[0].low[0] > 0.2


def test_pairs_of_one_group_are_compared_within_it():
    """The same people before and after: what tells people apart is no noise then."""
    rng = np.random.default_rng(0)
    people = rng.random((60, 1))
    B, A = (rng.random((60 * 20, 1)) < np.repeat(np.clip(people + more, 0, 1), 20, axis=0) for more in (0, 0.1))
    who = np.repeat(np.arange(60), 20)
    paired = compare(A, B, groups=(who, who))
    assert paired.found.all()
    assert paired.high[0] - paired.low[0] < 0.1


def test_examples_are_rows_of_their_side():
    rng = np.random.default_rng(0)
    A, B = rng.random((50, 3)), rng.random((30, 3))
    found = compare(A, B, given=(np.arange(50) % 3, np.arange(30) % 2))  # the third level is in A alone
    for name, rows, others in zip(found.concepts, found.examples_a, found.examples_b):
        j = int(name.split()[1])
        assert all(row % 3 < 2 for row in rows)
        assert A[rows[0], j] == A[np.arange(50) % 3 < 2, j].max()
        assert B[others[0], j] == B[:, j].max()


def test_a_concept_that_hardly_anybody_has_is_not_told():
    A, B = np.zeros((100, 1)), np.zeros((100, 1))
    A[:3] = 1
    found = compare(A, B)
    assert found.p.tolist() == [1.0]
    assert not found.found.any()
    assert compare(np.ones((9, 2)), np.ones((9, 2))).q.tolist() == [1.0, 1.0]


# what moved beside the concepts


def test_the_shift_is_taken_apart():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    P = drawn(rng, 4000, [0.5, 0.3]).astype(float)
    in_a = np.arange(4000) < 2000
    P[in_a, 0] = rng.random(2000) < 0.9
    X = P @ V[:2] + 0.2 * rng.standard_normal((4000, 10))
    assert taken_apart(X, P, in_a).explained > 0.97
    X[in_a] += 0.4 * V[5]  # as long as what the concept explains
    found = taken_apart(X, P, in_a)
    assert found.explained == pytest.approx(0.5, abs=0.05)
    assert found.rest @ V[5] / np.linalg.norm(found.rest) > 0.99
    rng.shuffle(in_a)
    assert np.isnan(taken_apart(rng.standard_normal((4000, 10)), P, in_a).explained)


def test_a_model_a_vocabulary_and_raw_rows(tmp_path):
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    has = drawn(rng, 1500, [0.4, 0.4, 0.4])
    X = 3 + has @ V[:3] + 0.1 * rng.standard_normal((1500, 12))
    model = ConceptSubspaces(1).fit(X[:500], has[:500], ["x", "y", "z"])
    a = np.flatnonzero(has[500:, 0] | (rng.random(1000) < 0.4)) + 500
    b = np.setdiff1d(np.arange(500, 1500), a)
    moved = X[a] + 0.8 * V[7]
    found = compare(moved, X[b], model=model, vocabulary=Vocabulary(["up", "down", "x"], np.stack([V[7], -V[7], V[0]])))
    assert found.concepts[0] == "x"
    assert found.found[0]
    assert has[a][found.examples_a[0], 0].all()
    assert 0 < found.explained < 0.9
    assert found.else_words[0] == "up"
    assert "something else: up" in str(found)
    assert len(found.to_frame()) == 3
    assert found.plot().get_yticklabels()[0].get_text() in "xyz"


# over time, and against a target


def test_changes_are_found_where_they_are():
    rng = np.random.default_rng(0)
    n = 1200
    P = drawn(rng, n, [0.3, 0.3, 0.3])
    P[:, 1] = rng.random(n) < np.where(np.arange(n) < 400, 0.1, np.where(np.arange(n) < 800, 0.5, 0.2))
    days = np.datetime64("2025-01-01") + np.arange(n) // 4
    order = rng.permutation(n)
    found = compare(P[order], dates=days[order], names=["a", "b", "c"])
    assert found.concepts[0] == "b"
    assert found.found.tolist() == [True, False, False]
    for date, true in zip(found.changes[0], (days[400], days[800])):
        assert abs((date - true).astype(int)) < 12
    assert found.counts.sum() == n
    assert (found.low <= found.shares).all()
    assert (found.shares <= found.high).all()
    assert "changes at 2025" in str(found)
    assert len(found.to_frame()) == 3 * len(found.starts)
    assert len(found.plot().lines) >= 3


def test_no_drift_is_found_more_often_than_it_should():
    rng = np.random.default_rng(0)
    p = [drift((rng.random(300) < 0.3).astype(float), np.arange(300))[1] for _ in range(300)]
    assert np.mean(np.array(p) < 0.05) < 0.08
    assert breaks(np.ones(50), np.arange(50), 0.05) == []


def test_items_of_one_date_are_not_torn_apart():
    rng = np.random.default_rng(0)
    dates = np.repeat(["spring", "summer", "autumn"], 40)
    found = compare(drawn(rng, 120, [0.5]), dates=dates, n_periods=7)
    assert found.counts.tolist() == [40, 40, 40]
    assert found.starts.tolist() == found.ends.tolist() == ["autumn", "spring", "summer"]


def test_what_predicts_a_target_is_told_beside_what_goes_with_it():
    rng = np.random.default_rng(0)
    P = drawn(rng, 1000, np.full(20, 0.5))
    P[:, 1] = np.where(rng.random(1000) < 0.7, P[:, 0], P[:, 1])  # goes with the first, and does nothing
    y = 2.0 * P[:, 0] - 1.0 * P[:, 2] + rng.standard_normal(1000)
    found = compare(P, target=y)
    assert {name for name, sure in zip(found.concepts, found.found) if sure} == {"concept 0", "concept 2"}
    assert by_name(found, "concept 0", "effect") == pytest.approx(2, abs=0.3)
    assert by_name(found, "concept 2", "effect") == pytest.approx(-1, abs=0.3)
    assert 0.4 < found.score < 0.7
    assert "2 of 20 concepts" in str(found)
    assert len(found.to_frame()) == 20
    assert len(found.plot().patches) == 2
    word = compare(P, target=np.where(y > 1, "much", "little"))
    assert word.target == "much"
    assert word.score > 0.75
    three = compare(P, target=np.digitize(y, [0, 1]).astype(str))
    assert [each.target for each in three] == ["0", "1", "2"]
    nothing = compare(P, target=rng.standard_normal(1000))
    assert not nothing.found.any()
    assert nothing.score < 0.02
    assert chosen_often(np.ones((20, 3)), np.arange(20.0), np.random.RandomState(0)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda P: compare(P), "give one of the three"),
        (lambda P: compare(P, P, dates=np.arange(9)), "give one of the three"),
        (lambda P: compare(P, P, rate=2), "rate must lie"),
        (lambda P: compare(3 * P, P), "for raw rows give model="),
        (lambda P: compare(P, P[:0]), "B has no rows"),
        (lambda P: compare(P, P[:, :1]), "A has 2 concepts, but B has 1"),
        (lambda P: compare(P, P, names=["a"]), "1 names for 2 concepts"),
        (lambda P: compare(P, P, given=np.arange(9)), "must be a pair"),
        (lambda P: compare(P, P, given=(np.arange(9), np.arange(8))), "for 9 and 9 rows"),
        (lambda P: compare(P, P, given=(["a"] * 9, ["b"] * 9)), "no level of given in common"),
        (lambda P: compare(P, P, groups=([1] * 9, [2] * 9)), "too few"),
        (lambda P: compare(P, dates=np.arange(8)), "dates of shape"),
        (lambda P: compare(P, dates=np.ones(9)), "nothing can change"),
        (lambda P: compare(P, dates=np.array([np.nan, *range(8)])), "date is missing"),
        (lambda P: compare(P, target=np.ones(9)), "nothing predicts"),
        (lambda P: compare(P, target=["a", "b", "c"] * 3, of="d"), "No row has the target 'd'"),
        (lambda P: compare(P, target=np.arange(9), given=(1, 2)), "give B"),
        (lambda P: compare(np.full((9, 2), np.nan), P), "finite"),
    ],
)
def test_what_does_not_fit_is_said(call, said):
    with pytest.raises(ValueError, match=said):
        call(np.random.default_rng(0).random((9, 2)))


def test_the_same_seed_gives_the_same_answer():
    rng = np.random.default_rng(0)
    A, B = rng.random((60, 3)), rng.random((50, 3))
    assert str(compare(A, B)) == str(compare(A, B))
    np.testing.assert_array_equal(compare(A, B).low, compare(A, B).low)
    assert pellucid.compare is compare


# on the command line


def test_compare_on_the_command_line(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    has = drawn(rng, 900, [0.4, 0.4, 0.4])
    X = 2 + has @ V[:3] + 0.1 * rng.standard_normal((900, 8))
    model = ConceptSubspaces(1).fit(X[:300], has[:300], ["x", "y", "z"])
    pellucid.save(model, tmp_path / "m.safetensors")
    day = np.datetime64("2025-03-01") + np.arange(600) // 10
    columns = {
        "text": [f"item [{i}]" for i in range(600)],
        "kind": np.where(has[300:, 0], "yes", "no"),
        "tags": [["t"] if x else [] for x in has[300:, 1]],
        "city": np.arange(600) % 3,
        "day": day.astype("datetime64[D]"),
        "stars": 2.0 * has[300:, 2] + rng.standard_normal(600),
        "vector": list(X[300:]),
    }
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "all.parquet")
    pq.write_table(table.filter(pa.array(has[300:, 0])), tmp_path / "a.parquet")
    pq.write_table(table.filter(pa.array(~has[300:, 0])), tmp_path / "b.parquet")
    m = ("-m", tmp_path / "m.safetensors")
    two = found("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", *m)
    assert two["concepts"][0] == "x"
    assert two["found"] == [True, False, False]
    split = found("compare", tmp_path / "all.parquet", "--split", "kind=yes", *m, "--given", "city")
    assert split["difference"][0] == pytest.approx(two["difference"][0], abs=0.02)
    assert found("compare", tmp_path / "all.parquet", "--split", "tags=t", *m)["concepts"][0] == "y"
    shown = run("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", *m, "--plot", tmp_path / "p.png").output
    assert "1 of 3 concepts differ" in shown
    assert "x in A:" in shown
    assert "item [" in shown
    assert (tmp_path / "p.png").stat().st_size > 1000
    assert not any(found("compare", tmp_path / "all.parquet", "--dates", "day", *m)["found"])
    drivers = found("compare", tmp_path / "all.parquet", "--target", "stars", *m)
    assert [name for name, sure in zip(drivers["concepts"], drivers["found"]) if sure] == ["z"]
    assert found("compare", tmp_path / "all.parquet", "--target", "kind", *m)["target"] == "yes"
    run("index", tmp_path / "all.parquet", "-o", tmp_path / "c")
    again = found("compare", tmp_path / "c", "--split", "kind=yes", *m)
    alone = found("compare", tmp_path / "all.parquet", "--split", "kind=yes", *m)
    np.testing.assert_allclose(again["difference"], alone["difference"], atol=1e-5)
    for wrong, code, said in (
        ([tmp_path / "a.parquet"], 2, "second set B"),
        ([tmp_path / "a.parquet", "--split", "kind"], 2, "COLUMN=VALUE"),
        ([tmp_path / "a.parquet", "--dates", "when"], 2, "no column 'when'"),
        ([tmp_path / "a.parquet", "--split", "kind=maybe"], 1, "No item"),
    ):
        assert said in fails("compare", *wrong, *m, code=code)


def test_sets_of_the_same_row_have_no_shift_to_explain():
    rows = np.random.default_rng(0).standard_normal((60, 6))
    model = ConceptSubspaces(2, random_state=0).fit(rows, np.arange(60) % 2)
    found = compare(np.ones((30, 6)), np.ones((20, 6)), model=model)
    assert np.isnan(found.explained)
