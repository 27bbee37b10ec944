"""The sparse manifold transform of images: patches are coded and embedded, and summed over windows (paper 4)."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pellucid._core.interrupts import unchanged_by_failure
from pellucid._core.progress import progress
from pellucid._core.threads import one_blas_thread
from pellucid.manifold.base import BATCH, PatchModel
from pellucid.manifold.image_statistics import add_images, with_images
from pellucid.manifold.kmeans import spherical_kmeans
from pellucid.manifold.nearest import Floats32
from pellucid.manifold.nearest_codes import with_mirror_images
from pellucid.manifold.patches import Images, image_blocks, mirrored, patch_rows, second_moment, whitening_matrices
from pellucid.manifold.spectral import solve_graph, solve_pairs
from pellucid.manifold.statistics import refuse_loaded
from pellucid.rows import is_lazy
from pellucid.rows.parts import plus


class PatchManifoldTransform(PatchModel):
    """Vectors for images, from which of their patches occur together; two closed-form layers and no network.

    Every patch is whitened and brought to unit length, coded over a dictionary of patches, and embedded so that patches
    of the same surroundings are close; embeddings are summed over windows. Images are (n, height, width) or (n, height,
    width, channels), uint8 or floating-point numbers from 0 to 1, as arrays, memory maps, blocks, or a folder of files.
    For colour and grey side by side, as in the paper, take scikit-learn's ``FeatureUnion`` of two of these.

    Parameters
    ----------
    patch_size : int, default=6
        Height and width of a patch.
    n_atoms : int, default=8192
        Size of the dictionary.
    code : {"nearest", "threshold"}, default="nearest"
        What a patch becomes:

        - "nearest": its nearest atom; the dictionary comes from k-means on the sphere;
        - "threshold": all atoms that it has a cosine of ``threshold`` or more with; the dictionary is a random choice
          of patches.
    threshold : float, default=0.3
        For the code "threshold"; the paper takes 0.3 for colour and 0.45 for grey patches.
    context : int or None, default=None
        Patches at most that many pixels apart, in both directions, are neighbours; None for the whole image. With the
        code "threshold" anything but None is slow.
    n_components : int, default=384
        Dimensions of a patch's embedding.
    skip : {"constant"} or int, default="constant"
        "constant" leaves out the constant dimension, a number that many of the first; with the code "threshold" there
        is no exactly constant one, and "constant" leaves out one.
    whitening : float or None, default=1e-3
        The λ of (Σ + λI)^−½; None does not whiten.
    mean : {"own", "context", "none"}, default="own"
        What is taken out of a patch: its own mean in each channel, the mean of its context, or nothing.
    contrast : float, default=0.0
        Patches that are shorter than this after whitening are blank: no code, no neighbours, zero embedding.
    pool : int, default=4
        Patch embeddings are summed over windows of that size.
    stride : int, default=2
        How far apart the windows are.
    augment : {"flip"} or None, default=None
        "flip" learns from mirror images too. The dictionary is closed under mirroring then, so that they cost hardly
        anything; ``transform_with_mirror`` gives their vectors, too.
    channels : {"all", "grey"}, default="all"
        "grey" turns colour images into grey ones first.
    constraint : {"frequency", "degree"}, default="frequency"
        "frequency" as in the paper, or "degree"; only the code "nearest" knows the difference.
    exact : bool, default=True
        False lets the search for the nearest atom, also in k-means, miss one in a hundred; it is much faster.
    n_samples : int or None, default=None
        Patches that k-means learns from; None takes 500 000, or 16 for each atom if that is more.
    max_iter : int, default=6
        Iterations of k-means.
    dtype : {"float32", "float16"}, default="float32"
        Type of the vectors.
    memory : float, default=1.0
        Gigabytes that patches and codes of the images at work may take; besides them there are the model, its
        statistics, and the sample that k-means learns from.
    random_state : int, RandomState or None, default=None
        Seed of the dictionary.
    verbose : int, default=0
        Show progress if positive (on a terminal).

    Attributes
    ----------
    atoms_ : ndarray of shape (n_atoms, d), dtype float32
        Whitened patches of unit length, d = patch_size² · channels; with flips the second half mirrors the first.
    components_ : ndarray of shape (n_components, n_atoms), dtype float32
        The map P of codes.
    eigenvalues_ : ndarray of shape (n_components,)
        What each dimension adds to the cost, smallest first.
    whitening_ : ndarray of shape (d, d), dtype float32
        What patches are multiplied with.
    image_shape_ : ndarray of shape (3,)
        Height, width and channels.
    statistics_ : GraphStatistics or PairStatistics
        What was added up (not saved).

    See Also
    --------
    SparseManifoldTransform : For rows of any kind.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import PatchManifoldTransform
    >>> images = np.random.default_rng(0).random((6, 10, 10))
    >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0).fit(images)
    >>> model.transform(images).shape  # four windows of three numbers each
    (6, 12)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "patch_size": [Interval(Integral, 1, None, closed="left")],
        "n_atoms": [Interval(Integral, 2, None, closed="left")],
        "code": [StrOptions({"nearest", "threshold"})],
        "threshold": [Interval(Real, 0, 1, closed="right")],
        "context": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "skip": [StrOptions({"constant"}), Interval(Integral, 0, None, closed="left")],
        "whitening": [Interval(Real, 0, None, closed="neither"), None],
        "mean": [StrOptions({"own", "context", "none"})],
        "contrast": [Interval(Real, 0, None, closed="left")],
        "pool": [Interval(Integral, 1, None, closed="left")],
        "stride": [Interval(Integral, 1, None, closed="left")],
        "augment": [StrOptions({"flip"}), None],
        "channels": [StrOptions({"all", "grey"})],
        "constraint": [StrOptions({"frequency", "degree"})],
        "exact": ["boolean"],
        "n_samples": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "dtype": [StrOptions({"float32", "float16"})],
        "memory": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        patch_size: int = 6,
        n_atoms: int = 8192,
        code: str = "nearest",
        *,
        threshold: float = 0.3,
        context: int | None = None,
        n_components: int = 384,
        skip: str | int = "constant",
        whitening: float | None = 1e-3,
        mean: str = "own",
        contrast: float = 0.0,
        pool: int = 4,
        stride: int = 2,
        augment: str | None = None,
        channels: str = "all",
        constraint: str = "frequency",
        exact: bool = True,
        n_samples: int | None = None,
        max_iter: int = 6,
        dtype: str = "float32",
        memory: float = 1.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.patch_size = patch_size
        self.n_atoms = n_atoms
        self.code = code
        self.threshold = threshold
        self.context = context
        self.n_components = n_components
        self.skip = skip
        self.whitening = whitening
        self.mean = mean
        self.contrast = contrast
        self.pool = pool
        self.stride = stride
        self.augment = augment
        self.channels = channels
        self.constraint = constraint
        self.exact = exact
        self.n_samples = n_samples
        self.max_iter = max_iter
        self.dtype = dtype
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    @unchanged_by_failure
    def fit(
        self, X: Any, y: object = None, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> PatchManifoldTransform:
        """Fit to images, in one pass after the dictionary is made.

        Ctrl-C during the pass ends it: what was seen until then makes the model.

        Parameters
        ----------
        X : array-like of shape (n, height, width) or (n, height, width, channels), dask.array, Blocks, str or path
            Images, or a folder of files.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.
        checkpoint : str, path or None, default=None
            A file that takes what was added up after each part of the images, from which the same call goes on when it
            was interrupted.

        Returns
        -------
        PatchManifoldTransform
            The fitted model itself.

        Raises
        ------
        ValueError
            If these are no images, one has a pixel that is not finite, they are smaller than a patch, none has any
            contrast, or a parameter is out of its range.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0).fit(images).image_shape_
        array([10, 10,  1])
        """
        for name in ("atoms_", "statistics_"):
            if hasattr(self, name):
                delattr(self, name)
        if checkpoint is None:
            return self.partial_fit(X, y).solve()
        self._validate_params()
        self._cells = None
        add_images(self, image_blocks(X), checkpoint)
        return self.solve()

    @unchanged_by_failure
    def partial_fit(self, X: Any, y: object = None) -> PatchManifoldTransform:
        """Add the statistics of images; the first ones make whitening and dictionary. ``solve`` finishes.

        Parameters
        ----------
        X : array-like of shape (n, height, width) or (n, height, width, channels), dask.array, Blocks, str or path
            Images, or a folder of files.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        PatchManifoldTransform
            The model itself.

        Raises
        ------
        ValueError
            If the images are of another shape than the first, or the model was loaded, so that it holds no statistics
            to add to.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0)
        >>> model.partial_fit(images[:3]).partial_fit(images[3:]).solve().transform(images).shape
        (6, 12)
        """
        self._validate_params()
        refuse_loaded(self, "atoms_")
        self._cells = None
        if is_lazy(X):
            add_images(self, image_blocks(X))
            return self
        images = Images(X, self.channels == "grey")
        if not hasattr(self, "atoms_"):
            self._start(images)
        self._check_shape(images)
        # added only when all of them are there, lest some be counted twice when an image is mended
        self.statistics_: Any = plus(getattr(self, "statistics_", None), with_images(self, None, images))
        return self

    def solve(self) -> PatchManifoldTransform:
        """Find the embedding for the statistics added up so far.

        Returns
        -------
        PatchManifoldTransform
            The model itself, fitted.

        Raises
        ------
        ValueError
            If no two patches were neighbours, or ``skip`` leaves out all dimensions.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0).partial_fit(images)
        >>> model.solve().components_.shape
        (3, 16)
        """
        check_is_fitted(self, "statistics_")
        flip = self.augment == "flip"
        if self.code == "nearest":
            statistics = with_mirror_images(self.statistics_) if flip else self.statistics_
            P, values = solve_graph(statistics, self.n_components, self.skip, self.constraint)
        else:
            with one_blas_thread():
                P, values = solve_pairs(self.statistics_, self.n_components, self.skip, flip)
        self.components_, self.eigenvalues_ = P.astype(np.float32), values
        return self

    def _start(self, images: Images) -> None:
        """Whitening and dictionary, from a sample of the images."""
        size, channels = self.patch_size, images.channels
        if min(images.height, images.width) < size:
            raise ValueError(f"Images of {images.height} × {images.width} pixels hold no patch of {size} × {size}.")
        self.image_shape_ = np.array([images.height, images.width, channels])
        seed = check_random_state(self.random_state)
        each = int(np.prod(self._grid()))
        asked = max(500_000, 16 * self.n_atoms) if self.n_samples is None else self.n_samples
        asked = self.n_atoms if self.code == "threshold" else max(asked, self.n_atoms)
        # more images than needed, for variety
        chosen = np.sort(seed.permutation(len(images))[: max(2000, 4 * asked // each + 1)])
        flip = mirrored(size, channels)
        moment = np.zeros((len(flip), len(flip)))
        for start in range(0, len(chosen), BATCH):
            block = images.take(chosen[start : start + BATCH])
            for i in range(len(block)):  # one by one, so that the sum is the same whatever fits into the memory
                moment += second_moment(patch_rows(block[i : i + 1], size, self.mean, self._reach()))
        moment /= each * len(chosen)
        if self.augment == "flip":
            moment = (moment + moment[flip][:, flip]) / 2
        ridge = self.whitening
        self.whitening_ = (
            np.eye(len(flip), dtype=np.float32) if ridge is None else whitening_matrices(moment, float(ridge))[0]
        )
        self.atoms_ = self._dictionary(self._sample(images, chosen, asked, seed), flip, seed)

    def _sample(self, images: Images, chosen: NDArray[np.int64], asked: int, seed: Any) -> Floats32:
        """Prepared patches with contrast, about evenly from the chosen images."""
        prepare = self._preparation()
        parts = []
        at_once = self._at_once(BATCH)
        share = min(1.0, 3 * asked / (len(chosen) * int(np.prod(self._grid()))))
        for start in range(0, len(chosen), at_once):
            rows, present = prepare(images.take(chosen[start : start + at_once]))
            parts.append(rows[present & (seed.random_sample(len(rows)) < share)])
        rows = np.concatenate(parts)
        if not len(rows):
            raise ValueError("No patch of these images has any contrast, so there is nothing to learn from.")
        return np.asarray(rows[np.sort(seed.permutation(len(rows))[:asked])])

    def _dictionary(self, rows: Floats32, flip: NDArray[np.int64], seed: Any) -> Floats32:
        own = self.n_atoms // 2 if self.augment == "flip" else self.n_atoms
        if self.code == "threshold":
            atoms = rows[np.sort(seed.permutation(len(rows))[:own])]
        else:
            with progress("dictionary", self.max_iter, bool(self.verbose)) as step:
                atoms = spherical_kmeans(rows, own, self.max_iter, 0.0, seed, step, self.exact)[0]
        return np.concatenate([atoms, atoms[:, flip]]) if self.augment == "flip" else np.ascontiguousarray(atoms)
