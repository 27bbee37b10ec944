"""What a fitted patch model can do: vectors of images and of patches, mirror images, what atoms look like."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import unit_rows
from pellucid._core.progress import progress
from pellucid._core.saved import Fitted, SavedMixin
from pellucid.manifold.nearest import Cells, Floats32, build_cells
from pellucid.manifold.nearest_codes import Codes, look_up, nearest_codes, pooled
from pellucid.manifold.patches import BlockImages, Images, PatchPreparation
from pellucid.manifold.threshold_codes import ActiveAtoms, active_atoms, sum_of_atoms
from pellucid.rows import Blocks, is_lazy
from pellucid.rows.lazy import map_blocks

# images that are prepared and coded at once
BATCH = 128


class PatchModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedMixin, BaseEstimator):
    """Fitted names, new images and persistence of :class:`PatchManifoldTransform`."""

    patch_size: int
    code: str
    threshold: float
    context: int | None
    mean: str
    contrast: float
    pool: int
    stride: int
    augment: str | None
    channels: str
    exact: bool
    dtype: str
    memory: float
    n_atoms: int
    verbose: int

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "atoms_": Fitted("f", ("atoms", "pixels")),
        "components_": Fitted("f", ("components", "atoms")),
        "eigenvalues_": Fitted("f", ("components",)),
        "whitening_": Fitted("f", ("pixels", "pixels")),
        "image_shape_": Fitted("i", (3,)),
    }
    _fitted_values: ClassVar[dict[str, type]] = {}
    _cells: Cells | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags

    def transform(self, X: Any) -> Any:
        """Embeddings (n, windows · n_components) of images.

        Parameters
        ----------
        X : array-like of shape (n, height, width) or (n, height, width, channels), dask.array, Blocks, str or path
            Images, or a folder of files.

        Returns
        -------
        ndarray of shape (n, windows · n_components)
            Vectors of unit length, zeros for a blank image. A ``dask.array`` gives a ``dask.array``, Blocks give
            Blocks.

        Raises
        ------
        ValueError
            If the images are not of the shape that the model was fitted to.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0).fit(images)
        >>> np.linalg.norm(model.transform(images[:2]), axis=1).round(3)
        array([1., 1.], dtype=float32)
        """
        if is_lazy(X):
            check_is_fitted(self, "components_")
            self._check_shape(BlockImages(X if isinstance(X, Blocks) else Blocks(X), self.channels == "grey"))
            there = copy(self)
            there.verbose = 0
            return map_blocks(there.transform, X, self._n_features_out, self.dtype)
        return self._vectors(X, mirror=False)[0]

    def transform_with_mirror(self, X: ArrayLike | str | os.PathLike[str]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Embeddings of images and of their mirror images, which are coded once; needs ``augment="flip"``.

        Parameters
        ----------
        X : array-like of shape (n, height, width) or (n, height, width, channels), str or path
            Images, or a folder of files.

        Returns
        -------
        vectors : ndarray of shape (n, windows · n_components)
            Vectors of the images.
        mirrored : ndarray of shape (n, windows · n_components)
            Vectors of their mirror images.

        Raises
        ------
        ValueError
            If the model was fitted without ``augment="flip"``, or to images of another shape.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, augment="flip", random_state=0).fit(images)
        >>> vectors, mirrored = model.transform_with_mirror(images)
        >>> np.allclose(mirrored, model.transform(images[:, :, ::-1]), atol=1e-4)
        True
        """
        if self.augment != "flip":
            raise ValueError('Only a dictionary that is closed under mirroring can do that: fit with augment="flip".')
        vectors, mirrored = self._vectors(X, mirror=True)
        return vectors, mirrored

    def _vectors(self, X: ArrayLike | str | os.PathLike[str], mirror: bool) -> list[NDArray[Any]]:
        check_is_fitted(self, "components_")
        images = self._images(X)
        shape, n = self._places(), len(images)
        made = [np.empty((n, self._n_features_out), dtype=self.dtype) for _ in range(1 + mirror)]
        at_once = self._at_once(BATCH)
        with progress("images", -(-n // at_once), bool(self.verbose)) as step:
            for start in range(0, n, at_once):
                block = images.take(slice(start, start + at_once))
                outs = [out[start : start + at_once] for out in made]
                pooled(self._embedder(block, mirror), len(block), shape, self.pool, self.stride, outs)
                step(f"{min(start + at_once, n)} of {n}")
        return made

    def patch_embeddings(self, X: ArrayLike | str | os.PathLike[str]) -> Floats32:
        """Vectors of all patches of images.

        Parameters
        ----------
        X : array-like of shape (n, height, width) or (n, height, width, channels), str or path
            Images, or a folder of files.

        Returns
        -------
        ndarray of shape (n, rows, columns, n_components), dtype float32
            A vector of unit length for every place of a patch; zeros for patches without a code.

        Raises
        ------
        ValueError
            If the images are not of the shape that the model was fitted to.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0).fit(images)
        >>> model.patch_embeddings(images[:2]).shape
        (2, 7, 7, 3)
        """
        check_is_fitted(self, "components_")
        images = self._images(X)
        rows, columns = self._grid()
        out = np.empty((len(images), rows, columns, len(self.components_)), dtype=np.float32)
        at_once = self._at_once(BATCH)
        for start in range(0, len(images), at_once):
            block = images.take(slice(start, start + at_once))
            embed = self._embedder(block, mirror=False)
            for i in range(len(block)):
                out[start + i] = embed(i)[0]
        return out

    def atom_patches(self) -> Floats32:
        """Atoms as they look, with the whitening undone.

        Returns
        -------
        ndarray of shape (n_atoms, patch_size, patch_size, channels), dtype float32
            A patch for each atom.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0).fit(images)
        >>> model.atom_patches().shape
        (16, 4, 4, 1)
        """
        check_is_fitted(self, "atoms_")
        looks = self.atoms_ @ np.linalg.inv(self.whitening_.astype(np.float64)).astype(np.float32)
        return np.asarray(looks.reshape(len(looks), self.patch_size, self.patch_size, -1))

    def similar_atoms(self, atom: int, k: int = 24) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The atoms closest to one atom in the embedding, by cosine (Figure 4).

        Parameters
        ----------
        atom : int
            Number of the atom, counted from 0.
        k : int, default=24
            How many to return, if there are as many.

        Returns
        -------
        atoms : ndarray of shape (k,), dtype int64
            Numbers of the closest atoms, best first.
        cosines : ndarray of shape (k,), dtype float32
            Their cosines with the atom.

        Raises
        ------
        ValueError
            If there is no such atom.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import PatchManifoldTransform
        >>> images = np.random.default_rng(0).random((6, 10, 10))
        >>> model = PatchManifoldTransform(4, n_atoms=16, n_components=3, random_state=0).fit(images)
        >>> atoms, cosines = model.similar_atoms(0, k=2)
        >>> atoms.shape, bool(cosines[0] >= cosines[1])
        ((2,), True)
        """
        check_is_fitted(self, "components_")
        if not 0 <= atom < len(self.atoms_):
            raise ValueError(f"There is no atom {atom}; there are {len(self.atoms_)}, counted from 0.")
        table = unit_rows(np.ascontiguousarray(self.components_.T))
        cosines = table @ table[atom]
        cosines[atom] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(cosines) - 1)]
        return best, cosines[best]

    @property
    def _n_features_out(self) -> int:
        rows, columns = self._places()
        return rows * columns * len(self.components_)

    def _images(self, X: ArrayLike | str | os.PathLike[str]) -> Images:
        if is_lazy(X):
            raise ValueError("Blocks of images are for fit, partial_fit and transform; this takes arrays or a folder.")
        images = Images(X, self.channels == "grey")
        self._check_shape(images)
        return images

    def _check_shape(self, images: Images) -> None:
        shape = (images.height, images.width, images.channels)
        if shape != tuple(int(length) for length in self.image_shape_):
            raise ValueError(
                f"Images are {shape[0]} × {shape[1]} with {shape[2]} channels, but the model was fitted to "
                f"{self.image_shape_[0]} × {self.image_shape_[1]} with {self.image_shape_[2]}."
            )

    def _grid(self) -> tuple[int, int]:
        """Rows and columns of patches in an image."""
        return int(self.image_shape_[0]) - self.patch_size + 1, int(self.image_shape_[1]) - self.patch_size + 1

    def _places(self) -> tuple[int, int]:
        """Rows and columns of windows in an image; a window is never larger than the image."""
        rows, columns = (max(length - self.pool, 0) // self.stride + 1 for length in self._grid())
        return rows, columns

    def _at_once(self, most: int, share: float = 1.0) -> int:
        """Images whose patches and codes take no more than that share of the memory, at most so many.

        A number of a patch takes four bytes, cut out and prepared; a code by threshold two for an active atom and eight
        for its place in the lists, a thirtieth being active, seldom more.
        """
        numbers = self.patch_size**2 * int(self.image_shape_[2])
        patch = 8 * numbers + (self.n_atoms / 3 if self.code == "threshold" else 16)
        return int(np.clip(share * self.memory * 1e9 / (np.prod(self._grid()) * patch), 1, most))

    def _reach(self) -> int:
        """How far apart patches of one context may be."""
        return int(max(self.image_shape_[:2])) if self.context is None else int(self.context)

    def _preparation(self) -> PatchPreparation:
        return PatchPreparation(self.patch_size, self.mean, self._reach(), self.whitening_, float(self.contrast))

    def _codes(self, block: Floats32) -> Codes:
        cells = getattr(self, "_cells", None)
        if cells is None or cells.exact != self.exact:
            self._cells = build_cells(self.atoms_, self.exact)
        rows, present = self._preparation()(block)
        return nearest_codes(rows, present, self.atoms_, self._cells)

    def _embedder(self, block: Floats32, mirror: bool) -> Callable[[int], list[Floats32]]:
        """A function that gives the patch embeddings (rows, columns, n_components) of one image of the block, and with
        ``mirror`` those of its mirror image: the same patches from right to left, each mirrored, so that its atoms are
        their mirror images."""
        rows, columns = self._grid()
        if self.code == "threshold":
            patches, present = self._preparation()(block)
            active = active_atoms(patches, present, self.atoms_, float(self.threshold))
            return self._embedder_of_active(active, mirror)
        table = unit_rows(np.ascontiguousarray(self.components_.T))
        tables = [table, np.roll(table, len(table) // 2, axis=0)] if mirror else [table]
        codes = self._codes(block).reshape(-1, rows, columns)
        orders = (slice(None), slice(None, None, -1))
        return lambda i: [np.ascontiguousarray(look_up(codes[i], t)[:, o]) for t, o in zip(tables, orders)]

    def _embedder_of_active(self, active: ActiveAtoms, mirror: bool) -> Callable[[int], list[Floats32]]:
        """The same for codes by threshold. Rows of P are equal or opposite on atoms and their mirror images there, so
        that mirroring only changes signs."""
        rows, columns = self._grid()
        table, each = np.ascontiguousarray(self.components_.T), rows * columns
        signs = np.float32(1)
        if mirror:
            atoms, mirrored = np.split(table, 2)
            signs = np.sign(np.einsum("ad,ad->d", atoms, mirrored))

        def embed(i: int) -> list[Floats32]:
            found = sum_of_atoms(active, table, i * each, (i + 1) * each).reshape(rows, columns, -1)
            return [found, np.ascontiguousarray((signs * found)[:, ::-1])] if mirror else [found]

        return embed
