"""Names on the map stand where what they name lies thickest."""

import numpy as np
import pytest
import scipy.sparse

from pellucid.explorer.names import map_names


@pytest.fixture(scope="module")
def heaps():
    """Three heaps of points, with a word for each heap, one for a part of a heap, and one that is everywhere."""
    rng = np.random.default_rng(0)
    middles = np.array([[-0.7, 0.6], [0.5, 0.5], [0.1, -0.8]])
    which = np.repeat([0, 1, 2], [300, 200, 100])
    places = (middles[which] + 0.05 * rng.normal(size=(600, 2))).astype(np.float32)
    used = np.zeros((600, 5))
    used[np.arange(600), which] = 1
    used[:10, 3] = 1
    used[::2, 4] = 1
    return middles, which, places, scipy.sparse.csc_array(used)


def test_groups_are_named_at_their_heaps(heaps):
    middles, which, places, used = heaps
    found = map_names(places, which, ["a", "b", "c"], ["aa", "bb", "cc", "few", "the"], used)
    groups = [named for named in found if named.level == 0]
    assert [(named.name, named.count, named.group) for named in groups] == [("a", 300, 0), ("b", 200, 1), ("c", 100, 2)]
    for named in groups:
        np.testing.assert_allclose((named.x, named.y), middles[named.group], atol=0.08)


def test_words_are_named_where_they_are_used_more_than_elsewhere(heaps):
    middles, _, places, used = heaps
    words = map_names(places, None, [], ["aa", "bb", "cc", "few", "the"], used)
    assert {named.level for named in words} == {1}
    named = {one.name: (one.x, one.y) for one in words}
    assert "the" not in named  # it says nothing of any place
    for j, word in enumerate(("aa", "bb", "cc")):
        if word in named:
            np.testing.assert_allclose(named[word], middles[j], atol=0.1)
    assert len(named) >= 2


def test_a_word_that_is_the_name_of_a_group_is_not_said_twice(heaps):
    _, which, places, used = heaps
    found = map_names(places, which, ["AA", "b", "c"], ["aa", "bb", "cc", "few", "the"], used)
    assert sum(named.name.lower() == "aa" for named in found) == 1


def test_nothing_is_named_where_there_is_nothing():
    assert map_names(np.zeros((3, 2), np.float32), None, [], [], scipy.sparse.csc_array((3, 0))) == []
    assert map_names(np.zeros((0, 2), np.float32), None, [], [], scipy.sparse.csc_array((0, 0))) == []


def test_turning_the_map_turns_the_names(heaps):
    _, which, places, used = heaps
    words = ["aa", "bb", "cc", "few", "the"]
    before = map_names(places, which, ["a", "b", "c"], words, used)
    after = map_names(-places, which, ["a", "b", "c"], words, used)
    there = {named.name: (named.x, named.y) for named in after if named.level == 0}
    for named in before:
        if named.level == 0:
            np.testing.assert_allclose(there[named.name], (-named.x, -named.y), atol=0.09)
