"""Textures of an image: mosaics made here, what must not matter, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.clusters import segment
from pellucid.metrics import clustering_error


def streaks(rng: np.random.Generator, shape: tuple[int, int], axis: int) -> np.ndarray:
    noise = rng.standard_normal(shape)
    return (noise + np.roll(noise, 1, axis) + np.roll(noise, 2, axis)) / np.sqrt(3)


def mosaic(seed: int, shape: tuple[int, int] = (64, 80)) -> tuple[np.ndarray, np.ndarray]:
    """Streaks down and across beside each other, with a wavy border; both of mean 0 and deviation 1."""
    rng = np.random.default_rng(seed)
    y, x = np.indices(shape)
    truth = (x + 5 * np.sin(y / 9) > shape[1] / 2).astype(int)
    return np.where(truth, streaks(rng, shape, 0), streaks(rng, shape, 1)), truth


def wrong(labels: np.ndarray, truth: np.ndarray) -> float:
    return clustering_error(labels.ravel(), truth.ravel())


@pytest.fixture(scope="module")
def parted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    image, truth = mosaic(0)
    return image, truth, segment(image, 2)


def test_two_textures_of_one_brightness(parted):
    image, truth, labels = parted
    assert labels.shape == image.shape
    assert labels.dtype == np.int64
    assert wrong(labels, truth) < 0.05
    # pixel by pixel there is nothing to see: the best threshold is nearly a guess
    assert wrong((image > np.median(image)).astype(int), truth) > 0.4


def test_the_largest_segment_is_the_first(parted):
    sizes = np.bincount(parted[2].ravel())
    assert len(sizes) == 2
    assert sizes[0] >= sizes[1]


def test_brightness_contrast_and_kind_of_number_change_nothing():
    image, _ = mosaic(4, (32, 40))
    labels = segment(image, 2)
    np.testing.assert_array_equal(segment(1e6 + 3e4 * image, 2), labels)
    np.testing.assert_array_equal(segment((1e-150 * np.stack([image, image], axis=2)).tolist(), 2), labels)


def test_three_textures():
    rng = np.random.default_rng(1)
    y, x = np.indices((64, 64))
    truth = np.where(x < 32, 0, np.where(y < 32, 1, 2))
    kinds = [streaks(rng, truth.shape, 0), streaks(rng, truth.shape, 1), rng.standard_normal(truth.shape)]
    assert wrong(segment(np.choose(truth, kinds), 3), truth) < 0.08


def test_colours_alone_divide():
    rng = np.random.default_rng(2)
    image = rng.integers(0, 60, (40, 48, 3)).astype(np.uint8)
    image[:20, :, 0] += 90
    image[20:, :, 1] += 90
    labels = segment(image, 2)
    assert (labels[:17] == labels[0, 0]).mean() > 0.98
    assert (labels[23:] != labels[0, 0]).mean() > 0.98


def test_one_segment_is_the_image():
    assert not segment(mosaic(3)[0], 1).any()


def test_where_nothing_divides_it_says_so():
    with pytest.warns(UserWarning, match="All pixels are equal: 1 of 3"):
        assert not segment(np.full((32, 32), 7), 3).any()
    with pytest.warns(UserWarning, match="may have one texture only"):
        segment(np.random.default_rng(0).standard_normal((40, 40)), 2)


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (np.zeros((20, 90)), "20 × 90; it takes at least 32"),
        (np.zeros(40), r"\(h, w\) or \(h, w, channels\)"),
        (np.full((32, 32), "a"), r"\(h, w\) or \(h, w, channels\)"),
        (np.where(np.eye(40) > 0, np.nan, 1.0), "row 0, column 0 is not finite"),
    ],
)
def test_what_is_no_image_is_refused(image, said):
    with pytest.raises(ValueError, match=said):
        segment(image, 2)


@pytest.mark.parametrize("options", [{"n_segments": 0}, {"n_segments": 2.5}, {"n_segments": 2, "patch": 4}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="must be"):
        segment(np.eye(40), **options)


def test_a_photograph_mosaic_of_two_textures():
    data = pytest.importorskip("skimage.data")
    crops = []
    for name, factor in (("brick", 4), ("grass", 1)):
        picture = getattr(data, name)().astype(float)
        side = len(picture) // factor
        small = picture.reshape(side, factor, side, factor).mean(axis=(1, 3))[8:104, 8:104]
        crops.append((small - small.mean()) / small.std())
    y, x = np.indices(crops[0].shape)
    truth = (x + 8 * np.sin(y / 14) > 50).astype(int)
    assert wrong(segment(np.choose(truth, crops), 2), truth) < 0.05


@pytest.mark.parametrize("value", [1 / 3, 123.456, -1e308])
def test_equal_pixels_are_equal_whatever_their_mean_rounds_to(value):
    with pytest.warns(UserWarning, match="All pixels are equal: 1 of 2"):
        assert not segment(np.full((40, 41), value), 2).any()


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore:The image may have")
def test_pixels_of_the_largest_numbers_are_told_apart():
    signs = np.sign(np.random.default_rng(0).standard_normal((40, 40)))
    assert segment(1e308 * signs, 2).any()
