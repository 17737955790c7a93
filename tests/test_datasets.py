"""MNIST loads whole and checked from wherever it is, and says what to do when it is nowhere."""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest

from saccade.data import mnist
from saccade.datasets import load_mnist

ARCHIVE = Path(__file__).resolve().parents[1] / "data" / "mnist.xz"
TRAIN_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
TEST_COUNTS = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda packed: b"",
    "not-xz": lambda packed: b"a pointer to a large file",
    "cut": lambda packed: packed[: len(packed) // 2],
    "flipped-bit": lambda packed: packed[:10_000] + bytes([packed[10_000] ^ 1]) + packed[10_001:],
    "xz-of-no-tar": lambda packed: lzma.compress(b"no tar"),
    "xz-of-empty-tar": lambda packed: lzma.compress(bytes(10240)),
}

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def ten() -> Arrays:
    """All ten digits, from the checkout's archive."""
    return load_mnist(pair=None)


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where a fetch writes, for a package that is installed outside a checkout and has no data yet."""
    monkeypatch.setattr(mnist, "__file__", str(tmp_path / "lib" / "site-packages" / "saccade" / "data" / "mnist.py"))
    monkeypatch.delenv("SACCADE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "saccade" / "mnist.xz"


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[dict[str, Any]]]:
    """Put ``answer`` in the place of the download; return the list that records the calls."""

    def install(answer: Callable[[], Any]) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def fetch_openml(name: str, **options: Any) -> Any:
            calls.append({"name": name, **options})
            Path(options["data_home"], "partial").write_bytes(b"half a download")
            return answer()

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
        return calls

    return install


def as_openml(arrays: Arrays) -> SimpleNamespace:
    """The arrays in OpenML's form: 70 000 rows of floats, and labels as strings."""
    X_train, y_train, X_test, y_test = arrays
    target = np.concatenate([y_train, y_test]).astype(str).astype(object)
    return SimpleNamespace(data=np.concatenate([X_train, X_test]).astype(np.float64), target=target)


def same(some: Arrays, others: Arrays) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_default_pair_is_two_and_three() -> None:
    X_train, y_train, X_test, y_test = load_mnist()
    assert X_train.shape == (12089, 784)
    assert X_test.shape == (2042, 784)
    assert np.bincount(y_train).tolist() == [0, 0, 5958, 6131]
    assert np.bincount(y_test).tolist() == [0, 0, 1032, 1010]


def test_none_loads_all_ten_digits(ten: Arrays) -> None:
    X_train, y_train, X_test, y_test = ten
    assert X_train.shape == (60000, 784)
    assert X_test.shape == (10000, 784)
    assert np.bincount(y_train).tolist() == TRAIN_COUNTS
    assert np.bincount(y_test).tolist() == TEST_COUNTS


@pytest.mark.parametrize("pair", [(4, 9), (9, 4), (0, 1)])
def test_a_pair_is_the_selection_of_its_rows_in_original_order(ten: Arrays, pair: tuple[int, int]) -> None:
    X_train, y_train, X_test, y_test = load_mnist(pair)
    train, test = np.isin(ten[1], pair), np.isin(ten[3], pair)
    np.testing.assert_array_equal(X_train, ten[0][train])
    np.testing.assert_array_equal(y_train, ten[1][train])
    np.testing.assert_array_equal(X_test, ten[2][test])
    np.testing.assert_array_equal(y_test, ten[3][test])


@pytest.mark.parametrize("pair", [None, (2, 3)])
def test_types_and_layout(pair: tuple[int, int] | None) -> None:
    X_train, y_train, X_test, y_test = load_mnist(pair)
    assert X_train.dtype == X_test.dtype == np.uint8
    assert y_train.dtype == y_test.dtype == np.int64
    assert all(array.flags.c_contiguous and array.flags.writeable for array in (X_train, y_train, X_test, y_test))


