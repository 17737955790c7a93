"""MNIST, read from one archive whose content is checked against a checksum.

The archive is a tar of the four original idx files, compressed with xz. It is looked for in the folder that
``$SACCADE_DATA`` names, in the checkout's ``data`` folder and in the user's cache. If it is in none of them, it is
fetched once from OpenML into that cache.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import tarfile
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_digits", "load_mnist"]

_ARCHIVE = "mnist.xz"
_MEMBERS = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
# sha256 over the bytes of the decoded arrays in the order of _MEMBERS: the same wherever they came from.
_CONTENT_SHA256 = "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16"
_TRAIN_ROWS = 60_000
_SIDE = 28
_BY_HAND = f"put {_ARCHIVE} of the repository's data folder into a folder and point SACCADE_DATA at that folder"
_BROKEN = (lzma.LZMAError, tarfile.TarError, EOFError, LookupError, ValueError)


class _Mnist(NamedTuple):
    """The decoded content: one row of 784 pixels per image, and the digit it shows."""

    X_train: NDArray[np.uint8]
    y_train: NDArray[np.uint8]
    X_test: NDArray[np.uint8]
    y_test: NDArray[np.uint8]


def load_mnist(
    pair: tuple[int, int] | None = (2, 3),
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Load the images of two digits of MNIST, or of all ten, in the original order.

    Parameters
    ----------
    pair
        The two digits to keep, or ``None`` for all ten.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Images as rows of 784 pixels from 0 to 255, and labels that are the digits themselves. The arrays are
        the caller's own: changing them does not change the next load.

    Raises
    ------
    ValueError
        If ``pair`` is not two different digits, or if the archive is damaged.
    OSError
        If there is no archive and MNIST could not be fetched.

    Notes
    -----
    The first load of a process takes about a second; the decoded arrays (55 MB) are then kept in memory.

    Examples
    --------
    >>> from saccade.datasets import load_mnist
    >>> X_train, y_train, X_test, y_test = load_mnist(pair=(2, 3))
    >>> X_train.shape, X_test.shape
    ((12089, 784), (2042, 784))
    """
    digits = kept_digits(pair)
    mnist = _read(_locate())
    train, test = np.isin(mnist.y_train, digits), np.isin(mnist.y_test, digits)
    return (
        mnist.X_train[train],
        mnist.y_train[train].astype(np.int64),
        mnist.X_test[test],
        mnist.y_test[test].astype(np.int64),
    )


def kept_digits(pair: tuple[int, int] | None) -> list[int]:
    """Return the digits to keep, in ascending order."""
    if pair is None:
        return list(range(10))
    given = list(pair) if isinstance(pair, Iterable) else []
    digits = [digit for digit in range(10) if digit in given]
    if len(given) != 2 or len(digits) != 2:
        raise ValueError(
            f"pair must be two different digits from 0 to 9, or None for all ten; got {pair!r}. "
            "Pass for example pair=(2, 3)."
        )
    return digits


def _locate() -> Path:
    """Return the first archive that exists, or fetch it into the user's cache."""
    for path in _places():
        if path.is_file():
            return path
    _fetch(_cached())
    return _cached()


def _places() -> Iterator[Path]:
    """Yield where the archive may be, the user's own choice first."""
    if folder := os.environ.get("SACCADE_DATA"):
        yield Path(folder).expanduser() / _ARCHIVE
    yield Path(__file__).resolve().parents[3] / "data" / _ARCHIVE
    yield _cached()


def _cached() -> Path:
    """Return where a fetched archive is kept for this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "saccade" / _ARCHIVE


@lru_cache(maxsize=1)
def _read(path: Path) -> _Mnist:
    """Decode the archive at ``path`` and refuse it unless it holds MNIST to the last byte."""
    packed = path.read_bytes()
    try:
        return _checked(_unpack(packed))
    except _BROKEN as error:
        raise ValueError(
            f"{path} is damaged or is not MNIST: {error}. Delete it and load again to use another copy or to "
            f"fetch a new copy, or {_BY_HAND}."
        ) from error


def _checked(mnist: _Mnist) -> _Mnist:
    """Return ``mnist`` itself if its content has the known checksum."""
    digest = hashlib.sha256()
    for array in mnist:
        digest.update(array.tobytes())
    if digest.hexdigest() != _CONTENT_SHA256:
        raise ValueError(f"the sha256 of the content is {digest.hexdigest()}, expected {_CONTENT_SHA256}")
    return mnist


def _unpack(packed: bytes) -> _Mnist:
    """Decode an archive's bytes."""
    # Decompressed as a whole: tarfile would seek back and decompress twice.
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(packed)), mode="r:") as archive:
        return _Mnist(*(_from_idx(_member(archive, name)) for name in _MEMBERS))


def _pack(path: Path, mnist: _Mnist) -> None:
    """Write the archive that `_unpack` decodes."""
    # The fastest preset: 2 s instead of 70 s, for an archive that is a sixth larger.
    with tarfile.open(path, "w:xz", preset=0) as archive:
        for name, array in zip(_MEMBERS, mnist, strict=True):
            content = _to_idx(array)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return the content of a file of the archive."""
    stream = archive.extractfile(name)
    if stream is None:
        raise ValueError(f"{name} in it is not a regular file")
    return stream.read()


def _from_idx(content: bytes) -> NDArray[np.uint8]:
    """Decode an idx file of bytes: images as flat rows, labels as a vector.

    The header is two zero bytes, the type (8: unsigned byte), the number of dimensions, and each dimension as
    four bytes, the highest first.
    """
    rank, rows = content[3], int.from_bytes(content[4:8], "big")
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    return values.reshape((rows, -1) if rank > 1 else (rows,))


def _to_idx(array: NDArray[np.uint8]) -> bytes:
    """Encode flat rows of images, or labels, as an idx file."""
    shape = (len(array), _SIDE, _SIDE) if array.ndim > 1 else array.shape
    return bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes() + array.tobytes()


def _fetch(target: Path) -> None:
    """Fetch MNIST into ``target``, which appears whole and checked or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix="fetching-") as scratch:
            part = Path(scratch) / target.name
            _pack(part, _checked(_download(scratch)))
            os.replace(part, target)
    # A download fails in many ways (no network, a server's error, a cut stream, a full disk, altered
    # content): the advice is the same for all, and a traceback through the network's layers would bury it.
    except Exception as error:
        raise OSError(
            f"MNIST could not be fetched from OpenML into {target}: {error}. Nothing was kept. "
            f"Load again once there is a connection, or {_BY_HAND}. Without either, saccade.datasets.load_digits "
            "gives scikit-learn's small digits in the same form."
        ) from None


def _download(scratch: str) -> _Mnist:
    """Return MNIST as OpenML sends it: the training rows, then the test rows, both in original order."""
    from sklearn.datasets import fetch_openml  # type: ignore[import-untyped, unused-ignore]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is tried once more: whether it failed for good is what matters
        # This parser needs no pandas; the download itself goes when the scratch folder does.
        bunch = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff", data_home=scratch, n_retries=1)
    X, y = bunch.data.astype(np.uint8), bunch.target.astype(np.uint8)
    return _Mnist(X[:_TRAIN_ROWS], y[:_TRAIN_ROWS], X[_TRAIN_ROWS:], y[_TRAIN_ROWS:])
