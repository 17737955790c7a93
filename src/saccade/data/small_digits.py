"""Scikit-learn's own handwritten digits, in the form in which MNIST is loaded: they serve where MNIST is missing."""

import numpy as np
from numpy.typing import NDArray

from saccade.data.mnist import kept_digits

__all__ = ["load_digits"]

# The rows lie writer after writer, so that the last third was written by other hands than the first two.
TEST_ROWS = 600


def load_digits(
    pair: tuple[int, int] | None = (2, 3),
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Load the images of two of scikit-learn's small digits, or of all ten, in the original order.

    They are installed with scikit-learn and need no network. They are not MNIST: 1,797 images of 8 by 8 pixels.

    Parameters
    ----------
    pair
        The two digits to keep, or ``None`` for all ten.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Images as rows of 64 pixels from 0 to 16, and labels that are the digits themselves. The last 600 images are
        for testing.

    Raises
    ------
    ValueError
        If ``pair`` is not two different digits.

    Examples
    --------
    >>> from saccade.datasets import load_digits
    >>> X_train, y_train, X_test, y_test = load_digits(pair=(2, 3))
    >>> X_train.shape, X_test.shape
    ((238, 64), (122, 64))
    """
    from sklearn.datasets import load_digits as load_of_sklearn

    digits = kept_digits(pair)
    X, y = load_of_sklearn(return_X_y=True)
    rows = [part[np.isin(y[part], digits)] for part in np.split(np.arange(y.size), [y.size - TEST_ROWS])]
    (X_train, y_train), (X_test, y_test) = ((X[part].astype(np.uint8), y[part].astype(np.int64)) for part in rows)
    return X_train, y_train, X_test, y_test
