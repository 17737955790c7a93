"""Digits set upright: MNIST's are centred by their ink, and a linear model reads them better where they do not lean."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["upright"]

_SIDE = 28
_CENTRE = 14  # where MNIST has the centre of mass, counted from the middle of the first pixel
_MOST = 1.0  # pixels per row: what lies is not made to stand


def upright(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return images of 784 pixels, sheared row by row so that their ink does not lean, and centred across.

    An image leans by the slope of the regression of its ink's columns on its rows, cov(x, y) / var(y). The page does
    the same to strokes (``report/scripts/strokes.js``).

    >>> slash = np.diag(np.full(28, 255, dtype=np.uint8)).reshape(1, -1)
    >>> bool((upright(slash).reshape(28, 28)[:, 14] == 255).all())
    True
    """
    pictures = images.reshape(-1, _SIDE, _SIDE)
    lean, across, down = _leaning(pictures)
    out, places = np.empty_like(pictures), np.arange(_SIDE)
    for row in places:
        at = places + (lean * (row - down) + across - _CENTRE)[:, None]
        before = np.floor(at).astype(np.int64)
        padded = np.pad(pictures[:, row], ((0, 0), (1, 1)))
        left, right = (np.take_along_axis(padded, np.clip(before + step, 0, _SIDE + 1), axis=1) for step in (1, 2))
        out[:, row] = np.round(left + (at - before) * (right.astype(np.float64) - left))
    return out.reshape(images.shape)


def _leaning(pictures: NDArray[np.uint8]) -> tuple[NDArray[np.float64], ...]:
    """Return by how many columns a row each image leans, and the column and the row of its centre of mass."""
    places = np.arange(_SIDE, dtype=np.float64)
    by_row = pictures.sum(axis=2, dtype=np.float64)
    across_by_row = pictures @ places
    mass = by_row.sum(axis=1)
    across, down = across_by_row.sum(axis=1) / mass, by_row @ places / mass
    height = places - down[:, None]
    covariance = ((across_by_row - across[:, None] * by_row) * height).sum(axis=1)
    variance = np.maximum((by_row * height**2).sum(axis=1), np.finfo(np.float64).tiny)  # of a single row there is none
    return np.clip(covariance / variance, -_MOST, _MOST), across, down