@pytest.mark.parametrize(
    "pair", [(2, 2), (2, 10), (-1, 3), (2,), (1, 2, 3), (1, 1, 2), (), 3, "23", ("2", "3"), (2.5, 3)]
)
def test_a_bad_pair_is_refused_with_what_was_received(pair: Any) -> None:
    with pytest.raises(ValueError, match="two different digits") as refusal:
        load_mnist(pair)
    assert f"got {pair!r}" in str(refusal.value)


@pytest.mark.parametrize("pair", [None, (2, 3)])
def test_changing_what_was_loaded_leaves_the_next_load_alone(pair: tuple[int, int] | None) -> None:
    for array in load_mnist(pair):
        array[:] = 0
    assert all(array.any() for array in load_mnist(pair))


def test_the_archive_is_decoded_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    load_mnist()
    monkeypatch.delattr(lzma, "decompress")
    load_mnist((4, 9))


def test_saccade_data_names_the_folder(cached: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(ARCHIVE, folder)
    monkeypatch.setenv("SACCADE_DATA", str(folder))
    assert load_mnist()[0].shape == (12089, 784)
    assert not cached.exists()


def test_saccade_data_goes_before_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mnist.xz").write_bytes(b"mine, and broken")
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="damaged"):
        load_mnist()


def test_saccade_data_without_the_archive_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    assert load_mnist()[0].shape == (12089, 784)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_archive_is_refused_by_name(
    damage: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "mnist.xz"
    path.write_bytes(damage(ARCHIVE.read_bytes()))
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="Delete it and load again") as refusal:
        load_mnist()
    assert str(path) in str(refusal.value)


def test_a_sound_archive_of_other_images_is_refused(
    ten: Arrays, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = mnist._Mnist(*(array[:100].astype(np.uint8) for array in ten))
    mnist._pack(tmp_path / "mnist.xz", few)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=f"sha256 of the content is .*, expected {mnist._CONTENT_SHA256}"):
        load_mnist()


def test_found_nowhere_it_is_fetched_once(ten: Arrays, cached: Path, openml: Any) -> None:
    calls = openml(lambda: as_openml(ten))
    first = load_mnist(None)
    mnist._read.cache_clear()  # as a new process would start
    second = load_mnist(None)
    assert [(call["name"], call["version"]) for call in calls] == [("mnist_784", 1)]
    assert files_below(cached.parents[1]) == [cached]
    assert same(first, ten)
    assert same(second, ten)


@pytest.mark.parametrize("error", [URLError("no route to host"), TimeoutError("timed out"), ValueError("HTTP 412")])
def test_a_fetch_that_fails_gives_advice_and_leaves_no_file(error: Exception, cached: Path, openml: Any) -> None:
    def fail() -> None:
        raise error

    openml(fail)
    with pytest.raises(OSError, match="point SACCADE_DATA at that folder") as refusal:
        load_mnist()
    assert str(error) in str(refusal.value)
    assert refusal.value.__cause__ is error
    assert files_below(cached.parents[1]) == []


def test_a_fetch_of_altered_content_is_refused_and_leaves_no_file(ten: Arrays, cached: Path, openml: Any) -> None:
    bunch = as_openml(ten)
    bunch.data[69_999, 400] += 1
    openml(lambda: bunch)
    with pytest.raises(OSError, match="sha256 of the content") as refusal:
        load_mnist()
    assert str(cached) in str(refusal.value)
    assert files_below(cached.parents[1]) == []


def test_a_fetch_into_a_folder_that_cannot_be_made_gives_advice(cached: Path, openml: Any) -> None:
    calls = openml(lambda: pytest.fail("fetched although the result cannot be kept"))
    cached.parents[1].write_text("a file where the folder should be")
    with pytest.raises(OSError, match="point SACCADE_DATA at that folder"):
        load_mnist()
    assert calls == []


def test_without_xdg_cache_home_the_cache_is_in_the_home_folder(
    cached: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    path = tmp_path / ".cache" / "saccade" / "mnist.xz"
    path.parent.mkdir(parents=True)
    shutil.copy(ARCHIVE, path)
    assert load_mnist()[0].shape == (12089, 784)
