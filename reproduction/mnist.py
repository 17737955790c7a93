"""MNIST, read from ``data/mnist.xz``: a tar of the four original idx files, compressed with xz."""

import hashlib
import io
import lzma
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_PIXELS", "SIDE", "Digits", "Pair", "load_mnist", "load_pair", "scaled"]

Pair = tuple[int, int]
Bytes = NDArray[np.uint8]
Labels = NDArray[np.int64]

SIDE = 28
N_PIXELS = SIDE * SIDE
ARCHIVE = Path(__file__).parents[1] / "data" / "mnist.xz"
MEMBERS = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
# sha256 of the decoded arrays in the order of MEMBERS, independent of how they are packed.
CONTENT_SHA256 = "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16"


class Digits(NamedTuple):
    """Images of two digits with pixels scaled to [0, 1]."""

    X: NDArray[np.float32]
    y: Labels
    X_test: NDArray[np.float32]
    y_test: Labels


def load_mnist(pair: Pair | None = (2, 3)) -> tuple[Bytes, Labels, Bytes, Labels]:
    """Load the images of two digits, or of all ten, in the original order.

    Parameters
    ----------
    pair
        The two digits to keep, or ``None`` for all ten.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Images as rows of 784 pixels from 0 to 255, and labels that are the digits themselves. The arrays are copies.

    Examples
    --------
    >>> from reproduction.mnist import load_mnist
    >>> X_train, y_train, X_test, y_test = load_mnist(pair=(2, 3))
    >>> X_train.shape, X_test.shape
    ((12089, 784), (2042, 784))
    """
    if pair is not None and (len(pair) != 2 or len({*pair} & {*range(10)}) != 2):
        raise ValueError(f"pair={pair!r}: expected two different digits from 0 to 9, or None for all ten.")
    digits = range(10) if pair is None else pair
    X_train, y_train, X_test, y_test = _decoded(ARCHIVE)
    train, test = np.isin(y_train, digits), np.isin(y_test, digits)
    return X_train[train], y_train[train].astype(np.int64), X_test[test], y_test[test].astype(np.int64)


@lru_cache(maxsize=4)
def load_pair(pair: Pair) -> Digits:
    """Load two digits with pixels scaled to [0, 1]. The arrays are shared: do not change them."""
    X, y, X_test, y_test = load_mnist(pair)
    return Digits(scaled(X), y, scaled(X_test), y_test)


def scaled(X: Bytes) -> NDArray[np.float32]:
    """Scale pixels from 0..255 to [0, 1]."""
    return np.divide(X, 255, dtype=np.float32)


@lru_cache(maxsize=1)
def _decoded(path: Path) -> tuple[Bytes, ...]:
    """Decode the archive; raise unless it holds MNIST to the last byte."""
    remedy = "Restore it with: git checkout data/mnist.xz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing. It is part of the repository. {remedy}")
    try:
        # Decompress as a whole: tarfile would seek back and decompress twice.
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(path.read_bytes())), mode="r:") as archive:
            arrays = tuple(_from_idx(archive.extractfile(name).read()) for name in MEMBERS)  # type: ignore[union-attr]
        digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
        if digest != CONTENT_SHA256:
            raise ValueError(f"the sha256 of the content is {digest}, expected {CONTENT_SHA256}")
    except (lzma.LZMAError, tarfile.TarError, EOFError, LookupError, ValueError) as error:
        raise ValueError(f"{path} is damaged or is not MNIST: {error}. {remedy}") from error
    return arrays


def _from_idx(content: bytes) -> Bytes:
    """Decode an idx file of bytes: images as flat rows, labels as a vector.

    The header is two zero bytes, the type (8: unsigned byte), the number of dimensions, and each dimension as a
    big-endian integer of four bytes.
    """
    rank, rows = content[3], int.from_bytes(content[4:8], "big")
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    return values.reshape((rows, -1) if rank > 1 else (rows,))
