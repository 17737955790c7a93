"""MNIST loads whole and checked, and a damaged archive is refused."""

import lzma

import numpy as np
import pytest

from reproduction import mnist
from reproduction.mnist import ARCHIVE, load_mnist


def test_all_ten_digits_have_mnists_counts():
    X_train, y_train, X_test, y_test = load_mnist(None)
    assert X_train.shape == (60000, 784)
    assert X_test.shape == (10000, 784)
    assert np.bincount(y_train).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert X_train.dtype == X_test.dtype == np.uint8
    assert y_train.dtype == y_test.dtype == np.int64


@pytest.mark.parametrize("pair", [(2, 3), (9, 4)])
def test_a_pair_is_the_selection_of_its_rows_in_original_order(pair):
    ten = load_mnist(None)
    kept = [np.isin(y, pair) for y in (ten[1], ten[1], ten[3], ten[3])]
    for array, whole, rows in zip(load_mnist(pair), ten, kept, strict=True):
        np.testing.assert_array_equal(array, whole[rows])


@pytest.mark.parametrize("pair", [(2, 2), (2, 10), (-1, 3), (2,), (1, 2, 3), (), "23", (2.5, 3)])
def test_a_bad_pair_is_refused(pair):
    with pytest.raises(ValueError, match="two different digits"):
        load_mnist(pair)


@pytest.mark.parametrize("pair", [None, (2, 3)])
def test_changing_the_arrays_leaves_the_next_load_alone(pair):
    for array in load_mnist(pair):
        array[:] = 0
    assert all(array.any() for array in load_mnist(pair))


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: b"",
        lambda packed: b"a pointer to a large file",
        lambda packed: packed[: len(packed) // 2],
        lambda packed: packed[:10_000] + bytes([packed[10_000] ^ 1]) + packed[10_001:],
        lambda packed: lzma.compress(b"no tar"),
        lambda packed: lzma.compress(bytes(10240)),
        lambda packed: lzma.compress(other_labels(lzma.decompress(packed)), preset=0),
    ],
    ids=["empty", "not xz", "cut", "flipped bit", "no tar", "empty tar", "other labels"],
)
def test_a_damaged_archive_is_refused_with_its_name_and_the_remedy(damage, monkeypatch, tmp_path):
    path = tmp_path / "mnist.xz"
    path.write_bytes(damage(ARCHIVE.read_bytes()))
    monkeypatch.setattr(mnist, "ARCHIVE", path)
    with pytest.raises(ValueError, match=f"{path} is damaged.*git checkout"):
        load_mnist()


def other_labels(tar):
    """Return the tar with one test label changed."""
    at = tar.index(b"t10k-labels") + 512 + 8
    return tar[:at] + bytes([9 - tar[at]]) + tar[at + 1 :]


def test_a_missing_archive_is_an_error_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(mnist, "ARCHIVE", tmp_path / "mnist.xz")
    with pytest.raises(FileNotFoundError, match="git checkout"):
        load_mnist()
