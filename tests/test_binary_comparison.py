"""Structures of two representations of the same items."""

import numpy as np
import pytest

from pellucid import BinaryAutoencoder
from pellucid.binary import compare_structure
from pellucid.metrics import cka


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    S = rng.integers(0, 2, (200, 7))
    views = [
        S[:, part] @ rng.standard_normal((4, 30)) + 0.3 * rng.standard_normal((200, 30))
        for part in ([0, 1, 2, 3], [2, 3, 4, 5])
    ]
    return [BinaryAutoencoder(random_state=0).fit(X) for X in views], S


def test_what_is_planted_as_shared_is_matched(pair):
    (a, b), S = pair
    found = compare_structure(a, b, random_state=0)
    assert len(found.matched) == 2
    assert (found.agreement > 0.99).all()
    assert (found.p_values <= 0.05).all()
    for i, j in found.matched:
        alike = np.abs(np.corrcoef(np.column_stack([a.concepts_[:, i], b.concepts_[:, j]]).T, S.T)[:2, 2:])
        assert alike.argmax(axis=1).tolist() in ([2, 2], [3, 3])
    assert sorted([*found.matched[:, 0], *found.only_a]) == [0, 1, 2, 3]
    assert sorted([*found.matched[:, 1], *found.only_b]) == [0, 1, 2, 3]
    assert found.shared_cka > 0.7 > 0.1 > found.private_cka
    assert found.cka == pytest.approx(cka(a.concepts_ * np.sqrt(a.weights_), b.concepts_ * np.sqrt(b.weights_)))
    back = compare_structure(b, a, random_state=0)
    np.testing.assert_array_equal(np.sort(back.matched[:, ::-1], axis=0), np.sort(found.matched, axis=0))
    assert back.shared_cka == pytest.approx(found.shared_cka)


def test_items_in_another_order_share_nothing(pair):
    (a, b), _ = pair
    order = np.random.default_rng(1).permutation(200)
    kept = b.concepts_
    try:
        b.concepts_ = kept[order]
        found = compare_structure(a, b, random_state=0)
    finally:
        b.concepts_ = kept
    assert not len(found.matched)
    assert found.shared_cka == 0
    assert found.p_value > 0.05


def test_one_model_is_all_shared_with_itself(pair):
    model = pair[0][0]
    assert len(compare_structure(*pair[0], min_agreement=0.0, random_state=0).matched) == 2
    found = compare_structure(model, model, random_state=0)
    np.testing.assert_array_equal(found.matched[:, 0], found.matched[:, 1])
    assert found.cka == pytest.approx(1)
    assert found.shared_a == found.shared_b == pytest.approx(1)
    assert len(found.plot().patches) == 8


@pytest.mark.filterwarnings("ignore:All items are alike")
def test_models_of_other_items_and_of_nothing(pair):
    model = pair[0][0]
    nothing = BinaryAutoencoder().fit(np.ones((200, 3)))
    found = compare_structure(model, nothing)
    assert (len(found.matched), found.cka, found.p_value) == (0, 0, 1)
    found.plot()
    with pytest.raises(ValueError, match="the first was fitted to 200 and the second to 8"):
        compare_structure(model, BinaryAutoencoder().fit(np.ones((8, 3))))
    with pytest.raises(ValueError, match="n_permutations"):
        compare_structure(model, model, n_permutations=0)
