"""The scenes that ship with the package: sizes, labels, vectors, and that the grammar still writes them."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

import pellucid.datasets
from pellucid.datasets import Scenes, load_scenes

HOME = Path(pellucid.datasets.__file__).parent
GENERATOR = Path(__file__).resolve().parents[1] / "tools" / "make_scenes"


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return load_scenes()


@pytest.fixture(scope="module")
def generator() -> Iterator[ModuleType]:
    if not (GENERATOR / "__init__.py").is_file():
        pytest.skip("the generator (tools/make_scenes) is not part of this copy")
    name = "make_scenes_under_test"
    spec = importlib.util.spec_from_file_location(
        name, GENERATOR / "__init__.py", submodule_search_locations=[str(GENERATOR)]
    )
    assert spec is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    yield package
    for loaded in [key for key in sys.modules if key.split(".")[0] == name]:
        del sys.modules[loaded]


def centred(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise, take the mean of all away, normalise."""
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = rows - rows.mean(axis=0)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def average_precision(relevant: NDArray[np.bool_]) -> NDArray[np.float64]:
    """AP@k of each row of hits, over what was returned."""
    precision = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
    return np.asarray((precision * relevant).sum(axis=1) / np.maximum(1, relevant.sum(axis=1)))


def test_sizes(scenes: Scenes) -> None:
    assert scenes.vectors.shape == (3000, 384)
    assert len(scenes.texts) == 3000
    assert scenes.fine.shape == (3000, len(scenes.fine_names))
    assert scenes.coarse.shape == (3000, len(scenes.coarse_names))
    assert 55 <= len(scenes.fine_names) <= 70
    assert 10 <= len(scenes.coarse_names) <= 12
    assert scenes.concept_vectors.shape == (len(scenes.coarse_names), 384)
    assert scenes.fine_vectors.shape == (len(scenes.fine_names), 384)
    assert scenes.word_vectors.shape == (2000, 384)
    assert len(set(scenes.words)) == len(scenes.words) == 2000
    assert {a.dtype for a in (scenes.vectors, scenes.concept_vectors, scenes.fine_vectors, scenes.word_vectors)} == {
        np.dtype(np.float32)
    }
    assert scenes.fine.dtype == scenes.coarse.dtype == bool


def test_names_are_words_that_can_be_looked_up(scenes: Scenes) -> None:
    assert len(set(scenes.fine_names)) == len(scenes.fine_names)
    assert len(set(scenes.coarse_names)) == len(scenes.coarse_names)
    wanted = {name for name in [*scenes.coarse_names, *scenes.fine_names] if " " not in name}
    assert wanted <= set(scenes.words)


def test_texts_are_different_sentences(scenes: Scenes) -> None:
    assert len({text.lower() for text in scenes.texts}) == len(scenes.texts)
    for text in scenes.texts:
        assert re.fullmatch(r"[A-Z][^{}]*[\w.]", text), text
        assert not re.search(r"  | ,|\.\.|\. [a-z]", text), text
    lengths = [len(text.split()) for text in scenes.texts]
    assert min(lengths) >= 4
    assert max(lengths) <= 40
    assert np.std(lengths) > 3


def test_labels_follow_the_taxonomy(scenes: Scenes) -> None:
    assert scenes.fine_to_coarse.shape == (len(scenes.fine_names),)
    assert set(scenes.fine_to_coarse.tolist()) == set(range(len(scenes.coarse_names)))
    for j in range(len(scenes.coarse_names)):
        members = scenes.fine[:, scenes.fine_to_coarse == j]
        np.testing.assert_array_equal(members.any(axis=1), scenes.coarse[:, j])


def test_every_label_is_frequent_enough(scenes: Scenes) -> None:
    counts = dict(zip(scenes.fine_names, scenes.fine.sum(axis=0).tolist()))
    assert {name: count for name, count in counts.items() if count < 60} == {}
    assert scenes.coarse.mean(axis=0).max() < 0.6


def test_two_to_four_concepts_each(scenes: Scenes) -> None:
    touched = scenes.coarse.sum(axis=1)
    assert touched.min() == 2
    assert touched.max() == 4
    assert np.mean(touched >= 3) > 0.3


def test_vectors_have_length_one(scenes: Scenes) -> None:
    for rows in (scenes.vectors, scenes.concept_vectors, scenes.fine_vectors, scenes.word_vectors):
        assert np.isfinite(rows).all()
        # rounding to half precision moves the length by less than one unit of its last place
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=np.finfo(np.float16).eps)


def test_split_is_the_documented_one(scenes: Scenes) -> None:
    order = np.random.default_rng(0).permutation(3000)
    np.testing.assert_array_equal(np.concatenate(scenes.split), order)
    assert [len(part) for part in scenes.split] == [1800, 300, 300, 600]
    np.testing.assert_array_equal(scenes.split.queries, order[2100:2400])


def test_plain_search_leaves_room_for_improvement(scenes: Scenes) -> None:
    rows = centred(scenes.vectors)
    queries, candidates = scenes.split.queries, scenes.split.candidates
    best = candidates[np.argsort(-(rows[queries] @ rows[candidates].T), axis=1, kind="stable")[:, :20]]
    general, sub = [], []
    for j in range(len(scenes.coarse_names)):
        asking = scenes.coarse[queries, j]
        found = best[asking]
        general.append(average_precision(scenes.coarse[found, j]))
        wanted = scenes.fine[queries[asking]] & (scenes.fine_to_coarse == j)
        sub.append(average_precision((scenes.fine[found] & wanted[:, None, :]).any(axis=2)))
    assert 0.4 < np.concatenate(general).mean() < 0.85
    assert 0.2 < np.concatenate(sub).mean() < np.concatenate(general).mean()


def test_concept_words_point_at_their_scenes(scenes: Scenes) -> None:
    rows = centred(scenes.vectors)
    words = scenes.concept_vectors - scenes.concept_vectors.mean(axis=0)
    for j, name in enumerate(scenes.coarse_names):
        nearest = np.argsort(-(rows @ words[j]))[:50]
        assert scenes.coarse[nearest, j].mean() > 1.5 * scenes.coarse[:, j].mean(), name


def test_fine_words_point_at_their_scenes(scenes: Scenes) -> None:
    rows = centred(scenes.vectors)
    words = scenes.fine_vectors - scenes.fine_vectors.mean(axis=0)
    nearest = np.argsort(-(rows @ words.T), axis=0)[:20]
    hits = np.take_along_axis(scenes.fine, nearest, axis=0).mean(axis=0)
    assert hits.mean() > 10 * scenes.fine.mean()


def test_words_are_near_themselves(scenes: Scenes) -> None:
    """The word's own vector is the nearest one to its label's vector, so words and labels are aligned row by row."""
    rows = {word: i for i, word in enumerate(scenes.words)}
    known = [i for i, name in enumerate(scenes.fine_names) if name in rows]
    nearest = np.argmax(scenes.fine_vectors[known] @ scenes.word_vectors.T, axis=1)
    right = [scenes.words[column] == scenes.fine_names[i] for i, column in zip(known, nearest)]
    assert np.mean(right) > 0.8


def test_repr_is_short_and_tells_the_sizes(scenes: Scenes) -> None:
    assert repr(scenes) == "Scenes(3000 texts, vectors of 384, 12 concepts, 65 fine labels, 2000 words)"


def test_scenes_cannot_be_reassigned(scenes: Scenes) -> None:
    with pytest.raises(AttributeError):
        scenes.texts = []  # type: ignore[misc]


def test_data_files_are_small() -> None:
    data = [path for path in HOME.iterdir() if path.is_file() and path.suffix != ".py"]
    assert {path.name for path in data} >= {"scenes.json", "scenes.npz"}
    assert sum(path.stat().st_size for path in data) < 6_000_000


def test_the_grammar_still_writes_the_shipped_text(generator: ModuleType) -> None:
    main = importlib.import_module(f"{generator.__name__}.__main__")
    shipped = json.loads((HOME / "scenes.json").read_text(encoding="utf-8"))
    written = json.loads(main.dump(main.document()))
    assert written["concepts"] == shipped["concepts"]
    assert written["scenes"] == shipped["scenes"]
    assert written["words"] == shipped["words"]


def test_labels_are_what_the_sentence_mentions(generator: ModuleType, scenes: Scenes) -> None:
    """Look for every noun of the lexicon as a whole word: what is found is the label set, no more and no less."""
    lexicon = importlib.import_module(f"{generator.__name__}.lexicon_more")
    english = importlib.import_module(f"{generator.__name__}.english")
    relations = importlib.import_module(f"{generator.__name__}.relations")
    meaning: dict[str, str] = {}
    for name, entry in lexicon.ENTRIES.items():
        nouns = english.words_of(entry.nouns) + (english.words_of(relations.INDOOR_BIRDS) if name == "bird" else [])
        for form in {form.lower() for noun in nouns for form in english.both_numbers(noun) if form}:
            assert meaning.setdefault(form, name) == name, f"{form} belongs to two labels"
    longest_first = sorted(meaning, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])")
    for text, row in zip(scenes.texts, scenes.fine):
        mentioned = {meaning[word] for word in pattern.findall(text.lower())}
        assert mentioned == {scenes.fine_names[i] for i in np.flatnonzero(row)}, text


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("carry", ("carries", "carrying", "carried", "carried")),
        ("pick up", ("picks up", "picking up", "picked up", "picked up")),
        ("pat", ("pats", "patting", "patted", "patted")),
        ("ride", ("rides", "riding", "rode", "ridden")),
        ("watch", ("watches", "watching", "watched", "watched")),
        ("be parked", ("is parked", "parked", "was parked", None)),
    ],
)
def test_verbs(generator: ModuleType, base: str, forms: tuple[str | None, ...]) -> None:
    verb = importlib.import_module(f"{generator.__name__}.english").Verb(base)
    assert (verb.present(False), verb.participle(), verb.past(False)) == forms[:3]
    assert forms[3] is None or verb.passive() == forms[3]


def test_articles_and_headlines(generator: ModuleType) -> None:
    english = importlib.import_module(f"{generator.__name__}.english")
    phrases = ["old man", "dog", "ewe", "one-eyed cat", "upright piano", "SLR camera"]
    assert [english.article(phrase).split()[0] for phrase in phrases] == ["an", "a", "a", "a", "an", "an"]
    assert english.headline("A girl tunes a violin in the attic.") == "girl tunes violin in attic"
    assert english.finish("a dog{dog} sleeps. a mug{mug} steams.") == (
        "A dog sleeps. A mug steams.",
        frozenset({"dog", "mug"}),
    )
